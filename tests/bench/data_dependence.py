#!/usr/bin/env python3
"""By how much instructions per inference depend on the input, on an emulated microcontroller.

    data_dependence.py MODEL... --board cortex-m55 [--runs 1000] [--build build/BOARD]
        [--tenon build/host/bin/tenon] [--option=--batch=1]...

Runs each model on random bytes, one input after the other; the emulated clock moves by the
instruction. A row per model: the fewest and the most instructions, exact to one or two."""
import argparse
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "firmware"))
import firmware


def measure(options, model, folder):
    """The fewest and the most instructions."""
    plan_path = folder / "plan.tenon"
    firmware.convert(options.tenon, model, options.board, plan_path, options.option)
    plan = firmware.inspect(options.tenon, plan_path)
    inputs = [folder / f"input_{i}.npy" for i in range(len(plan["inputs"]))]
    for port, path in zip(plan["inputs"], inputs):
        firmware.random_input(port, 1, path)
    outputs = [folder / f"output_{i}.bin" for i in range(len(plan["outputs"]))]
    files = [os.path.relpath(path, folder) for path in [plan_path, *inputs, *outputs]]
    machine = firmware.MACHINES[options.board]
    printed = firmware.call(
        [ROOT / "toolchains" / "run-cortex-m.sh", machine, options.runner, "--random", options.runs,
         *files], cwd=folder, env=dict(os.environ, TENON_QEMU_OPTIONS="-icount shift=5"))
    (line,) = (line.split() for line in printed.splitlines() if line.startswith("runs "))
    return [int(ticks) * firmware.PICOSECONDS_PER_TICK[machine] //
            firmware.PICOSECONDS_PER_INSTRUCTION for ticks in (line[3], line[5])]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--board", choices=firmware.MACHINES, default="cortex-m55")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--build", type=pathlib.Path, help="default: build/BOARD")
    parser.add_argument("--tenon", default=ROOT / "build" / "host" / "bin" / "tenon")
    parser.add_argument("--option", action="append", default=[], help="of convert")
    options = parser.parse_args()
    build = (options.build or ROOT / "build" / options.board).resolve()
    options.runner = build / "tests" / "firmware_runner.elf"
    options.tenon = pathlib.Path(options.tenon).resolve()
    print("| model | board | inputs | fewest instructions | most | more |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            least, most = measure(options, model, pathlib.Path(folder))
        print(f"| {model.stem} | {options.board} | {options.runs} | {least:,} | {most:,} | "
              f"{100 * (most / least - 1):.3f} % |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except firmware.Failure as failure:
        sys.exit(f"error: {failure}")
