#!/usr/bin/env python3
"""An estimate of cycles per inference on Cortex-M, from an emulated run and LLVM's models of cores.

    cycle_estimate.py MODEL_OR_PLAN... --board cortex-m7 [--core cortex-m4]... [--functions N]
        [--build build/BOARD] [--tenon build/host/bin/tenon] [--option=--batch=1]... [--table]

Counts how often each block of instructions runs in one inference (a plugin of QEMU; the difference of
a program that infers twice and one that infers once), and multiplies by what llvm-mca-19 says that
the block takes on the core. Two figures for each core:
  least   as if no instruction waited for another one's result (Block RThroughput)
  most    as if the block ran again and again, each instruction as soon as its operands are there
          (llvm-mca counts a pointer that a load moves on as late as what it loads: too late)
To both come the cycles of taken branches (BRANCH below). No memory takes time: code, constants and
tensors count as if all were in tightly coupled memories. It is an estimate, never checked against a
board. Needs llvm-mca-19 and llvm-objdump-19 (Debian: llvm-19)."""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "firmware"))
import firmware

TRIPLES = {"cortex-m4": "thumbv7em-none-eabi", "cortex-m7": "thumbv7em-none-eabi",
           "cortex-m33": "thumbv8m.main-none-eabi", "cortex-m55": "thumbv8.1m.main-none-eabi",
           "cortex-m85": "thumbv8.1m.main-none-eabi"}
# Assumed: cycles that a taken branch takes beside its own instruction. M4 and M33 fill a pipeline of
# three stages again; M7, M55 and M85 predict most branches.
BRANCH = {"cortex-m4": 2, "cortex-m33": 2, "cortex-m7": 1, "cortex-m55": 1, "cortex-m85": 1}
# What ends blocks, and is given to no model: a loop's end on M55 takes nothing of its own.
JUMP = re.compile(r"^(b|bl|blx|bx|cbz|cbnz|tbb|tbh|b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le))"
                  r"(\.[nw])?$|^(le|letp|wls|wlstp\.\d+|dls|dlstp\.\d+|bkpt|svc|udf|lctp)$")
LOOP_END = ("le", "letp")
PAIRS = ("eq ne", "hs lo", "mi pl", "vs vc", "hi ls", "ge lt", "gt le")
OPPOSITE = {a: b for pair in PAIRS for a, b in (pair.split(), reversed(pair.split()))}
ITERATIONS = 50


def run_blocks(options, plan, inputs, outputs, plugin, runs, folder):
    """Executions of each block, by its address and number of instructions."""
    listing = folder / f"blocks_{runs}.txt"
    environment = dict(os.environ, TENON_QEMU_OPTIONS=f"-plugin {plugin},out={listing}")
    files = [os.path.relpath(path, folder) for path in [plan, *inputs, *outputs]]
    firmware.call([ROOT / "toolchains" / "run-cortex-m.sh", firmware.MACHINES[options.board],
                   options.runner, "--runs", runs, *files], cwd=folder, env=environment)
    blocks = {}
    for line in listing.read_text().splitlines():
        address, size, count = line.split()
        blocks[int(address, 16) & ~1, int(size)] = int(count)
    return blocks


def disassemble(program, core):
    """Instructions by address, and the function that each is of."""
    text = firmware.call(["llvm-objdump-19", "-d", "--no-show-raw-insn", f"--triple={TRIPLES[core]}",
                          f"--mcpu={core}", program])
    instructions, functions, function = {}, {}, "?"
    conditions = []  # of the instructions to come of an IT block
    for line in text.splitlines():
        if found := re.match(r"^[0-9a-f]+ <(.+)>:$", line):
            function = found[1]
        elif found := re.match(r"^\s*([0-9a-f]+):\s+(\S.*)$", line):
            address = int(found[1], 16)
            words = re.sub(r"\s*[@<].*$", "", found[2]).strip()
            condition = conditions.pop(0) if conditions else ""
            if condition:  # as long as without it, and blocks may begin in the middle
                words = re.sub(rf"^(\w+?){condition}(?=[.\s]|$)", r"\1", words)
            elif block := re.match(r"^it([te]*)\s+(\w\w)$", words):
                conditions = [block[2] if letter == "t" else OPPOSITE[block[2]]
                              for letter in "t" + block[1]]
                words = "nop"
            instructions[address] = words
            functions[address] = function
    return instructions, functions


def block_text(addresses, start, size, instructions, order):
    """The block's instructions but for jumps, and whether it ends in one, and in which."""
    place = order.get(start)
    lines, jump = [], ""
    if place is None:
        return None, ""
    for address in addresses[place:place + size]:
        words = instructions[address]
        name = words.split()[0]
        if JUMP.match(name):
            jump = name
        else:
            # An address that counts from the program counter stands for any.
            lines.append(re.sub(r"\b(adr(?:\.w)?\s+\w+), .*$", r"\1, #0", words))
    return "\n".join(lines), jump


def model_blocks(texts, core):
    """Cycles of each text on the core: least and most."""
    source = "".join(f"# LLVM-MCA-BEGIN b{i}\n{text}\n# LLVM-MCA-END\n"
                     for i, text in enumerate(texts))
    command = ["llvm-mca-19", f"--mtriple={TRIPLES[core]}", f"-mcpu={core}",
               f"-iterations={ITERATIONS}", "--json", "--skip-unsupported-instructions=parse-failure",
               "--instruction-info=false", "--resource-pressure=false"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise firmware.Failure(done.stderr[-2000:])
    cycles = {}
    for region in json.loads(done.stdout)["CodeRegions"]:
        summary = region["SummaryView"]
        cycles[region["Name"]] = (summary["BlockRThroughput"],
                                  summary["TotalCycles"] / summary["Iterations"])
    skipped = len(re.findall(r"error:|warning:", done.stderr))
    return [cycles.get(f"b{i}", (0, 0)) for i in range(len(texts))], skipped


def estimate(options, blocks, core):
    """Cycles in all and by function: least, most, instructions."""
    instructions, functions = disassemble(options.runner, options.board)
    addresses = sorted(instructions)
    order = {address: i for i, address in enumerate(addresses)}
    texts, found = {}, []
    for (start, size), count in blocks.items():
        text, jump = block_text(addresses, start, size, instructions, order)
        if text is None:
            raise firmware.Failure(f"no instructions at {start:x}")
        if text:
            texts.setdefault(text, len(texts))
        found.append((start, size, count, text, jump))
    cycles, skipped = model_blocks(list(texts), core)
    total = collections.defaultdict(lambda: [0.0, 0.0, 0])
    for start, size, count, text, jump in found:
        least, most = cycles[texts[text]] if text else (0, 0)
        branch = 0 if not jump or jump in LOOP_END else 1 + BRANCH[core]
        figures = total[functions[start]]
        figures[0] += count * (least + branch)
        figures[1] += count * (most + branch)
        figures[2] += count * size
    return total, skipped


def measure(options, model, folder):
    plan = folder / "model.tenon"
    if model.suffix == ".tenon":
        plan.write_bytes(model.read_bytes())
    else:
        firmware.convert(options.tenon, model, options.board, plan, options.option)
    described = firmware.inspect(options.tenon, plan)
    inputs = [folder / f"input_{i}.npy" for i in range(len(described["inputs"]))]
    for port, path in zip(described["inputs"], inputs):
        firmware.random_input(port, 1, path)
    outputs = [folder / f"output_{i}.bin" for i in range(len(described["outputs"]))]
    plugin = folder / "count_blocks.so"
    firmware.call(["cc", "-shared", "-fPIC", "-O2", ROOT / "tests" / "bench" / "count_blocks.c", "-o",
                   plugin])
    once, twice = (run_blocks(options, plan, inputs, outputs, plugin, runs, folder)
                   for runs in (1, 2))
    return {block: count - once.get(block, 0) for block, count in twice.items()
            if count > once.get(block, 0)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--board", choices=firmware.MACHINES, default="cortex-m7")
    parser.add_argument("--core", choices=TRIPLES, action="append",
                        help="whose model is asked; default: the board's")
    parser.add_argument("--functions", type=int, default=12, help="that are listed")
    parser.add_argument("--build", type=pathlib.Path, help="default: build/BOARD")
    parser.add_argument("--tenon", default=ROOT / "build" / "host" / "bin" / "tenon")
    parser.add_argument("--option", action="append", default=[], help="of convert")
    parser.add_argument("--table", action="store_true", help="one row per model and core, for docs")
    options = parser.parse_args()
    build = (options.build or ROOT / "build" / options.board).resolve()
    options.runner = build / "tests" / "firmware_runner.elf"
    options.tenon = pathlib.Path(options.tenon).resolve()
    if options.table:
        print("| model | board | core | instructions | estimated cycles: least | most |")
        print("| --- | --- | --- | ---: | ---: | ---: |")
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            blocks = measure(options, model, pathlib.Path(folder))
        for core in options.core or [options.board]:
            total, skipped = estimate(options, blocks, core)
            least, most, count = (sum(figures[i] for figures in total.values()) for i in range(3))
            if options.table:
                print(f"| {model.stem} | {options.board} | {core} | {count:,} | {least:,.0f} | "
                      f"{most:,.0f} |", flush=True)
                continue
            print(f"{model.stem} on {core}: {count:,} instructions, an estimated {least:,.0f} to "
                  f"{most:,.0f} cycles ({skipped} instructions not modelled)")
            by_cycles = sorted(total.items(), key=lambda entry: -entry[1][0])
            for name, (low, high, executed) in by_cycles[:options.functions]:
                print(f"  {low:14,.0f} {high:14,.0f} cycles {executed:12,} instructions  {name[:80]}")


if __name__ == "__main__":
    try:
        main()
    except firmware.Failure as failure:
        sys.exit(f"error: {failure}")
