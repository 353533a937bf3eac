#!/usr/bin/env python3
"""model_test.py --tenon T --runner R --board B MODEL [OPTION...]: one model, converted for the board,
runs there with the same bits as it does here with the portable kernels. Limits of the board's memory
(--board-option) are the board's alone: here the model runs whole, which is as good to compare with.

Its memory besides arenas is held to its limit on the way. Inputs: the model's own sample where there
is one (--sample), and numbers of a fixed sequence. Exit status 77: skipped, with the reason."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import firmware
import instruction_bound_test


def state_limit(plan):
    """Bytes of memory besides the arenas: 1 KB and 32 per tensor."""
    return 1024 + 32 * len(plan["tensors"])


def compare(options, plan, board_plan, host_plan, inputs, folder):
    """Runs on the board and here; gives what is wrong, and the board's report."""
    ports = plan["inputs"]
    here = folder / "here"
    here.mkdir(exist_ok=True)
    named = [f"{port['name']}={path}" for port, path in zip(ports, inputs)]
    firmware.call([options.tenon, "run", host_plan, "--output-dir", here,
                   *[word for pair in named for word in ("--input", pair)]])
    outputs = [folder / f"output_{i}.bin" for i in range(len(plan["outputs"]))]
    report = firmware.run_on_board(options.board, options.runner, board_plan, inputs, outputs)
    wrong = []
    # Files have the names of the outputs, with other characters for those that paths cannot have.
    written = {path.name: path for path in here.iterdir()}
    for i, port in enumerate(plan["outputs"]):
        if len(plan["outputs"]) == 1:
            (expected,) = written.values()
        else:
            expected = written[port["name"].replace("/", "_") + ".npy"]
        if outputs[i].read_bytes() != firmware.read_npy(expected):
            wrong.append(f"{port['name']}: the bits differ from those of the portable kernels here")
    return wrong, report


def test(options, folder):
    convert_options = options.option
    host_board = firmware.portable_board(options.board, folder)
    host_plan, board_plan = folder / "here.tenon", folder / "board.tenon"
    firmware.convert(options.tenon, options.model, host_board, host_plan, convert_options)
    report_path = folder / "report.json"
    firmware.convert(options.tenon, options.model, options.board, board_plan,
                     [*convert_options, *options.board_option, "--json", report_path])
    plan = firmware.inspect(options.tenon, board_plan)

    input_sets = []
    for seed in range(1, 3):
        paths = [folder / f"input_{i}.npy" for i in range(len(plan["inputs"]))]
        paths = [path.with_name(f"{seed}_{path.name}") for path in paths]
        for port, path in zip(plan["inputs"], paths):
            firmware.random_input(port, seed, path)
        input_sets.append(paths)
    if options.sample:
        sample = folder / "sample.npy"
        sample.write_bytes(pathlib.Path(options.sample).read_bytes())
        input_sets.append([sample])

    wrong = []
    for inputs in input_sets:
        found, report = compare(options, plan, board_plan, host_plan, inputs, folder)
        wrong += found
    if options.arenas and len(plan["arenas"]) != options.arenas:
        wrong.append(f"the plan has {len(plan['arenas'])} arenas, expected {options.arenas}")
    state, limit = report.plan_state + report.session_state, state_limit(plan)
    print(f"{len(plan['ops'])} ops, {len(input_sets)} inputs: same as here; arenas {report.arenas}, "
          f"plan and session {state} of {limit} bytes, scratch {report.scratch}, "
          f"stack {report.stack}")
    if state > limit:
        wrong.append(f"the states take {state} bytes, and may {limit}")
    if options.bound:
        wrong += instruction_bound_test.check(options, board_plan, report_path)
    if any(arena["bytes"] != report.arenas[arena["space"]] for arena in plan["arenas"]):
        wrong.append(f"the arenas are not the plan's: {plan['arenas']}")
    return wrong


if __name__ == "__main__":
    sys.exit(firmware.run_test(test, firmware.test_arguments(
        ("--sample", {"help": "a .npy file of the model's input, if it is there"}),
        ("--arenas", {"type": int, "help": "that the plan must have"}),
        ("--bound", {"action": "store_true", "help": "as instruction_bound_test.py"}),
        ("--option", {"action": "append", "default": [], "help": "of convert"}),
        ("--board-option", {"action": "append", "default": [], "help": "of convert for the board"}))))
