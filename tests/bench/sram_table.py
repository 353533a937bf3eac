#!/usr/bin/env python3
"""Peak SRAM of models on a microcontroller: unsplit with ops in place, and in patches.

    python3 tests/bench/sram_table.py build/host/bin/tenon BOARD MODEL... [--most-slowdown 1.3]

One row per model, in bytes of the arena, model inputs and outputs counted:
  plain      least time: no op works in place but elementwise ones
  unsplit    least over orders, ops in place (--split=off --objective=memory); proven if the order is
             (searched exactly, or equal to a bound on every order) and the placement is
  patched    --objective=memory --most-slowdown S
and, of the patched plan over the plain one, predicted time, ops executed and work recomputed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def convert(tenon, model, board, options):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [tenon, "convert", model, "--board", board, "-o", f"{folder}/plan.tenon", "-q",
                   "--json", str(report), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 4:
            return None  # does not fit the board
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(report.read_text())


def is_proven(report):
    """No order, and no placement of it, needs less."""
    order = report["order"]
    least = order["exact"] or order["live_bytes"] <= order["lower_bound"]
    return least and report["memory"]["proven_optimal"]


def arena_of(report):
    return report["memory"]["arena_bytes"]


def time_of(report):
    return report["predicted"]["latency_ms"]


def row(tenon, model, board, slowdown):
    plain = convert(tenon, model, board, ["--split=off"])
    unsplit = convert(tenon, model, board, ["--split=off", "--objective=memory"])
    patched = convert(tenon, model, board,
                      ["--objective=memory", "--most-slowdown", str(slowdown)])
    name = pathlib.Path(model).parent.name + "/" + pathlib.Path(model).stem
    if patched is None:
        return [name] + ["does not fit"] * 3 + [""] * 5

    def of(report, text):
        return "does not fit" if report is None else text(report)

    return [name,
            of(plain, lambda report: f"{arena_of(report):,}"),
            of(unsplit, lambda report: f"{arena_of(report):,}"),
            of(unsplit, lambda report: "yes" if is_proven(report) else "no"),
            f"{arena_of(patched):,}",
            of(unsplit, lambda report: f"{arena_of(patched) / arena_of(report):.2f}"),
            of(plain, lambda report: f"{time_of(patched) / time_of(report):.2f}"),
            of(plain, lambda report: f"{report['ops']['executed']}, ") +
            f"{patched['ops']['executed']}",
            f"{sum(cut.get('recomputed_work', 0) for cut in patched['splits']):,}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("board")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--most-slowdown", type=float, default=1.3)
    options = parser.parse_args()
    heads = ["model", "plain", "unsplit, in place", "proven", "patched", "ratio",
             "predicted time", "ops", "recomputed"]
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads))
    for model in options.models:
        print("| " + " | ".join(row(options.tenon, model, options.board, options.most_slowdown))
              + " |", flush=True)


if __name__ == "__main__":
    main()
