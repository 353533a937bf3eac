#!/usr/bin/env python3
"""Fits the tables of instructions per kernel (converter/cost/instructions_*.inc) to emulated runs.

    fit_instructions.py BOARD [--build build/BOARD] [--tenon build/host/bin/tenon]
        --plans FILE [--held-out SHARE] [--rows FILE]

FILE has a line 'MODEL OPTION...' of convert for each plan. Each runs once on the board, op by op. What
an op did of each kind (`inspect --json`: its `instructions`) is known; a linear program finds what each
kind takes at most, so that no op takes more than its bound and the bounds are as low as can be, and a
margin is added. --held-out: what another fit says of that share of the ops of each kernel, which it
leaves out. --rows: where the table goes. Needs SciPy."""
import argparse
import collections
import itertools
import os
import pathlib
import random
import shlex
import sys
import tempfile
import textwrap

import numpy
from scipy.optimize import linprog

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "firmware"))
import firmware

BOARDS = ("cortex-m55", "cortex-m7")


# Of a run beside its ops: the tables' entry "run". Traced runs, whose clock takes more, do not show it.
RUN = 2000


def ops_of(options, words):
    """(model, terms, instructions) of each op of one plan, and the kernels that nothing is known of."""
    model, *convert_options = shlex.split(words)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "model.tenon"
        firmware.convert(options.tenon, model, options.board, path, convert_options)
        plan = firmware.inspect(options.tenon, path)
        inputs = [folder / f"input_{i}.npy" for i in range(len(plan["inputs"]))]
        for port, file in zip(plan["inputs"], inputs):
            firmware.random_input(port, 1, file)
        outputs = [folder / f"output_{i}.bin" for i in range(len(plan["outputs"]))]
        report = firmware.run_on_board(options.board, options.build / "tests/firmware_runner.elf", path,
                                       inputs, outputs, ops=True)
    found = [(op["instructions"]["model"], op["instructions"]["terms"], ran.instructions)
             for op, ran in zip(plan["ops"], report.ops) if "instructions" in op]
    return found, [op["kernel"] for op in plan["ops"] if "instructions" not in op]


def fit(rows, weights=None):
    """Instructions per unit of each term: over no op's count, and least in all, relative to the counts and
    by the ops' weights."""
    names = sorted({name for terms, _ in rows for name in terms})
    matrix = numpy.array([[terms.get(name, 0) / count for name in names] for terms, count in rows])
    answer = linprog(numpy.array(weights or [1] * len(rows)) @ matrix, A_ub=-matrix, b_ub=-numpy.ones(len(rows)), bounds=(0, None))
    if not answer.success:
        raise firmware.Failure(answer.message)
    return dict(zip(names, answer.x))


def held_out(entries, options):
    """The least and most of bounds over counts, for ops that a fit without them has all terms of."""
    out = int(len(entries) * options.held_out)
    cost = fit(entries[out:])
    ratios = [predict(cost, terms) * options.margin / count for terms, count in entries[:out]
              if all(name in cost for name in terms)]
    return f"{min(ratios):.3f} to {max(ratios):.3f} of {len(ratios)}" if ratios else ""


def predict(cost, terms):
    return sum(cost.get(name, 0) * amount for name, amount in terms.items())


def write_table(options, rows):
    """One entry for each model, in lines of at most 100 columns."""
    lines = [f"// Instructions on {options.board} at most, by kernel and what it does: written by",
             "// tests/bench/fit_instructions.py from emulated runs. Amounts: instruction_terms.hpp."]
    for model, entries in itertools.groupby(rows, key=lambda row: row[0]):
        terms = [f'{{"{name}",~{value:.3f}}}' for _, name, value in entries]
        text = f'TENON_INSTRUCTIONS("{model.replace(" ", "~")}", {", ".join(terms)})'
        wrapped = textwrap.wrap(text, 100, subsequent_indent=" " * 4, break_long_words=False,
                                break_on_hyphens=False)
        lines += [line.replace("~", " ") for line in wrapped]  # breaks stand between terms
    options.rows.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("board", choices=BOARDS)
    parser.add_argument("--plans", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, help="default: build/BOARD")
    parser.add_argument("--tenon", default=ROOT / "build" / "host" / "bin" / "tenon")
    parser.add_argument("--margin", type=float, default=1.05)
    parser.add_argument("--margin-of-few", type=float, default=1.08,
                        help="of kernels with fewer ops than three for each term")
    parser.add_argument("--held-out", type=float, default=0)
    parser.add_argument("--rows", type=pathlib.Path)
    options = parser.parse_args()
    options.build = (options.build or ROOT / "build" / options.board).resolve()
    options.tenon = pathlib.Path(options.tenon).resolve()
    models, unknown = collections.defaultdict(dict), collections.Counter()
    shares = collections.Counter()
    for line in options.plans.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        try:
            found, missing = ops_of(options, os.path.expandvars(line))
        except firmware.Failure as failure:
            print(f"left out: {line}: {str(failure).splitlines()[1][:100]}", file=sys.stderr)
            continue
        unknown.update(missing)
        total = sum(count for _, _, count in found)
        for model, terms, count in found:  # equal ops once
            key = tuple(sorted(terms.items()))
            models[model][key] = max(models[model].get(key, 0), count)
            # Each plan weighs the same, and an op what it takes of its plan: what is least in all is the sum
            # of the plans' bounds, each over what its plan counts.
            shares[model, key] += count / total
    rows = [("run", "start", RUN)]
    print(f"{'model':64} {'ops':>5} {'terms':>5} {'least':>6} {'mean':>6} {'most':>6}  held out")
    for model, found in sorted(models.items()):
        entries = [(dict(key), count) for key, count in sorted(found.items())]
        random.Random(1).shuffle(entries)
        cost = fit(entries, [shares[model, tuple(sorted(terms.items()))] for terms, _ in entries])
        margin = options.margin if len(entries) >= 3 * len(cost) else options.margin_of_few
        cost = {name: value * margin for name, value in cost.items()}
        ratios = [predict(cost, terms) / count for terms, count in entries]
        print(f"{model:64} {len(entries):5} {len(cost):5} {min(ratios):6.3f} "
              f"{sum(ratios) / len(ratios):6.3f} {max(ratios):6.3f}  "
              f"{held_out(entries, options)}", flush=True)
        rows += [(model, name, value) for name, value in sorted(cost.items())]
    print(f"not known: {dict(unknown)}")
    if options.rows:
        write_table(options, rows)


if __name__ == "__main__":
    try:
        main()
    except firmware.Failure as failure:
        sys.exit(f"error: {failure}")
