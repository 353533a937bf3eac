#!/usr/bin/env python3
"""stream_test.py --tenon T --runner R --board B MODEL --most-arena BYTES: a model with state runs on the
board step by step, with the bits that LiteRT's reference kernels gave for each step, and for steps of
random bytes with those of the portable kernels here.

Steps and LiteRT's results are the sample files beside the model (NAME.input_0.npy, NAME.output_0.npy).
Exit status 77: skipped, with the reason."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import firmware


RANDOM_STEPS = 60


def random_steps(options, plan, samples, folder):
    """Writes random steps to `samples`; what the portable kernels here make of them."""
    (port,) = plan["inputs"]
    shape = [RANDOM_STEPS, *port["shape"]]
    firmware.random_input({"dtype": port["dtype"], "shape": shape}, 1, samples)
    host_plan, here = folder / "here.tenon", folder / "here"
    firmware.convert(options.tenon, options.model, firmware.portable_board(options.board, folder),
                     host_plan)
    firmware.call([options.tenon, "run", host_plan, "--steps", RANDOM_STEPS, "--input",
                   f"{port['name']}={samples}", "--output-dir", here])
    (written,) = here.iterdir()
    return firmware.read_npy(written)


def differing(found, expected, bytes_of_step):
    return [f"step {at // bytes_of_step}: the bits differ"
            for at in range(0, len(expected), bytes_of_step)
            if found[at:at + bytes_of_step] != expected[at:at + bytes_of_step]]


def test(options, folder):
    model = pathlib.Path(options.model)
    plan_path = folder / "model.tenon"
    firmware.convert(options.tenon, model, options.board, plan_path)
    plan = firmware.inspect(options.tenon, plan_path)
    samples, output = folder / "steps.npy", folder / "output.bin"
    samples.write_bytes(model.with_suffix(".input_0.npy").read_bytes())
    expected = firmware.read_npy(model.with_suffix(".output_0.npy"))
    (port,) = plan["outputs"]
    bytes_of_step = firmware.elements(port["shape"])  # of one byte each
    steps = len(expected) // bytes_of_step
    report = firmware.run_steps(options.board, options.runner, plan_path, samples, output, steps)
    wrong = differing(output.read_bytes(), expected, bytes_of_step)
    random = random_steps(options, plan, samples, folder)
    firmware.run_steps(options.board, options.runner, plan_path, samples, output, RANDOM_STEPS)
    wrong += differing(output.read_bytes(), random, bytes_of_step)
    state = sum(entry["bytes"] for entry in plan["states"])
    print(f"{steps} steps as LiteRT, {RANDOM_STEPS} random ones as here, with "
          f"{len(set(expected))} and {len(set(random))} values; {len(plan['ops'])} ops, {state} bytes "
          f"of state; arenas "
          f"{report.arenas}, plan and session {report.plan_state + report.session_state}")
    if not plan["states"] or len(set(expected + random)) < 2:
        wrong.append("it has no state, or its outputs never change: it shows nothing")
    if sum(report.arenas.values()) > options.most_arena:
        wrong.append(f"the arenas take more than {options.most_arena} bytes")
    return wrong


if __name__ == "__main__":
    sys.exit(firmware.run_test(test, firmware.test_arguments(
        ("--most-arena", {"type": int, "required": True, "help": "bytes"}))))
