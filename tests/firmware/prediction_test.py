#!/usr/bin/env python3
"""prediction_test.py --tenon T --runner R --board B --off SHARE MODEL: what a plan in patches takes over
a plain one is predicted within SHARE of what is counted on the board.

That is what --most-slowdown is worth. Exit status 77: skipped, with the reason."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import firmware

MOST_SLOWDOWN = 1.3


def times(options, words, folder):
    """Of the plan made with these options: predicted milliseconds, instructions counted, ops."""
    plan_path, report_path = folder / "model.tenon", folder / "report.json"
    firmware.convert(options.tenon, options.model, options.board, plan_path,
                     [*words, "--json", report_path])
    plan = firmware.inspect(options.tenon, plan_path)
    inputs = [folder / f"input_{i}.npy" for i in range(len(plan["inputs"]))]
    for port, path in zip(plan["inputs"], inputs):
        firmware.random_input(port, 1, path)
    outputs = [folder / f"output_{i}.bin" for i in range(len(plan["outputs"]))]
    report = firmware.run_on_board(options.board, options.runner, plan_path, inputs, outputs, ops=True)
    predicted = json.loads(report_path.read_text())["predicted"]["latency_ms"]
    return predicted, report.instructions, len(plan["ops"])


def test(options, folder):
    plain = times(options, ["--split=off"], folder)
    patched = times(options, ["--objective=memory", f"--most-slowdown={MOST_SLOWDOWN}"], folder)
    predicted, counted = patched[0] / plain[0], patched[1] / plain[1]
    print(f"{plain[2]} ops plain, {patched[2]} in patches: predicted {predicted:.3f} times as long, "
          f"counted {counted:.3f}")
    wrong = []
    if patched[2] <= 2 * plain[2]:
        wrong.append("the plan in patches has hardly any")
    if predicted > MOST_SLOWDOWN:
        wrong.append(f"predicted above --most-slowdown={MOST_SLOWDOWN}")
    if abs(counted / predicted - 1) > options.off:
        wrong.append(f"the prediction is off by more than {options.off}: tests/bench/fit_board.py "
                     "fits the board's figures again")
    return wrong


if __name__ == "__main__":
    sys.exit(firmware.run_test(test, firmware.test_arguments(
        ("--off", {"type": float, "required": True, "help": "share of the prediction"}))))
