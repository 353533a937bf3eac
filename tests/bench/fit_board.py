#!/usr/bin/env python3
"""Figures of a microcontroller's board file, fitted to instructions counted on the emulated board.

    fit_board.py BOARD [--build build/BOARD] [--tenon build/host/bin/tenon] [--rate 400e6]
        --plan 'MODEL OPTION...' [--plan ...]

Each plan (a model and options of convert) runs once on the board. The instructions of its ops are
fitted by what the cost model (converter/cost/cost_model.hpp) knows of an op: one start, its
multiply-accumulates (of depthwise convolutions and of portable kernels apart), its elementary ops, the
elements that it moves. Least squares of relative errors, non-negative: of whole plans, which weigh most,
and of their ops, each weighing as much as its share of its plan. Prints the keys of the board file for a core of --rate instructions a second, and how
far predictions are off: per plan, over the first plan of the same model, per kernel."""
import argparse
import collections
import pathlib
import shlex
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "firmware"))
import firmware

TERMS = ("start", "product", "depthwise", "portable", "elementary", "moved")
MOVES = ("concat", "slice", "pad", "reshape", "transpose", "expand", "gather", "copy")
WEIGHT_OF_A_PLAN = 10  # that of its ops together is 1
SOFTMAX_COST = 8  # of runtime/ops/host/softmax.cpp


def terms(op, kernel, shapes, multiplies):
    """What the cost model sees in an op, by TERMS."""
    amount = dict.fromkeys(TERMS, 0)
    amount["start"] = 1
    kind = op["kind"]
    output = firmware.elements(shapes[op["outputs"][0]])
    if multiplies:
        way = ("portable" if ".portable" in kernel else
               "depthwise" if "depthwise" in kernel else "product")
        amount[way] = multiplies
    if kind in MOVES:
        amount["moved"] = output
    elif "pool" in kind or "reduce" in kind:
        amount["elementary"] = firmware.elements(shapes[op["inputs"][0]])
    else:
        amount["elementary"] = output * (SOFTMAX_COST if "softmax" in kind else 1)
    return amount


class Measured:
    """One plan's ops: (kernel, terms, instructions)."""

    def __init__(self, options, words):
        self.model, *convert_options = shlex.split(words)
        self.name = f"{pathlib.Path(self.model).stem} {' '.join(convert_options)}"
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            path = folder / "model.tenon"
            firmware.convert(options.tenon, self.model, options.board, path, convert_options)
            plan = firmware.inspect(options.tenon, path)
            inputs = [folder / f"input_{i}.npy" for i in range(len(plan["inputs"]))]
            for port, file in zip(plan["inputs"], inputs):
                firmware.random_input(port, 1, file)
            outputs = [folder / f"output_{i}.bin" for i in range(len(plan["outputs"]))]
            report = firmware.run_on_board(options.board, options.build / "tests/firmware_runner.elf",
                                           path, inputs, outputs, ops=True)
        shapes = {tensor["name"]: tensor["shape"] for tensor in plan["tensors"]}
        self.ops = [(ran.kernel, terms(op, ran.kernel, shapes, firmware.multiplies(plan, op)),
                     ran.instructions) for op, ran in zip(plan["ops"], report.ops)]

    def instructions(self):
        return sum(count for _, _, count in self.ops)

    def predicted(self, cost):
        return sum(predict(cost, amount) for _, amount, _ in self.ops)


def predict(cost, amount):
    return sum(cost[term] * amount[term] for term in TERMS)


def rows_of(plans):
    """Relative to what was counted: [(terms per instruction, weight)]."""
    weights = collections.Counter()
    for plan in plans:
        whole = tuple(sum(amount[term] for _, amount, _ in plan.ops) for term in TERMS)
        weights[whole, plan.instructions()] += WEIGHT_OF_A_PLAN
        for _, amount, count in plan.ops:
            weights[tuple(amount[term] for term in TERMS), count] += count / plan.instructions()
    return [([value / count for value in amount], weight)
            for (amount, count), weight in weights.items()]


def fit(plans, rounds=20_000):
    """Instructions per unit of each term: coordinate descent on the normal equations."""
    rows = rows_of(plans)
    size = range(len(TERMS))
    matrix = [[sum(weight * row[i] * row[j] for row, weight in rows) for j in size] for i in size]
    right = [sum(weight * row[i] for row, weight in rows) for i in size]
    cost = [0.0] * len(TERMS)
    for _ in range(rounds):
        for i in size:
            if matrix[i][i] > 0:
                slope = sum(matrix[i][j] * cost[j] for j in size) - right[i]
                cost[i] = max(0.0, cost[i] - slope / matrix[i][i])
    return dict(zip(TERMS, cost))


def print_keys(cost, rate):
    def per_second(term):
        return f"{rate / cost[term]:.2e}" if cost[term] > 0 else "not seen"

    print(f"instructions: {', '.join(f'{term} {cost[term]:.3f}' for term in TERMS)}")
    print(f"launch_overhead_us: {cost['start'] / rate * 1e6:.2f}")
    print(f"multiply_accumulates_per_second: i8 {per_second('product')}")
    print(f"portable_multiply_accumulates_per_second: i8 {per_second('portable')}")
    if cost["depthwise"] > 0:
        print(f"depthwise_fraction: {cost['product'] / cost['depthwise']:.3f}")
    print(f"elementary_ops_per_second: {per_second('elementary')}")
    print(f"moved_elements_per_second: {per_second('moved')}")


def print_errors(plans, cost):
    first = {}
    print(f"\n{'plan':72} {'counted':>11} {'fit':>6} {'over first: counted':>20} {'fit':>6}")
    for plan in plans:
        base = first.setdefault(plan.model, plan)
        counted, predicted = plan.instructions(), plan.predicted(cost)
        print(f"{plan.name[:72]:72} {counted:>11} {predicted / counted:>6.3f} "
              f"{counted / base.instructions():>20.3f} {predicted / base.predicted(cost):>6.3f}")
    kernels = collections.defaultdict(lambda: [0, 0, 0.0])
    for plan in plans:
        for kernel, amount, count in plan.ops:
            sums = kernels[kernel]
            sums[0] += 1
            sums[1] += count
            sums[2] += predict(cost, amount)
    print(f"\n{'kernel':48} {'ops':>5} {'counted':>11} {'fit':>6}")
    for kernel, (ops, counted, predicted) in sorted(kernels.items()):
        print(f"{kernel:48} {ops:>5} {counted:>11} {predicted / counted:>6.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("board", choices=firmware.MACHINES)
    parser.add_argument("--plan", action="append", required=True, help="'MODEL OPTION...'")
    parser.add_argument("--build", type=pathlib.Path, help="default: build/BOARD")
    parser.add_argument("--tenon", default=ROOT / "build" / "host" / "bin" / "tenon")
    parser.add_argument("--rate", type=float, default=400e6, help="instructions per second")
    options = parser.parse_args()
    options.build = (options.build or ROOT / "build" / options.board).resolve()
    options.tenon = pathlib.Path(options.tenon).resolve()
    plans = [Measured(options, words) for words in options.plan]
    cost = fit(plans)
    print_keys(cost, options.rate)
    print_errors(plans, cost)


if __name__ == "__main__":
    try:
        main()
    except firmware.Failure as failure:
        sys.exit(f"error: {failure}")
