#!/usr/bin/env python3
"""instruction_bound_test.py --tenon T --runner R --board B MODEL [--option OPTION]...: the instructions that
a plan says it takes at most are no fewer than those counted on the board, and at most 1.15 times as many.

Exit status 77: skipped, with the reason."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import firmware

MOST = 1.15  # bound over count


def check(options, plan_path, report_path):
    """Gives what is wrong with the bound of a plan and of its conversion's report."""
    plan = firmware.inspect(options.tenon, plan_path)
    bound = plan["instructions"]["most"]
    wrong = []
    if bound is None:
        return [f"no bound: nothing is known of {plan['instructions']['unknown']}"]
    if json.loads(report_path.read_text())["predicted"]["most_instructions"] != bound:
        wrong.append("the conversion's report has another bound than the plan")
    _, counted = firmware.run_on_random_inputs(options.board, options.runner, plan_path, plan, runs=2)
    print(f"{len(plan['ops'])} ops: counted {counted}, bound {bound}, {bound / counted:.3f} times as many")
    if not counted <= bound <= MOST * counted:
        wrong.append("not within bounds: tests/bench/fit_instructions.py fits the table again")
    return wrong


def test(options, folder):
    plan_path, report_path = folder / "model.tenon", folder / "report.json"
    firmware.convert(options.tenon, options.model, options.board, plan_path,
                     [*options.option, "--json", report_path])
    return check(options, plan_path, report_path)


if __name__ == "__main__":
    sys.exit(firmware.run_test(test, firmware.test_arguments(
        ("--option", {"action": "append", "default": [], "help": "of convert"}))))
