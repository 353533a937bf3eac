#!/usr/bin/env python3
"""Makes plans to begin the fuzzing of plans with: of every model in some folders that converts.

usage: plans_of_models.py OUT FOLDER... --tenon TENON [--most BYTES] [--seconds S]

The folders are corpora of the targets onnx and tflite (scripts/fuzz.sh), whose models reach every
operator that the importers know: the targets of plans then begin with every op and kernel. Each
model becomes a plan for a processor with wide vectors, and one of a few others by turns. Models
that are refused, and plans of more than BYTES (32,768), are left out. Exit status 1 where a
conversion crashed or ended with an internal error: each is told of.
"""
import argparse
import concurrent.futures
import hashlib
import pathlib
import subprocess
import sys
import tempfile

# How models become plans, by turns, beside the first.
FIRST = ["--board", "x86-64-avx2"]
OTHERS = [
    ["--board", "cortex-m55"],
    ["--board", "x86-64-avx2", "--fuse", "off"],
    ["--board", "x86-64-avx2", "--weights", "f16"],
    ["--board", "x86-64-avx2", "--weights", "int8"],
    ["--board", "x86-64-avx2", "--threads", "2", "--parallel", "inter"],
    ["--board", "cortex-m4"],
    ["--board", "x86-64-avx2", "--threads", "2", "--parallel", "pipeline"],
    ["--board", "x86-64-opencl", "--fallback"],
]


EXPECTED = (0, 2, 3, 4)  # a plan, or a refusal


def suffix(data):
    return ".tflite" if data[4:8] == b"TFL3" else ".onnx"


def convert(model, options, out, tenon, most, seconds):
    """True: a plan was made; None: there is none; False: the conversion failed as none may."""
    data = model.read_bytes()
    name = hashlib.sha1(data + " ".join(options).encode()).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / ("model" + suffix(data))).write_bytes(data)
        command = [tenon, "convert", "model" + suffix(data), "-o", "plan",
                   "--max-memory", "16M", "--order-budget", "1000", "-q", *options]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode not in EXPECTED:
            print(f"{model}: {' '.join(options)}: status {done.returncode}", done.stderr.decode()[:200])
            return False
        plan = pathlib.Path(folder) / "plan"
        if done.returncode != 0 or plan.stat().st_size > most:
            return None
        (out / name).write_bytes(plan.read_bytes())
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    parser.add_argument("--tenon", type=pathlib.Path, required=True)
    parser.add_argument("--most", type=int, default=32768)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    tenon = arguments.tenon.resolve()
    models = sorted(path for folder in arguments.folders for path in folder.iterdir())
    asked = []
    for i, model in enumerate(models):
        asked += [(model, FIRST), (model, OTHERS[i % len(OTHERS)])]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        done = list(pool.map(lambda a: convert(*a, out, tenon, arguments.most, arguments.seconds), asked))
    print(f"{done.count(True)} plans of {len(models)} models")
    sys.exit(1 if False in done else 0)


if __name__ == "__main__":
    main()
