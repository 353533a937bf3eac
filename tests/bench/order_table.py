#!/usr/bin/env python3
"""Orders in time on boards with several units: the model's own, random ones, list scheduling, the one
that is chosen, and a bound that no order of these ops on these units can be below.

    order_table.py build/host/bin/tenon MODEL... [--board rk3588] [--mixed] [--option=--mapping=optimal]

One row per model, times in ms as predicted for one inference: a simulation of the steps that a plan
would hold. A model without branches has one order only, so all its times are equal.
  segments   in the plan; a device is started once for each of its own
  kept       the model's order over the chosen one
  gap        the chosen order over the bound: 1 means that it is proved to be the best
  tried      orders and states of searches that were looked at
  s          the whole conversion

--mixed gives convolutions and products of the board to OpenCL and all else to the CPU, since boards
with one table row for everything use one unit, which leaves nothing to order.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

BOARDS = pathlib.Path(__file__).resolve().parents[2] / "sdk" / "boards"
HEADS = ["model", "ops", "segments", "source", "random", "list", "chosen", "bound", "kept", "gap",
         "tried", "s"]
PRODUCTS = ["conv", "matmul"]


def board_file(name, mixed, folder):
    """Returns what to pass as --board: the board itself, or a copy with another table."""
    if not mixed:
        return name
    board = json.loads((BOARDS / f"{name}.json").read_text())
    board["priorities"] = [{"backend": "opencl", "op": op, "priority": 1} for op in PRODUCTS]
    board["priorities"].append({"backend": "cpu", "op": "*", "priority": 1})
    board["priorities"] += [{"backend": "opencl", "op": "*", "priority": 2}]
    board["priorities"] += [{"backend": "cpu", "op": op, "priority": 2} for op in PRODUCTS]
    path = pathlib.Path(folder) / f"{name}-mixed.json"
    path.write_text(json.dumps(board))
    return str(path)


def convert(tenon, model, board, options, folder):
    """Returns the decisions and the seconds of a conversion; the message if it was refused."""
    report = pathlib.Path(folder) / "report.json"
    command = [tenon, "convert", model, "-o", f"{folder}/plan.tenon", "--board", board, "-q",
               "--json", str(report), *options]
    start = time.monotonic()
    run = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if run.returncode != 0:
        return None, run.stderr.splitlines()[0]
    return json.loads(report.read_text()), seconds


def row(model, report, seconds):
    """Returns the cells of a model's row."""
    order = report["order"]
    times = order.get("ms")
    ops = report["ops"]["executed"]
    path = pathlib.Path(model)
    name = f"{path.parent.name}/{path.stem}"
    if times is None:
        latency = f"{report['predicted']['latency_ms']:.3f}"
        return [name, ops, 1, latency, "", "", latency, latency, "1.00", "1.000", 1, f"{seconds:.1f}"]
    segments = report["segments"]["count"] if report["segments"] else ""
    cells = [name, ops, segments]
    for key in ["source", "random", "list", "chosen", "lower_bound"]:
        cells.append("" if times[key] is None else f"{times[key]:.3f}")
    chosen = times["chosen"]
    kept = f"{times['source'] / chosen:.2f}" if times["source"] else ""
    cells += [kept, f"{chosen / times['lower_bound']:.3f}", order["tried"], f"{seconds:.1f}"]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--board", default="rk3588")
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--option", action="append", default=[], help="of tenon convert")
    arguments = parser.parse_args()
    print("| " + " | ".join(HEADS) + " |")
    print("|" + " --- |" * len(HEADS))
    with tempfile.TemporaryDirectory() as folder:
        board = board_file(arguments.board, arguments.mixed, folder)
        for model in arguments.models:
            report, result = convert(arguments.tenon, model, board, arguments.option, folder)
            if report is None:
                print(f"{model}: {result}", file=sys.stderr)
                continue
            print("| " + " | ".join(str(cell) for cell in row(model, report, result)) + " |",
                  flush=True)


if __name__ == "__main__":
    main()
