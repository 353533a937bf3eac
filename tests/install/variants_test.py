#!/usr/bin/env python3
"""Configures and builds the product with parts left out, and with what it has only on request.

usage: variants_test.py SOURCE_DIR WORK_DIR [VARIANT]
"""

import pathlib
import subprocess
import sys

SOURCE, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])

# What is other than usual -> (options, targets to build).
VARIANTS = {
    "runtime-only": (["-DTENON_CONVERTER=OFF", "-DTENON_TESTS=OFF", "-DTENON_BENCH=OFF"], ["all"]),
    "onednn": (["-DTENON_ONEDNN=ON", "-DTENON_TESTS=OFF", "-DTENON_BENCH=OFF"], ["all"]),
    "no-opencl": (["-DTENON_BACKEND_OPENCL=OFF", "-DTENON_TESTS=OFF", "-DTENON_BENCH=OFF"],
                  ["all"]),
    "no-fpga": (["-DTENON_BACKEND_FPGA=OFF", "-DTENON_TESTS=OFF", "-DTENON_BENCH=OFF"], ["all"]),
    "device-tests": (["-DTENON_CONVERTER=OFF", "-DTENON_TESTS=ON", "-DTENON_BENCH=OFF"],
                     ["base_test"]),
}


def run(*command):
    print("+", " ".join(map(str, command)), flush=True)
    subprocess.run([str(word) for word in command], check=True)


for name, (options, targets) in VARIANTS.items():
    if sys.argv[3:] and name not in sys.argv[3:]:
        continue
    build = WORK / name
    run("cmake", "-S", SOURCE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options)
    run("cmake", "--build", build, "-j2", "--target", *targets)
    if name == "runtime-only":
        prefix = build / "prefix"
        run("cmake", "--install", build, "--prefix", prefix)
        answer = subprocess.run([prefix / "bin/tenon", "convert", "x.onnx"], text=True,
                                capture_output=True)
        if answer.returncode != 2 or "this build has no 'convert'" not in answer.stderr:
            sys.exit(f"FAILED: 'tenon convert' without converter said: {answer}")
