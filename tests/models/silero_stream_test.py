#!/usr/bin/env python3
"""Voice activity as a stream: Silero VAD over 10 seconds of made sound, step by step, against ONNX
Runtime, which is given its state back after every step.

usage: silero_stream_test.py TENON SHARED

SHARED is the folder of shared models. A step has 512 new samples behind 64 of the step before.
Every probability is within 1e-5 + 1e-4 x the largest, with all kernels and with the portable ones.
Exit status 77, saying so, where a model, onnxruntime or numpy is absent.
"""
import pathlib
import sys
import tempfile

import onnx_stream

TENON, SHARED = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
FOLDER = SHARED / "field-models" / "silero_vad_6"
RATE, CONTEXT, HOP, SECONDS = 16000, 64, 512, 10


def windows(np):
    """A voice-like sound, harmonics of a wavering pitch in bursts, and noise: [steps, 1, 576]."""
    time = np.arange(RATE * SECONDS) / RATE
    phase = 2 * np.pi * (140 * time + 3 * np.sin(2 * np.pi * 4 * time))
    voice = sum(np.sin(k * phase) / k for k in range(1, 20)) * (np.sin(2 * np.pi * 0.7 * time) > 0)
    sound = 0.15 * voice + 0.01 * np.random.default_rng(1).standard_normal(time.size)
    sound = np.concatenate([np.zeros(CONTEXT), sound])
    steps = (sound.size - CONTEXT) // HOP
    frames = [sound[i * HOP:i * HOP + CONTEXT + HOP] for i in range(steps)]
    return np.stack(frames).astype(np.float32)[:, None, :]


def expected_steps(np, onnxruntime, model, frames):
    session = onnx_stream.reference(onnxruntime, model)
    state, outputs = np.zeros((2, 1, 128), np.float32), []
    names = [port.name for port in session.get_outputs()]
    for frame in frames:
        given = {"input": frame, "state": state, "sr": np.array(RATE, np.int64)}
        output, state = session.run(names, given)
        outputs.append(output)
    return names, np.stack(outputs)


def tenon(*arguments):
    return onnx_stream.call(TENON, *arguments)


def main():
    np, onnxruntime = onnx_stream.packages(FOLDER)
    models = sorted(FOLDER.glob("*.onnx"))
    frames = windows(np)
    for model in models:
        names, expected = expected_steps(np, onnxruntime, model, frames)
        if np.ptp(expected) < 0.1:
            sys.exit(f"{model.name}: the sound moves its output by {np.ptp(expected)} only")
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            np.save(scratch / "x.npy", frames)
            np.save(scratch / "y.npy", expected)
            np.save(scratch / "sr.npy", np.array(RATE, np.int64))
            plan = scratch / "plan.tenon"
            tenon("convert", model, "-o", plan, "--board", "x86-64", "--shape", f"input=1x{CONTEXT + HOP}",
                  "--shape", "state=2x1x128", "--freeze", f"sr={scratch / 'sr.npy'}",
                  "--state", f"{names[1]}=state", "-q")
            command = ["run", plan, "--steps", len(frames), "--input", f"input={scratch / 'x.npy'}",
                       "--expect", f"{names[0]}={scratch / 'y.npy'}", "--atol",
                       1e-5 + 1e-4 * float(np.abs(expected).max()), "--rtol", 0]
            for options in ([], ["--portable"]):
                print(model.name, tenon(*command, *options).strip().splitlines()[-1])
        print(f"{model.name}: {len(frames)} steps agree; probabilities {expected.min():.3f} to {expected.max():.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
