#!/usr/bin/env python3
"""The CPU backend, OpenCL and both in a pipeline, on the same models, in one run.

usage: compare_backends.py TENON MODELS_FOLDER [--board x86-64-opencl] [--profile FILE]
           [--rounds 5] [--iterations 100] [--only NAME] [--model FILE.onnx]

One core each: the CPU backend on one thread, the OpenCL device held to one core (PoCL by device
fission). The three take turns, a fresh process each, and medians over all rounds are printed:
milliseconds per inference alone, per result of the pipeline in steady state, how much more the
pipeline gives than the better one alone, and its share of what its slowest stage allows. Last the
period that the converter predicted and its error, and the same for how much more the pipeline gives
than the better one alone, which a machine that is slower than when it was profiled leaves as it is.
Without --profile one is measured first, of these models.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

MODELS = ["mobilenet_v2_224/model_fp32", "squeezenet1.1/model_fp32", "googlenet_random/model"]
EVERY = MODELS + ["ultraface_rfb320/model", "fastestdet_352/model", "super_resolution_espcn/model",
                  "resnet20_cifar10/model", "mlperf_resnet8_cifar10/model_fp32",
                  "mlperf_kws_dscnn/model_fp32", "mlperf_ad01_autoencoder/model_fp32",
                  "mnist_cnn/mnist", "kwt1_transformer/model"]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def convert(tenon, model, board, plan, *options):
    """Returns the report."""
    command = [tenon, "convert", model, "--board", board, "-q", "-o", plan, "--json", plan + ".json", *options]
    if subprocess.run(command, capture_output=True).returncode != 0:
        run(command + ["--batch", "1"])
    with open(plan + ".json") as file:
        return json.load(file)


def bench(tenon, plan, iterations, *options):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        run([tenon, "bench", plan, "--threads", "1", "--iterations", str(iterations), "--json", file.name, *options])
        return json.load(open(file.name))


def measure(arguments, name, model, folder, profile):
    tenon, board = arguments.tenon, arguments.board
    plans = {kind: os.path.join(folder, f"{kind}.tenon") for kind in ("cpu", "opencl", "pipeline")}
    alone = [convert(tenon, model, board, plans[kind], "--map", placed, "--profile", profile)["predicted"]["latency_ms"]
             for kind, placed in (("cpu", "*=cpu"), ("opencl", arguments.opencl_map))]
    made = convert(tenon, model, board, plans["pipeline"], "--objective", "throughput", "--parallel", "pipeline",
                   "--profile", profile)
    predicted = made["parallel"]["pipeline"]["period_ms"]
    predicted_gain = min(alone) / predicted
    ms = {kind: [] for kind in plans}
    gains, shares = [], []
    for _ in range(arguments.rounds):
        for kind in ("cpu", "opencl"):
            ms[kind].append(bench(tenon, plans[kind], arguments.iterations)["latency_ms"]["median"])
        stream = bench(tenon, plans["pipeline"], 4 * arguments.iterations, "--mode", "pipeline")
        period = 1000 / stream["throughput_per_s"]
        ms["pipeline"].append(period)
        gains.append(min(ms["cpu"][-1], ms["opencl"][-1]) / period)
        slowest = max(stage["busy_ms"] for stage in stream["stages"])
        shares.append(slowest / period)
    median = {kind: statistics.median(values) for kind, values in ms.items()}
    print(f"{name:40} {median['cpu']:9.3f} {median['opencl']:9.3f} {median['cpu'] / median['opencl']:6.2f} "
          f"{median['pipeline']:9.3f} {statistics.median(gains):6.2f} {statistics.median(shares):6.2f} "
          f"{len(stream['stages']):7} {predicted:9.3f} {predicted / median['pipeline'] - 1:+7.1%} "
          f"{predicted_gain:9.2f} {predicted_gain / statistics.median(gains) - 1:+7.1%}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("models")
    parser.add_argument("--board", default="x86-64-opencl")
    parser.add_argument("--profile")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--only")
    parser.add_argument("--every", action="store_true", help="all float models, not three")
    parser.add_argument("--model", action="append", default=[], help="another model file")
    parser.add_argument("--opencl-map", default="*=opencl", help="for the plan that runs on OpenCL")
    arguments = parser.parse_args()
    models = {name: os.path.join(arguments.models, name + ".onnx") for name in (EVERY if arguments.every else MODELS)
              if arguments.only is None or arguments.only in name}
    models.update({os.path.basename(file): file for file in arguments.model})
    with tempfile.TemporaryDirectory() as folder:
        profile = arguments.profile
        if profile is None:
            profile = os.path.join(folder, "profile.json")
            files = [part for file in models.values() for part in ("--model", file)]
            run([arguments.tenon, "profile", "--board", arguments.board, "--sweep", "off", "-q", "-o", profile, *files])
        print(f"{'model':40} {'cpu ms':>9} {'opencl':>9} {'ratio':>6} {'pipeline':>9} {'gain':>6} {'share':>6} "
              f"{'stages':>7} {'predicted':>9} {'error':>7} {'gain':>9} {'error':>7}")
        for name, model in models.items():
            measure(arguments, name, model, folder, profile)


if __name__ == "__main__":
    main()
