#!/usr/bin/env python3
"""How far predicted times are off, on models that neither profile nor board file was made from.

  prediction_errors.py TENON BOARD MODEL...                      from the board file alone
  prediction_errors.py TENON BOARD --profile FILE.json MODEL...  from a profile of this machine

A model may be followed, in the same argument, by options of convert: 'a.onnx --shape x=1x576'.

Converts each model, measures the plan on one thread, and prints the latency's relative error and
Kendall's tau over the ops that are predicted (pairs whose measured times differ by more than a
tenth). Times are the smallest medians of several rounds, in which the models take turns.
"""
import argparse
import itertools
import json
import pathlib
import shlex
import subprocess
import tempfile


def convert(arguments, model, plan):
    command = [arguments.tenon, "convert", *shlex.split(model), "-o", plan, "--board", arguments.board, "--batch", "1", "-q"]
    if arguments.profile:
        command += ["--profile", arguments.profile]
    report = pathlib.Path(plan).with_suffix(".json")
    subprocess.run(command + ["--json", report], check=True)
    return json.loads(report.read_text())["predicted"]["latency_ms"]


def measure(arguments, plan):
    """The median latency, and the median of each op."""
    report = pathlib.Path(plan).with_suffix(".bench.json")
    command = [arguments.tenon, "bench", plan, "--threads", "1", "--iterations", str(arguments.iterations),
               "--per-op", "--json", report]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    result = json.loads(report.read_text())
    return result["latency_ms"]["median"], result["ops"]


def kendall_tau(pairs):
    score = count = 0
    for (measured_a, predicted_a), (measured_b, predicted_b) in itertools.combinations(pairs, 2):
        if max(measured_a, measured_b) <= 1.1 * min(measured_a, measured_b):
            continue
        count += 1
        product = (measured_a - measured_b) * (predicted_a - predicted_b)
        score += (product > 0) - (product < 0)
    return score / count if count else 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("board")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--profile")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plans = [f"{folder}/{index}.tenon" for index in range(len(arguments.models))]
        predicted = [convert(arguments, model, plan) for model, plan in zip(arguments.models, plans)]
        latency = [float("inf")] * len(plans)
        ops = [None] * len(plans)
        for _ in range(arguments.rounds):
            for i, plan in enumerate(plans):
                median, measured = measure(arguments, plan)
                latency[i] = min(latency[i], median)
                before = ops[i] or measured
                ops[i] = [{**new, "ms": min(new["ms"], old["ms"])} for new, old in zip(measured, before)]
    print("| model | ops | measured, ms | predicted, ms | error | Kendall's tau |")
    print("| --- | --- | --- | --- | --- | --- |")
    errors, taus = [], []
    for model, guess, real, parts in zip(arguments.models, predicted, latency, ops):
        pairs = [(op["ms"], op["predicted_ms"]) for op in parts if op["predicted_ms"] is not None]
        errors.append(guess / real - 1)
        taus.append(kendall_tau(pairs))
        name = "/".join(pathlib.Path(shlex.split(model)[0]).with_suffix("").parts[-2:])
        print(f"| {name} | {len(parts)} | {real:.3g} | {guess:.3g} | {100 * errors[-1]:+.0f} % | {taus[-1]:.3f} |")
    mean = sum(map(abs, errors)) / len(errors)
    print(f"| **mean** | | | | {100 * mean:.1f} % | {sum(taus) / len(taus):.3f} |")


if __name__ == "__main__":
    main()
