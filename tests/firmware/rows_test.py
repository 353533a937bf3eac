#!/usr/bin/env python3
"""rows_test.py --tenon T --runner R --board B MODEL --input NAME --rows N --most-arena BYTES
[--most-work F] [--most-instructions F] [--option OPTION]...: a network whose input is handed in by rows
while it runs gives the bits that the portable kernels give here, in an arena of so many bytes, and does
at most so many times the multiply-accumulates and counted instructions of its plain plan.

Exit status 77: skipped, with the reason."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import firmware

SMALLEST = ("--memory-limit=dtcm=0", "--objective=memory", "--most-slowdown=1.3")


def work_of(plan):
    return sum(firmware.multiplies(plan, op) for op in plan["ops"])


def compare(options, described, plans, seed, folder):
    """Runs the plain plan and the one by rows on the board, and the former with the portable kernels
    here; gives what is wrong, and the board's reports of both."""
    (port,) = described["inputs"]
    sample, here = folder / f"input_{seed}.npy", folder / f"here_{seed}"
    firmware.random_input(port, seed, sample)
    firmware.call([options.tenon, "run", plans["portable"], "--output-dir", here,
                   "--input", f"{port['name']}={sample}"])
    (written,) = here.iterdir()
    expected, reports, wrong = firmware.read_npy(written), {}, []
    for name in ("plain", "rows"):
        output = folder / f"{name}_{seed}.bin"
        reports[name] = firmware.run_on_board(options.board, options.runner, plans[name], [sample],
                                              [output], ticks=True)
        if output.read_bytes() != expected:
            wrong.append(f"{name}: the bits differ from those of the portable kernels here")
    if len(set(expected)) < 2:
        wrong.append("all bytes of the output are equal: it shows nothing")
    return wrong, reports


def test(options, folder):
    plans = {name: folder / f"{name}.tenon" for name in ("portable", "plain", "rows")}
    firmware.convert(options.tenon, options.model, firmware.portable_board(options.board, folder),
                     plans["portable"], options.option)
    firmware.convert(options.tenon, options.model, options.board, plans["plain"], options.option)
    firmware.convert(options.tenon, options.model, options.board, plans["rows"],
                     [*options.option, *SMALLEST, f"--input-from={options.input}=rows:{options.rows}"])
    plain, by_rows = (firmware.inspect(options.tenon, plans[name]) for name in ("plain", "rows"))
    wrong = []
    for seed in (1, 2):
        found, reports = compare(options, by_rows, plans, seed, folder)
        wrong += found
    arenas = {name: bytes for name, bytes in reports["rows"].arenas.items()
              if not name.startswith("rows:")}
    instructions = [reports[name].instructions for name in ("plain", "rows")]
    work = work_of(by_rows) / work_of(plain)
    ratio = instructions[1] / instructions[0]
    print(f"by rows as here; arenas {arenas}, plain {reports['plain'].arenas}; multiply-accumulates "
          f"{work:.3f} times, instructions {instructions[1]} of {instructions[0]}: {ratio:.3f} times")
    if len(by_rows["arenas"]) != len(arenas) + 1:
        wrong.append(f"the input has no arena of its own: {by_rows['arenas']}")
    for what, found, most in (("arenas", sum(arenas.values()), options.most_arena),
                              ("multiply-accumulates", work, options.most_work),
                              ("instructions", ratio, options.most_instructions)):
        if found > most:
            wrong.append(f"{what}: {found}, and may be {most}")
    return wrong


if __name__ == "__main__":
    sys.exit(firmware.run_test(test, firmware.test_arguments(
        ("--input", {"required": True, "help": "its name"}),
        ("--rows", {"type": int, "required": True, "help": "handed in at a time"}),
        ("--most-arena", {"type": int, "required": True, "help": "bytes, the input's not counted"}),
        ("--most-work", {"type": float, "default": 1.3, "help": "multiply-accumulates over the plain plan's"}),
        ("--most-instructions", {"type": float, "default": 1.5, "help": "over the plain plan's"}),
        ("--option", {"action": "append", "default": [], "help": "of every conversion"}))))
