#!/usr/bin/env python3
"""patches_test.py --tenon T --runner R --board B MODEL [--input NAME --rows N] [--sram BYTES]
--most-arena BYTES [--most-work F] [--most-instructions F] [--option OPTION]...: a network in patches gives
the bits that the portable kernels give here, in an arena of so many bytes, and does at most so many times
the multiply-accumulates and counted instructions of its plain plan. Its input is handed in by rows while it
runs, or lies in the arena; patches are the smallest within --slowdown times the predicted time, or for an arena
of --sram.

Exit status 77: skipped, with the reason."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import firmware

SMALLEST = ("--memory-limit=dtcm=0", "--objective=memory")


def work_of(plan):
    return sum(firmware.multiplies(plan, op) for op in plan["ops"])


def compare(options, described, plans, seed, folder):
    """Runs the plain plan and the one in patches on the board, and the former with the portable kernels
    here; gives what is wrong, and the board's reports of both."""
    (port,) = described["inputs"]
    sample, here = folder / f"input_{seed}.npy", folder / f"here_{seed}"
    firmware.random_input(port, seed, sample)
    firmware.call([options.tenon, "run", plans["portable"], "--output-dir", here,
                   "--input", f"{port['name']}={sample}"])
    (written,) = here.iterdir()
    expected, reports, wrong = firmware.read_npy(written), {}, []
    for name in ("plain", "patches"):
        output = folder / f"{name}_{seed}.bin"
        reports[name] = firmware.run_on_board(options.board, options.runner, plans[name], [sample],
                                              [output], ticks=True)
        if output.read_bytes() != expected:
            wrong.append(f"{name}: the bits differ from those of the portable kernels here")
    if len(set(expected)) < 2:
        wrong.append("all bytes of the output are equal: it shows nothing")
    return wrong, reports


def test(options, folder):
    plans = {name: folder / f"{name}.tenon" for name in ("portable", "plain", "patches")}
    firmware.convert(options.tenon, options.model, firmware.portable_board(options.board, folder),
                     plans["portable"], options.option)
    firmware.convert(options.tenon, options.model, options.board, plans["plain"], options.option)
    patched = (*SMALLEST, f"--most-slowdown={options.slowdown}")
    if options.sram is not None:
        patched = (f"--memory-limit=sram={options.sram}", SMALLEST[0])
    if options.rows:
        patched = (*patched, f"--input-from={options.input}=rows:{options.rows}")
    firmware.convert(options.tenon, options.model, options.board, plans["patches"],
                     [*options.option, *patched])
    plain, in_patches = (firmware.inspect(options.tenon, plans[name]) for name in ("plain", "patches"))
    wrong = []
    for seed in (1, 2):
        found, reports = compare(options, in_patches, plans, seed, folder)
        wrong += found
    arenas = {name: bytes for name, bytes in reports["patches"].arenas.items()
              if not name.startswith("rows:")}
    instructions = [reports[name].instructions for name in ("plain", "patches")]
    work = work_of(in_patches) / work_of(plain)
    ratio = instructions[1] / instructions[0]
    print(f"bits as here; arenas {arenas}, plain {reports['plain'].arenas}; multiply-accumulates "
          f"{work:.3f} times, instructions {instructions[1]} of {instructions[0]}: {ratio:.3f} times")
    if options.rows and len(in_patches["arenas"]) != len(arenas) + 1:
        wrong.append(f"the input has no arena of its own: {in_patches['arenas']}")
    for what, found, most in (("arenas", sum(arenas.values()), options.most_arena),
                              ("multiply-accumulates", work, options.most_work),
                              ("instructions", ratio, options.most_instructions)):
        if found > most:
            wrong.append(f"{what}: {found}, and may be {most}")
    return wrong


if __name__ == "__main__":
    sys.exit(firmware.run_test(test, firmware.test_arguments(
        ("--input", {"help": "its name"}),
        ("--rows", {"type": int, "help": "handed in at a time"}),
        ("--sram", {"type": int, "help": "limit of the arena; without, the smallest is sought"}),
        ("--slowdown", {"type": float, "default": 1.3, "help": "predicted, of the smallest patches"}),
        ("--most-arena", {"type": int, "required": True, "help": "bytes, the input's not counted"}),
        ("--most-work", {"type": float, "default": 1.3, "help": "multiply-accumulates over the plain plan's"}),
        ("--most-instructions", {"type": float, "default": 1.5, "help": "over the plain plan's"}),
        ("--option", {"action": "append", "default": [], "help": "of every conversion"}))))
