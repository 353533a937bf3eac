#!/usr/bin/env python3
"""Latency of Tenon beside ONNX Runtime's, model by model, in one run.

usage: compare_onnxruntime.py TENON MODELS_FOLDER [--threads 1 2] [--rounds 5] [--seconds 0.5]
           [--only NAME]

TENON is the built command. ONNX Runtime comes from PyPI and belongs to the benchmark's own
environment (python3 -m venv, pip install onnxruntime numpy); the product never needs it. The two
take turns, a fresh process each, and the smallest and the median over all rounds are printed, so
that a noisy machine disturbs both alike.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

MODELS = [
    "mobilenet_v2_224/model_fp32", "squeezenet1.1/model_fp32", "googlenet_random/model",
    "resnet20_cifar10/model", "mlperf_resnet8_cifar10/model_fp32", "mlperf_kws_dscnn/model_fp32",
    "mlperf_ad01_autoencoder/model_fp32", "ultraface_rfb320/model",
    "ultraface_rfb320/model_simplified", "mnist_cnn/mnist", "super_resolution_espcn/model",
    "fastestdet_352/model", "kwt1_transformer/model",
]

ORT_WORKER = r"""
import json, sys, time
import numpy, onnxruntime
path, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.log_severity_level = 3
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
random = numpy.random.default_rng(1)
feed = {}
for port in session.get_inputs():
    shape = [d if isinstance(d, int) else 1 for d in port.shape]
    feed[port.name] = random.random(shape, dtype=numpy.float32)
binding = session.io_binding()
for name, value in feed.items():
    binding.bind_cpu_input(name, value)
for port in session.get_outputs():
    binding.bind_output(port.name)
for _ in range(10):
    session.run_with_iobinding(binding)
times = []
end = time.perf_counter() + seconds
while len(times) < 30 or time.perf_counter() < end:
    start = time.perf_counter_ns()
    session.run_with_iobinding(binding)
    times.append((time.perf_counter_ns() - start) / 1e6)
times.sort()
print(json.dumps({"min": times[0], "median": times[len(times) // 2]}))
"""


def run_tenon(tenon, plan, threads, seconds, guess_ms):
    iterations = max(30, int(seconds * 1000 / max(guess_ms, 0.005)))
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([tenon, "bench", plan, "--threads", str(threads), "--iterations",
                        str(iterations), "--warmup", "10", "--json", out.name],
                       check=True, capture_output=True)
        return json.load(open(out.name))["latency_ms"]


def run_onnxruntime(model, threads, seconds):
    done = subprocess.run([sys.executable, "-c", ORT_WORKER, model, str(threads), str(seconds)],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("models")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    print("| model | threads | Tenon min / median ms | ONNX Runtime min / median ms |"
          " ratio of minima | ratio of medians |")
    print("|---|---|---|---|---|---|")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            if args.only not in name:
                continue
            model = os.path.join(args.models, name + ".onnx")
            plan = os.path.join(folder, name.replace("/", ".") + ".tenon")
            subprocess.run([args.tenon, "convert", model, "-o", plan, "--board", "x86-64", "-q"],
                           check=True)
            for threads in args.threads:
                tenon, onnxruntime, guess = [], [], 1.0
                for _ in range(args.rounds):
                    tenon.append(run_tenon(args.tenon, plan, threads, args.seconds, guess))
                    guess = tenon[-1]["min"]
                    onnxruntime.append(run_onnxruntime(model, threads, args.seconds))
                t_min = min(t["min"] for t in tenon)
                o_min = min(t["min"] for t in onnxruntime)
                t_median = statistics.median(t["median"] for t in tenon)
                o_median = statistics.median(t["median"] for t in onnxruntime)
                ratios.append(t_min / o_min)
                print(f"| {name} | {threads} | {t_min:.3f} / {t_median:.3f} |"
                      f" {o_min:.3f} / {o_median:.3f} | {t_min / o_min:.2f} |"
                      f" {t_median / o_median:.2f} |", flush=True)
    print(f"\ngeometric mean of the ratios of minima: {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
