"""`tenon run` with large arrays: what it holds of them at once.

usage: memory_test.py TENON
"""
import json
import os
import pathlib
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


class MemoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        model = onnx.model([onnx.node("Expand", ["x", "shape"], ["y"])],
                           [onnx.value("x", [1], onnx.BOOL)],
                           [onnx.value("y", [SIDE, SIDE], onnx.BOOL)],
                           [onnx.tensor("shape", [2], [SIDE, SIDE], onnx.INT64)])
        (self.folder / "model.onnx").write_bytes(model)
        self.memory("convert", "model.onnx", "-o", "plan.tenon", "--board", "x86-64")

    def memory(self, *arguments):
        """The most that the command held at once."""
        process = subprocess.Popen([TENON, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
