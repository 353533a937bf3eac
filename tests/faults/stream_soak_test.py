#!/usr/bin/env python3
"""A pipeline, replicas, and a plan that has fallen back to the CPU, all at once and for long.

usage: stream_soak_test.py PROGRAM TENON

For TENON_SOAK_SECONDS (a few without): the program looks at order, values and memory.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

PROGRAM = os.path.abspath(sys.argv[1])
TENON = os.path.abspath(sys.argv[2])

WAYS = {
    "pipeline": ["--board", "x86-64", "--parallel", "pipeline", "--threads", "2"],
    "sequential": ["--board", "x86-64"],
    # No library of that name: the plan's kernels for the CPU take over.
    "fallback": ["--board", "x86-64-opencl", "--fallback"],
}


def network():
    nodes = []
    weights = []
    for i in range(4):
        weights.append(onnx.tensor(f"w{i}", [16, 3 if i == 0 else 16, 3, 3],
                                   [0.05 * (k % 7 - 3) for k in range(144 * (3 if i == 0 else 16))]))
        nodes.append(onnx.node("Conv", ["x" if i == 0 else f"r{i - 1}", f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
        nodes.append(onnx.node("Tanh", [f"c{i}"], [f"r{i}" if i < 3 else "y"]))
    return onnx.model(nodes, [onnx.value("x", [1, 3, 24, 24])], [onnx.value("y", [1, 16, 24, 24])], weights)


def main():
    seconds = os.environ.get("TENON_SOAK_SECONDS", "3")
    environment = {**os.environ, "TENON_OPENCL_LIBRARY": "libthere_is_none.so"}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "net.onnx").write_bytes(network())
        for name, options in WAYS.items():
            subprocess.run([TENON, "convert", "net.onnx", "-o", f"{name}.tenon", "-q", *options],
                           cwd=path, check=True)
        done = subprocess.run([PROGRAM, seconds, "pipeline.tenon=pipeline", "sequential.tenon=sequential",
                               "fallback.tenon=sequential"], cwd=path, env=environment,
                              capture_output=True, text=True)
    print(done.stdout + done.stderr)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != 4 or any(": 0 inputs" in line for line in lines):
        sys.exit("FAILED")


main()
