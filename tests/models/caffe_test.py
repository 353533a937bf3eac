#!/usr/bin/env python3
"""Caffe's models of the shared folder, converted and run, against the stored outputs of OpenCV.

usage: caffe_test.py TENON SHARED

Within 1e-5 + 1e-4 x the largest of an output, with all kernels and with the portable ones. Exit
status 77, saying so, where the models are absent.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TENON, SHARED = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
MODELS = ["det1", "det2", "det3"]
SIZE = {"det1": 12, "det2": 24, "det3": 48}


def tenon(*arguments):
    done = subprocess.run([TENON, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"tenon {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(folder, model, beside):
    size = SIZE[model]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        plan, network = scratch / "plan.tenon", folder / f"{model}.prototxt"
        weights = ["--caffemodel", folder / f"{model}.caffemodel"]
        if not beside:
            network = scratch / "elsewhere.prototxt"
            network.write_bytes((folder / f"{model}.prototxt").read_bytes())
        tenon("convert", network, *([] if beside else weights), "-o", plan, "--board", "x86-64",
              "--shape", f"data=1x3x{size}x{size}", "-q")
        outputs = json.loads(tenon("inspect", plan, "--json"))["outputs"]
        command = ["run", plan, "--input", f"data={folder / model}.input_0.npy", "--rtol", "1e-4",
                   "--atol", "1e-5"]
        for i, port in enumerate(outputs):
            command += ["--expect", f"{port['name']}={folder / model}.output_{i}.npy"]
        print(tenon(*command), end="")
        tenon(*command, "--portable")


def main():
    folder = SHARED / "models" / "mtcnn_caffe"
    if not folder.is_dir():
        print(f"skipped: no '{folder}'")
        return 77
    for model in MODELS:
        check(folder, model, beside=True)
        check(folder, model, beside=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
