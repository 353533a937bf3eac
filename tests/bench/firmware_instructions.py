#!/usr/bin/env python3
"""Instructions per inference on an emulated microcontroller, op by op.

    firmware_instructions.py MODEL_OR_PLAN... --board cortex-m55 [--build build/cortex-m55]
        [--tenon build/host/bin/tenon] [--option=--batch=1]... [--table]

The counts are QEMU's (-icount shift=5: every instruction takes as long as any other, on a clock that
the program reads), the same in every run; they say nothing of cycles, caches or memories. Models are
converted for the board first. --table: one row per model, for docs."""
import argparse
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "firmware"))
import firmware


def measure(options, model, folder):
    """The plan as inspect shows it, and the board's report."""
    plan_path = folder / "model.tenon"
    if model.suffix == ".tenon":
        plan_path.write_bytes(model.read_bytes())
    else:
        firmware.convert(options.tenon, model, options.board, plan_path, options.option)
    plan = firmware.inspect(options.tenon, plan_path)
    inputs = []
    for i, port in enumerate(plan["inputs"]):
        inputs.append(folder / f"input_{i}.npy")
        firmware.random_input(port, 1, inputs[-1])
    outputs = [folder / f"output_{i}.bin" for i in range(len(plan["outputs"]))]
    runner = options.build / "tests" / "firmware_runner.elf"
    return plan, firmware.run_on_board(options.board, runner, plan_path, inputs, outputs, ops=True)


def print_ops(plan, report):
    print(f"{'op':48} {'kernel':38} {'multiplies':>11} {'instructions':>13} {'each':>6}")
    for described, op in zip(plan["ops"], report.ops):
        multiplies = firmware.multiplies(plan, described)
        each = f"{op.instructions / multiplies:6.3f}" if multiplies else ""
        print(f"{op.name[-48:]:48} {op.kernel:38} {multiplies or '':>11} {op.instructions:>13} "
              f"{each}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--board", choices=firmware.MACHINES, default="cortex-m55")
    parser.add_argument("--build", type=pathlib.Path, help="default: build/BOARD")
    parser.add_argument("--tenon", default=ROOT / "build" / "host" / "bin" / "tenon")
    parser.add_argument("--option", action="append", default=[], help="of convert")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    options.build = (options.build or ROOT / "build" / options.board).resolve()
    options.tenon = pathlib.Path(options.tenon).resolve()
    if options.table:
        print("| model | board | multiply-accumulates | instructions | each |")
        print("| --- | --- | ---: | ---: | ---: |")
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            plan, report = measure(options, model, pathlib.Path(folder))
        multiplies = sum(firmware.multiplies(plan, op) for op in plan["ops"])
        each = report.instructions / max(multiplies, 1)
        if options.table:
            print(f"| {model.stem} | {options.board} | {multiplies} | {report.instructions} | "
                  f"{each:.3f} |")
        else:
            print_ops(plan, report)
            print(f"{model.stem}: {report.instructions} instructions, {multiplies} multiplies, "
                  f"{each:.3f} each; arenas {report.arenas}")


if __name__ == "__main__":
    try:
        main()
    except firmware.Failure as failure:
        sys.exit(f"error: {failure}")
