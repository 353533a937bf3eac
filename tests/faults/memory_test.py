"""Commands with large arrays and large weights: what they hold of them at once.

usage: memory_test.py TENON
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

from forged_plans import with_number

TENON = os.path.abspath(sys.argv[1])
SIDE = 8192  # 64 MiB of bytes: as doubles they would be 512
ARRAY = SIDE * SIDE
# Libraries, threads and tables.
BESIDES = 100 << 20
DEPTH = 4096
OUTPUTS = 4096
WEIGHTS = 4 * DEPTH * OUTPUTS


class Measured(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def memory(self, *arguments):
        """The most that the command held at once."""
        process = subprocess.Popen([TENON, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024


class LargeArrays(Measured):
    def setUp(self):
        super().setUp()
        model = onnx.model([onnx.node("Expand", ["x", "shape"], ["y"])],
                           [onnx.value("x", [1], onnx.BOOL)],
                           [onnx.value("y", [SIDE, SIDE], onnx.BOOL)],
                           [onnx.tensor("shape", [2], [SIDE, SIDE], onnx.INT64)])
        (self.folder / "model.onnx").write_bytes(model)
        self.memory("convert", "model.onnx", "-o", "plan.tenon", "--board", "x86-64")

    def test_an_output_is_held_twice_in_the_arena_and_beside_it(self):
        used = self.memory("run", "plan.tenon", "--zeros", "--output-dir", "outputs")
        self.assertLess(used, 2 * ARRAY + BESIDES)
        self.assertGreater((self.folder / "outputs" / "y.npy").stat().st_size, ARRAY)

    def test_an_expectation_is_held_once_more(self):
        self.memory("run", "plan.tenon", "--zeros", "--output-dir", "outputs")
        used = self.memory("run", "plan.tenon", "--zeros", "--expect", "y=outputs/y.npy")
        self.assertLess(used, 3 * ARRAY + BESIDES)

    def test_of_an_arena_that_is_too_large_what_ops_use_is_held(self):
        model = onnx.model([onnx.node("Transpose", ["x"], ["y"], perm=[1, 0])],
                           [onnx.value("x", [3, 37])], [onnx.value("y", [37, 3])])
        (self.folder / "small.onnx").write_bytes(model)
        self.memory("convert", "small.onnx", "-o", "small.tenon", "--board", "x86-64", "--decisions", "off")
        plan = (self.folder / "small.tenon").read_bytes()
        shown = subprocess.run([TENON, "inspect", "small.tenon", "--json"], cwd=self.folder,
                               capture_output=True, check=True).stdout
        arena = json.loads(shown)["arenas"][0]["bytes"]
        (self.folder / "small.tenon").write_bytes(with_number(plan, arena, 4 << 30))
        for command in [("inspect", "small.tenon"), ("run", "small.tenon", "--zeros"), ("diff", "small.tenon")]:
            self.assertLess(self.memory(*command), BESIDES, command)


class LargeWeights(Measured):
    def convert(self, rows):
        """Converts a product of so many rows; returns the most that this held at once."""
        random.seed(1)
        # In parts and beside the model: a child begins with the most that its parent ever held.
        with open(self.folder / "w.bin", "wb") as file:
            for _ in range(DEPTH):
                # Small numbers of every sign: bytes of floats between 2^-15 and 2^-14.
                row = bytearray(random.randbytes(4 * OUTPUTS))
                row[3::4] = b"\x38" * OUTPUTS
                file.write(row)
        (self.folder / "model.onnx").write_bytes(onnx.model(
            [onnx.node("MatMul", ["x", "w"], ["y"])], [onnx.value("x", [rows, DEPTH])],
            [onnx.value("y", [rows, OUTPUTS])],
            [onnx.external_tensor("w", [DEPTH, OUTPUTS], "w.bin")]))
        return self.memory("convert", "model.onnx", "-o", "plan.tenon", "--board", "x86-64", "-q")

    def test_a_conversion_holds_them_twice_as_model_and_as_plan(self):
        self.assertLess(self.convert(rows=1), 2.5 * WEIGHTS)

    def test_a_run_of_a_few_rows_and_a_check_hold_them_once(self):
        self.convert(rows=3)
        for command in [("run", "plan.tenon", "--zeros"), ("check", "plan.tenon")]:
            self.assertLess(self.memory(*command), 1.5 * WEIGHTS, command)

    def test_a_bench_holds_no_more_than_a_run_on_any_threads(self):
        self.convert(rows=16)
        run = self.memory("run", "plan.tenon", "--zeros")
        for threads in ["1", "2"]:
            bench = self.memory("bench", "plan.tenon", "--iterations", "1", "--warmup", "0", "--threads", threads)
            self.assertLess(bench, 1.25 * run)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
