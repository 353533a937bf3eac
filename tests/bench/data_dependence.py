#!/usr/bin/env python3
"""By how much instructions per inference depend on the input, on an emulated microcontroller.

    data_dependence.py MODEL... --board cortex-m55 [--runs 1000] [--build build/BOARD]
        [--tenon build/host/bin/tenon] [--option=--batch=1]...

Runs each model on random bytes, one input after the other; the emulated clock moves by the
instruction. A row per model: the fewest and the most instructions."""
import argparse
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
    return firmware.run_on_random_inputs(options.board, options.runner, plan_path, plan, options.runs)


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
