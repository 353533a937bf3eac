#!/usr/bin/env python3
"""Noise suppression as a stream: DTLN's first network over 10 seconds of made sound, step by step,
against ONNX Runtime, which is given its state back after every step.

usage: dtln_stream_test.py TENON SHARED

SHARED is the folder of shared models. Every element of every step is within 1e-5 + 1e-4 x the
largest, with all kernels and with the portable ones. Exit status 77, saying so, where the model,
onnxruntime or numpy is absent.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx_stream

TENON, SHARED = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
MODEL = SHARED / "models" / "dtln_noise_1" / "model.onnx"
RATE, WINDOW, HOP, SECONDS = 16000, 512, 128, 10


def magnitudes(np):
    """Spectra of a rising tone that comes and goes, in noise: [steps, 1, 1, 257]."""
    time = np.arange(RATE * SECONDS) / RATE
    tone = np.sin(2 * np.pi * (200 + 100 * time) * time) * (np.sin(3 * time) > 0)
    sound = 0.3 * tone + 0.05 * np.random.default_rng(1).standard_normal(time.size)
    steps = (sound.size - WINDOW) // HOP + 1
    frames = np.stack([sound[i * HOP:i * HOP + WINDOW] for i in range(steps)])
    return np.abs(np.fft.rfft(frames)).astype(np.float32).reshape(steps, 1, 1, -1)


def expected_steps(np, onnxruntime, spectra):
    session = onnx_stream.reference(onnxruntime, MODEL)
    (x, state_in), (y, state_out) = session.get_inputs(), session.get_outputs()
    state = np.zeros(state_in.shape, np.float32)
    outputs = []
    for frame in spectra:
        output, state = session.run([y.name, state_out.name], {x.name: frame, state_in.name: state})
        outputs.append(output)
    return (x.name, state_in.name, y.name, state_out.name), np.stack(outputs)


def tenon(*arguments):
    return onnx_stream.call(TENON, *arguments)


def main():
    np, onnxruntime = onnx_stream.packages(MODEL)
    spectra = magnitudes(np)
    (x, state_in, y, state_out), expected = expected_steps(np, onnxruntime, spectra)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        np.save(scratch / "x.npy", spectra)
        np.save(scratch / "y.npy", expected)
        plan = scratch / "plan.tenon"
        tenon("convert", MODEL, "-o", plan, "--board", "x86-64", "--state", f"{state_out}={state_in}", "-q")
        inspected = json.loads(tenon("inspect", plan, "--json"))
        if len(inspected["states"]) != 1 or [port["name"] for port in inspected["inputs"]] != [x]:
            sys.exit(f"its ports and states are {inspected['inputs']}, {inspected['states']}")
        command = ["run", plan, "--steps", len(spectra), "--input", f"{x}={scratch / 'x.npy'}",
                   "--expect", f"{y}={scratch / 'y.npy'}", "--atol", 1e-5 + 1e-4 * float(np.abs(expected).max()),
                   "--rtol", 0]
        for options in ([], ["--portable"]):
            print(tenon(*command, *options).strip().splitlines()[-1])
        # Without its state it is another network: the comparison sees that.
        forgetful = subprocess.run([TENON, "convert", MODEL, "-o", plan, "--board", "x86-64", "-q"])
        if forgetful.returncode == 0:
            zeros = scratch / "state.npy"
            np.save(zeros, np.zeros((len(spectra), 1, 2, 128, 2), np.float32))
            done = subprocess.run([TENON, *map(str, command), "--input", f"{state_in}={zeros}"], capture_output=True)
            if done.returncode != 1:
                sys.exit(f"steps without state ended with {done.returncode}: {done.stderr.decode()}")
    print(f"{len(spectra)} steps of {SECONDS} s agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
