#!/usr/bin/env python3
"""What starting ops of parallel branches together does to the time of models, by turns.

usage: PYTHONPATH=build/host/python fused_branches_time.py TENON [--board x86-64] [--threads 2]
           [--pairs 30] [--map PINS] MODEL...

Each model is converted with --fuse-branches=auto and =off. Both plans are loaded into one process, and
run by turns in short blocks, in pairs whose order alternates: whatever else the machine does meets
both. The first run of a block does not count. A model without groups is not run: both plans are the same
but for the option that they record, which is checked. Printed: groups, ops and starts, the medians of both, and
the median of the pairs' ratios with over without: below 1 is faster with groups.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import tenon


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")


def convert(arguments, model, plan, fuse):
    command = [arguments.tenon, "convert", model, "-o", plan, "-q", "--board", arguments.board,
               f"--fuse-branches={fuse}", "--threads", str(arguments.threads), "--json", f"{plan}.json"]
    command += ["--map", arguments.map] if arguments.map else []
    if subprocess.run(command, capture_output=True).returncode != 0:
        run(command + ["--batch", "1"])
    return json.loads(pathlib.Path(f"{plan}.json").read_text())["branches"]


def inspect(arguments, plan):
    """All that is in a plan but the options that it was made with, and the report that tells of them."""
    command = [arguments.tenon, "inspect", plan, "--json"]
    seen = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {key: value for key, value in seen.items()
            if key not in ("options", "decisions", "decisions_bytes", "file_bytes")}


class Runner:
    """A plan in memory, with inputs of zeros."""

    def __init__(self, plan, threads):
        self.plan = tenon.Plan(plan, threads=threads)
        self.session = tenon.Session(self.plan)
        self.inputs = {port.name: numpy.zeros(port.shape, port.dtype) for port in self.plan.inputs}
        self.outputs = {port.name: numpy.zeros(port.shape, port.dtype) for port in self.plan.outputs}

    def once(self):
        start = time.perf_counter_ns()
        self.session.run(self.inputs, self.outputs)
        return (time.perf_counter_ns() - start) / 1e6

    def block(self, runs):
        self.once()
        return statistics.median(self.once() for _ in range(runs))


def measure(arguments, model, folder):
    plans = {fuse: f"{folder}/{fuse}.tenon" for fuse in ("auto", "off")}
    branches = {fuse: convert(arguments, model, plan, fuse) for fuse, plan in plans.items()}
    groups = len(branches["auto"]["groups"])
    name = "/".join(pathlib.Path(model).parts[-2:])
    if groups == 0:
        equal = inspect(arguments, plans["auto"]) == inspect(arguments, plans["off"])
        print(f"{name:52} no groups, {'equal plans' if equal else 'PLANS DIFFER'}", flush=True)
        return None
    runners = {fuse: Runner(plan, arguments.threads) for fuse, plan in plans.items()}
    runs = max(3, min(200, int(100 / max(runners["off"].block(2), 0.05))))
    times = {"auto": [], "off": []}
    for pair in range(arguments.pairs):
        for fuse in ("auto", "off") if pair % 2 == 0 else ("off", "auto"):
            times[fuse].append(runners[fuse].block(runs))
    ratio = statistics.median(a / b for a, b in zip(times["auto"], times["off"]))
    print(f"{name:52} {groups:6} {branches['auto']['ops']:5} {branches['auto']['starts']:5} "
          f"{statistics.median(times['off']):9.3f} {statistics.median(times['auto']):9.3f} {ratio:6.3f}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tenon")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--board", default="x86-64")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--map", default="")
    arguments = parser.parse_args()
    print(f"{'model':52} {'groups':>6} {'ops':>5} {'start':>5} {'off ms':>9} {'auto ms':>9} {'ratio':>6}")
    ratios = []
    for model in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            ratios.append(measure(arguments, model, folder))
    ratios = [ratio for ratio in ratios if ratio is not None]
    if ratios:
        print(f"with groups: {len(ratios)} models, geometric mean {statistics.geometric_mean(ratios):.3f}, "
              f"largest {max(ratios):.3f}, least {min(ratios):.3f}")


if __name__ == "__main__":
    main()
