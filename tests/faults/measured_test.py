"""`tenon convert --order=measured` with targets that work, fail, hang and lie.

usage: measured_test.py TENON
"""
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"

# Latency by the plan's bytes; what it was asked goes to a file, a line per call.
BY_HASH = """
import hashlib, json, sys
assert sys.argv[1] == "bench", sys.argv
digest = hashlib.sha256(open(sys.argv[2], "rb").read()).hexdigest()
open("asked.txt", "a").write(digest + "\\n")
ms = {ms}
print("latency ms: for people")
print(json.dumps({{"latency_ms": {{"min": ms, "median": ms, "p99": ms}}}}))
"""


def branches():
    """In the model's order all branches are wide at once; another needs one wide tensor at a time."""
    kinds = ["Exp", "Tanh", "Neg", "Abs", "Sigmoid"]
    wide = [onnx.node(kind, ["x"], [f"wide_{kind}"]) for kind in kinds]
    narrow = [onnx.node("GlobalAveragePool", [f"wide_{kind}"], [f"narrow_{kind}"]) for kind in kinds]
    join = onnx.node("Concat", [f"narrow_{kind}" for kind in kinds], ["y"], axis=1)
    return onnx.model([*wide, *narrow, join], [onnx.value("x", [1, 4, 32, 32])],
                      [onnx.value("y", [1, 4 * len(kinds), 1, 1])])


def latency(digest):
    return 1 + int(digest[:8], 16) / 2**32


class MeasuredTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "tmp").mkdir()
        (self.folder / "m.onnx").write_bytes(branches())

    def command(self, *arguments):
        # The plans that the target is asked for say nothing of decisions.
        return [TENON, "convert", "m.onnx", "-o", "m.tenon", "--board", "x86-64", "--decisions=off", *arguments]

    def environment(self):
        return {**os.environ, "TMPDIR": str(self.folder / "tmp")}

    def convert(self, *arguments):
        result = subprocess.run(self.command(*arguments), cwd=self.folder, capture_output=True, text=True,
                                timeout=300, env=self.environment())
        self.assertEqual(os.listdir(self.folder / "tmp"), [])
        return result

    def measure(self, *arguments):
        """Expects success; returns what the report says of the orders, and standard output."""
        result = self.convert("--order", "measured", "--json", "m.json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads((self.folder / "m.json").read_text())["order"]["measured"], result.stdout

    def target(self, text):
        (self.folder / "target.py").write_text(text)
        return f"{shlex.quote(sys.executable)} target.py"

    def by_hash(self, ms):
        return self.target(BY_HASH.format(ms=ms))

    def asked(self):
        return (self.folder / "asked.txt").read_text().split()

    def digest(self):
        return hashlib.sha256((self.folder / "m.tenon").read_bytes()).hexdigest()

    def refused(self, status, word, *arguments):
        result = self.convert(*arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertTrue(result.stderr.startswith("tenon: error: "), result.stderr)
        self.assertIn(word, result.stderr)
        self.assertFalse((self.folder / "m.tenon").exists())
        return result.stderr

    def test_the_plan_is_the_one_that_the_target_ran_fastest(self):
        chosen = set()
        for ms in ["1 + int(digest[:8], 16) / 2**32", "2 - int(digest[:8], 16) / 2**32"]:
            (self.folder / "asked.txt").unlink(missing_ok=True)
            orders, output = self.measure("--target", self.by_hash(ms))
            asked = set(self.asked())
            self.assertGreater(len(asked), 2, "the model has several orders")
            ranked = min if ms.startswith("1") else max
            self.assertEqual(self.digest(), ranked(asked, key=latency))
            kept = [order for order in orders if order["chosen"]]
            self.assertEqual(len(kept), 1)
            self.assertEqual(kept[0]["ms"], min(order["ms"] for order in orders))
            self.assertIn(f"{kept[0]['ms']:.4f} ms on the target", output)
            chosen.add(self.digest())
        self.assertEqual(len(chosen), 2, "the figures decide, not the orders")

    def test_candidates_are_the_search_the_source_and_seeds_from_the_one_given(self):
        orders, _ = self.measure("--target", self.by_hash("1"), "--seed", "40")
        self.assertEqual([order["order"] for order in orders],
                         ["search", "source"] + 2 * ["random"] + 2 * ["proposed"])
        self.assertEqual([order["seed"] for order in orders[2:]], [40, 41, 42, 43])
        self.assertEqual(set(orders[0]), {"order", "seed", "ms", "arena_bytes", "chosen"})

    def test_proposals_follow_from_the_times_and_repeat_with_them(self):
        found = []
        for ms in ["1 + int(digest[:8], 16) / 2**32", "1 + int(digest[:8], 16) / 2**32",
                   "2 - int(digest[:8], 16) / 2**32"]:
            (self.folder / "asked.txt").unlink(missing_ok=True)
            orders, _ = self.measure("--target", self.by_hash(ms), "--measure-orders", "12")
            proposed = [order for order in orders if order["order"] == "proposed"]
            self.assertEqual(len(proposed), 5)
            for number, order in enumerate(orders):
                self.assertEqual("varies" in order, order["order"] == "proposed")
                if "varies" in order:
                    earlier = [one["ms"] for one in orders[:number] if one["ms"] is not None]
                    self.assertEqual(orders[order["varies"]]["ms"], min(earlier))
            self.assertLess(sum("same_as" in order for order in proposed), 5, "some are new")
            found.append(self.asked())
        self.assertEqual(found[0], found[1])
        self.assertNotEqual(found[0], found[2])

    def test_plans_are_measured_by_turns_and_equal_ones_once(self):
        orders, output = self.measure("--target", self.by_hash("1"), "--measure-orders", "40")
        distinct = [order for order in orders if "same_as" not in order]
        self.assertEqual(len(orders), 40)
        asked = self.asked()
        turn = asked[:len(distinct)]
        self.assertEqual(len(set(turn)), len(distinct))
        self.assertEqual(asked, 3 * turn)
        for number, order in enumerate(orders):
            if "same_as" in order:
                self.assertLess(order["same_as"], number)
                self.assertEqual(order["ms"], orders[order["same_as"]]["ms"])
                self.assertIn(f"the same plan as order {order['same_as'] + 1}\n", output)

    def test_two_orders_of_a_chain_are_one_plan(self):
        nodes = [onnx.node("Exp", ["x"], ["t"]), onnx.node("Neg", ["t"], ["y"])]
        (self.folder / "m.onnx").write_bytes(
            onnx.model(nodes, [onnx.value("x", [1, 8])], [onnx.value("y", [1, 8])]))
        orders, _ = self.measure("--target", self.by_hash("1"))
        self.assertEqual([order.get("same_as") for order in orders], [None] + 5 * [0])
        self.assertEqual(len(self.asked()), 3)

    def test_among_equals_the_smallest_arena_is_kept(self):
        orders, _ = self.measure("--target", self.by_hash("1"))
        kept = next(order for order in orders if order["chosen"])
        self.assertEqual(kept["arena_bytes"], min(order["arena_bytes"] for order in orders))
        self.assertLess(kept["arena_bytes"], max(order["arena_bytes"] for order in orders))

    def test_an_order_over_the_memory_limit_is_dropped_however_fast(self):
        orders, _ = self.measure("--target", self.by_hash("1"))
        limit = min(order["arena_bytes"] for order in orders)
        orders, output = self.measure("--target", self.by_hash("1"), "--split", "off", "--memory-limit",
                                      f"ram={limit}")
        dropped = [order for order in orders if "dropped" in order]
        self.assertGreater(len(dropped), 0)
        for order in dropped:
            self.assertIsNone(order["ms"])
            self.assertIsNone(order["arena_bytes"])
            self.assertFalse(order["chosen"])
        self.assertIn("dropped: ", output)
        for order in orders:
            self.assertTrue("dropped" in order or order["arena_bytes"] <= limit)

    def test_a_model_that_fits_in_no_order_is_refused_as_ever(self):
        self.refused(4, "ram", "--order", "measured", "--target", self.by_hash("1"), "--split", "off",
                     "--memory-limit", "ram=64")

    def test_the_plan_says_how_its_order_came_about(self):
        self.measure("--target", self.by_hash("1"))
        result = subprocess.run([TENON, "inspect", "m.tenon", "--json"], cwd=self.folder,
                                capture_output=True, text=True, timeout=60)
        options = json.loads(result.stdout)["options"]
        text = json.dumps(options)
        for word in ["measured", "measure-orders", "seed"]:
            self.assertIn(word, text)
        self.assertNotIn("target.py", text)

    def test_without_a_command_this_machine_is_measured(self):
        orders, output = self.measure("--measure-orders", "2")
        self.assertTrue(all(order["ms"] > 0 for order in orders))
        self.assertIn("ms on this machine", output)

    def test_a_command_that_runs_tenon_is_a_target(self):
        orders, _ = self.measure("--target", shlex.quote(TENON), "--measure-orders", "2")
        self.assertTrue(all(order["ms"] > 0 for order in orders))

    def test_an_emulated_tenon_is_a_target(self):
        emulator = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
        if emulator is None:
            self.skipTest("qemu-x86_64 is not installed")
        libraries = subprocess.run(["ldd", TENON], capture_output=True, text=True).stdout
        if "libasan" in libraries or "libtsan" in libraries:
            self.skipTest("an emulator has no room for what sanitizers note of memory")
        orders, _ = self.measure("--target", f"{emulator} -cpu max {shlex.quote(TENON)}",
                                 "--measure-orders", "2")
        self.assertTrue(all(order["ms"] > 0 for order in orders))

    def test_without_a_target_only_boards_that_this_machine_is_are_measured(self):
        command = self.command("--order", "measured")
        command[command.index("x86-64")] = "cortex-m55"
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("its processor is cortex-m", result.stderr)

    def test_a_command_that_fails_is_told_with_its_words(self):
        target = self.target("import sys; print('no such board', file=sys.stderr); sys.exit(3)")
        self.refused(5, "no such board", "--order", "measured", "--target", target)
        self.refused(5, "status 127", "--order", "measured", "--target", "./no-such-command")

    def test_a_command_that_hangs_is_ended(self):
        start = time.monotonic()
        self.refused(5, "longer than 1 s", "--order", "measured", "--target", "sleep 200; true",
                     "--target-timeout", "1")
        self.assertLess(time.monotonic() - start, 60)

    def test_a_command_that_prints_rubbish_is_refused(self):
        for text in ["", "hello", "{}", '{"latency_ms": {"min": 0, "median": 0}}',
                     '{"latency_ms": {"min": -1, "median": 2}}', '{"latency_ms": "fast"}']:
            target = self.target(f"print({text!r})")
            self.refused(5, "the target printed", "--order", "measured", "--target", target)

    def test_an_end_by_signal_leaves_no_file_and_no_command(self):
        target = self.target("import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(200)")
        process = subprocess.Popen(self.command("--order", "measured", "--target", f"exec {target}"),
                                   cwd=self.folder, env=self.environment(), stderr=subprocess.DEVNULL)
        pid = self.folder / "pid"
        deadline = time.monotonic() + 60
        while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(len(os.listdir(self.folder / "tmp")), 1)
        process.terminate()
        self.assertEqual(process.wait(60), -signal.SIGTERM)
        self.assertEqual(os.listdir(self.folder / "tmp"), [])
        self.assertFalse((self.folder / "m.tenon").exists())
        stat = pathlib.Path("/proc") / pid.read_text() / "stat"
        while time.monotonic() < deadline:
            try:
                if stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    return
            except (FileNotFoundError, ProcessLookupError):
                return
            time.sleep(0.02)
        self.fail("the target's command still runs")

    def test_options_of_measuring_need_a_measured_order(self):
        for option in [("--target", "tenon"), ("--target-timeout", "5"), ("--measure-orders", "3")]:
            self.refused(2, f"{option[0]} needs --order=measured", *option)
            self.refused(2, option[0], *option, "--order", "random")
        for option in [("--target", ""), ("--target-timeout", "0"), ("--measure-orders", "0")]:
            self.refused(2, option[0], "--order", "measured", *option)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
