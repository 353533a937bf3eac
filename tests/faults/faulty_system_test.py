#!/usr/bin/env python3
"""The runtime where the system gives no threads, short reads, and a clock that people set.

usage: faulty_system_test.py PROGRAM TENON
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

PROGRAM = os.path.abspath(sys.argv[1])
TENON = os.path.abspath(sys.argv[2])


class FaultySystem(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        weights = onnx.tensor("w", [8, 3, 3, 3], [0.1 * (i % 5 - 2) for i in range(216)])
        model = onnx.model([onnx.node("Conv", ["x", "w"], ["c"]), onnx.node("Relu", ["c"], ["y"])],
                           [onnx.value("x", [1, 3, 16, 16])], [onnx.value("y", [1, 8, 14, 14])], [weights])
        (self.path / "net.onnx").write_bytes(model)
        subprocess.run([TENON, "convert", "net.onnx", "-o", "net.tenon", "--board", "x86-64", "-q"],
                       cwd=self.path, check=True)

    def tries(self, fault):
        result = subprocess.run([PROGRAM, "net.tenon", fault], cwd=self.path, capture_output=True, text=True)
        print(result.stdout.strip())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_any_one_thread_that_cannot_be_made_ends_in_a_status_or_in_fewer_threads(self):
        self.assertIn("threads could not be made one by one", self.tries("threads"))

    def test_files_that_come_in_pieces_and_interrupted_reads_give_the_same_values(self):
        self.tries("reads")

    def test_nothing_that_waits_asks_for_the_time_of_day(self):
        self.assertIn(" 0 times of day", self.tries("clock"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
