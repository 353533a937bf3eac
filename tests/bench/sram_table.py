#!/usr/bin/env python3
"""Memory and instructions of models on a microcontroller: plain, unsplit with ops in place, in patches.

    sram_table.py build/host/bin/tenon BOARD MODEL[@BYTES]... [--most-slowdown 1.3]
        [--build build/BOARD] [--option=--memory-limit=flash=6M]...

One row per model, in bytes of the arena, model inputs and outputs counted:
  plain      least time: no op works in place but elementwise ones
  unsplit    least over orders, ops in place (--split=off --objective=memory); proven if the order is
             (searched exactly, or equal to a bound on every order) and the placement is
  patched    --objective=memory --most-slowdown S; of MODEL@BYTES the fastest plan that is predicted
             within --memory-limit SPACE=BYTES, all in the arena's space
and of the patched plan over the unsplit and the plain one:
  ratio      of arenas, patched over unsplit
  RAM        what firmware needs in all: arenas and the states of plan and session, as --emit=c says
  predicted  time over plain's
  measured   with --build: instructions of the plain plan on the emulated board, and the patched
             plan's over them
  ops, recomputed   ops executed, and work done twice
"""

import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "firmware"))
import firmware

DOES_NOT_FIT = 4
HEADS = ["model", "plain", "unsplit, in place", "proven", "patched", "ratio", "RAM plain", "unsplit",
         "patched", "predicted", "instructions", "measured", "ops", "recomputed"]


@dataclasses.dataclass
class Plan:
    """One conversion: the decisions, bytes of RAM in all, instructions of a run if they were counted."""
    report: dict
    ram: int
    instructions: int = 0

    @property
    def arena(self):
        return self.report["memory"]["arena_bytes"]

    @property
    def milliseconds(self):
        return self.report["predicted"]["latency_ms"]

    @property
    def is_proven(self):
        """No order, and no placement of it, needs less."""
        order = self.report["order"]
        least = order["exact"] or order["live_bytes"] <= order["lower_bound"]
        return least and self.report["memory"]["proven_optimal"]


def ram_of(header):
    """Arenas and states, as the emitted header has them."""
    return sum(int(size) for size in
               re.findall(r"^#define \w+_(?:ARENA_\d+|STATE)_BYTES (\d+)$", header, re.MULTILINE))


def count_instructions(options, plan, folder):
    ports = firmware.inspect(options.tenon, plan)
    inputs = [folder / f"input_{i}.npy" for i in range(len(ports["inputs"]))]
    for port, path in zip(ports["inputs"], inputs):
        firmware.random_input(port, 1, path)
    outputs = [folder / f"output_{i}.bin" for i in range(len(ports["outputs"]))]
    runner = options.build / "tests" / "firmware_runner.elf"
    return firmware.run_on_board(options.board, runner, plan, inputs, outputs, ops=True).instructions


def convert(options, model, words, count):
    """None if it does not fit the board. `count`: instructions too, where there is a board."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = [options.tenon, "convert", model, "--board", options.board, "-q", "--emit=c",
                   "-o", folder / "plan.S", "--json", folder / "report.json", *options.option, *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode == DOES_NOT_FIT:
            return None
        if done.returncode != 0:
            sys.exit(f"{' '.join(str(word) for word in command)}\n{done.stderr}")
        plan = Plan(json.loads((folder / "report.json").read_text()),
                    ram_of((folder / "plan.h").read_text()))
        if count and options.build:
            plan.instructions = count_instructions(options, folder / "plan.tenon", folder)
        return plan


def patched_words(options, limit):
    if not limit:
        return ["--objective=memory", "--most-slowdown", str(options.most_slowdown)]
    path = pathlib.Path(options.board)
    if not path.is_file():
        path = ROOT / "sdk" / "boards" / f"{options.board}.json"
    spaces = json.loads(path.read_text())["memory_spaces"]
    return [word for space in spaces for word in (
        ["--memory-limit", f"{space['name']}={limit}"] if space.get("arena") else
        ["--memory-limit", f"{space['name']}=0"] if space.get("direct") else [])]


def row(options, argument):
    model, _, limit = argument.partition("@")
    plain = convert(options, model, ["--split=off"], count=True)
    unsplit = convert(options, model, ["--split=off", "--objective=memory"], count=False)
    patched = convert(options, model, patched_words(options, limit), count=True)

    def of(text, *plans):
        return "does not fit" if None in plans else text(*plans)

    def ram(plan):
        return of(lambda plan: f"{plan.ram:,}", plan)

    def arena(plan):
        return of(lambda plan: f"{plan.arena:,}", plan)

    def ratio(figure, plan, of_plan):
        both = (plan, of_plan)
        return of(lambda one, other: f"{figure(one) / figure(other):.3f}"
                  if figure(other) else "not measured", *both)

    return [pathlib.Path(model).parent.name + "/" + pathlib.Path(model).stem,
            arena(plain), arena(unsplit),
            of(lambda plan: "yes" if plan.is_proven else "no", unsplit),
            arena(patched), ratio(lambda plan: plan.arena, patched, unsplit),
            ram(plain), ram(unsplit), ram(patched),
            ratio(lambda plan: plan.milliseconds, patched, plain),
            of(lambda plan: f"{plan.instructions:,}" if plan.instructions else "not measured", plain),
            ratio(lambda plan: plan.instructions, patched, plain),
            of(lambda one, other: f"{one.report['ops']['executed']}, "
                                  f"{other.report['ops']['executed']}", plain, patched),
            of(lambda plan: f"{sum(cut.get('recomputed_work', 0) for cut in plan.report['splits']):,}",
               patched)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("board")
    parser.add_argument("models", nargs="+", metavar="MODEL[@BYTES]")
    parser.add_argument("--most-slowdown", type=float, default=1.3)
    parser.add_argument("--build", type=pathlib.Path,
                        help="firmware build of the board, with firmware_runner: counts instructions")
    parser.add_argument("--option", action="append", default=[], help="of every conversion")
    options = parser.parse_args()
    options.tenon = pathlib.Path(options.tenon).resolve()
    options.build = options.build and options.build.resolve()
    print("| " + " | ".join(HEADS) + " |")
    print("|" + " --- |" * len(HEADS))
    for model in options.models:
        print("| " + " | ".join(row(options, model)) + " |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except firmware.Failure as failure:
        sys.exit(f"error: {failure}")
