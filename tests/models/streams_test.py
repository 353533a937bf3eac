#!/usr/bin/env python3
"""Networks that keep state from step to step, against stored outputs of every step.

usage: streams_test.py TENON SHARED

SHARED is the folder of shared models. TFLite's integers are compared bit for bit, with all kernels
and with the portable ones. Exit status 77, saying so, where the models are absent.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TENON, SHARED = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
# Folder, file, number of states.
STREAMS = [("microwakeword", "hey_jarvis.tflite", 6), ("microwakeword", "okay_nabu.tflite", 6)]


def tenon(*arguments):
    done = subprocess.run([TENON, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"tenon {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(folder, model, states):
    path = SHARED / "field-models" / folder / model
    steps = json.loads((path.parent / "meta.json").read_text())[model]["steps"]
    with tempfile.TemporaryDirectory() as scratch:
        plan = pathlib.Path(scratch) / "plan.tenon"
        tenon("convert", path, "-o", plan, "--board", "x86-64", "-q")
        inspected = json.loads(tenon("inspect", plan, "--json"))
        if len(inspected["states"]) != states:
            sys.exit(f"{model}: {len(inspected['states'])} states, {states} were expected")
        command = ["run", plan, "--steps", steps, "--rtol", 0, "--atol", 0]
        for side, option in (("inputs", "--input"), ("outputs", "--expect")):
            for i, port in enumerate(inspected[side]):
                file = path.with_name(f"{path.stem}.{side[:-1]}_{i}.npy")
                command += [option, f"{port['name']}={file}"]
        tenon(*command)
        tenon(*command, "--portable")
    kept = sum(state["bytes"] for state in inspected["states"])
    print(f"{model}: {steps} steps equal bit for bit; {kept} bytes of state")


def main():
    if not (SHARED / "field-models").is_dir():
        print(f"skipped: no field-models in '{SHARED}'")
        return 77
    for stream in STREAMS:
        check(*stream)
    return 0


if __name__ == "__main__":
    sys.exit(main())
