#!/usr/bin/env python3
"""data_independence_test.py --tenon T --runner R --board B --runs N MODEL: an integer network runs as many
instructions for one input as for any other of N random ones, so that one run tells how long all take.

Exit status 77: skipped, with the reason."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import firmware


def test(options, folder):
    plan_path = folder / "model.tenon"
    firmware.convert(options.tenon, options.model, options.board, plan_path)
    plan = firmware.inspect(options.tenon, plan_path)
    least, most = firmware.run_on_random_inputs(options.board, options.runner, plan_path, plan,
                                                options.runs)
    print(f"{options.runs} inputs: {least} to {most} instructions")
    return [] if 0 < least == most else ["how many instructions run depends on the input"]


if __name__ == "__main__":
    sys.exit(firmware.run_test(test, firmware.test_arguments(("--runs", {"type": int, "required": True}))))
