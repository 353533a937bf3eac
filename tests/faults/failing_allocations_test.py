#!/usr/bin/env python3
"""The runtime library alone where the n-th allocation fails, for every n: no abort before main, and
statuses from then on.

usage: failing_allocations_test.py PROGRAM PROGRAM_ALONE TENON [--step N]

PROGRAM links what every backend needs: oneDNN and XRT allocate in constructors of their own, and end
the process there. PROGRAM_ALONE has all of the runtime and the CPU's own kernels, and no such library.
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
ALONE = os.path.abspath(sys.argv[2])
TENON = os.path.abspath(sys.argv[3])
STEP = sys.argv[sys.argv.index("--step") + 1] if "--step" in sys.argv else "1"


class FailingAllocationsTest(unittest.TestCase):
    def test_static_constructors_of_the_runtime_survive_every_failing_allocation(self):
        count = int(subprocess.run([ALONE], capture_output=True, check=True, text=True).stdout)
        print(f"{count} allocations before main")
        for number in range(1, count + 1):
            result = subprocess.run([ALONE], env=dict(os.environ, TENON_FAIL_AT=str(number)),
                                    capture_output=True, text=True)
            # 127: the dynamic loader has said that it has no memory, in words.
            with self.subTest(number=number):
                self.assertIn(result.returncode, (0, 127), result.stderr)

    def test_every_allocation_of_open_run_and_close_may_fail(self):
        weights = onnx.tensor("w", [8, 3, 3, 3], [0.1] * 216)
        model = onnx.model([onnx.node("Conv", ["x", "w"], ["c"]), onnx.node("Relu", ["c"], ["y"])],
                           [onnx.value("x", [1, 3, 16, 16])], [onnx.value("y", [1, 8, 14, 14])],
                           [weights])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "net.onnx").write_bytes(model)
            subprocess.run([TENON, "convert", "net.onnx", "-o", "net.tenon", "--board", "x86-64",
                            "--threads", "2", "-q"], cwd=path, check=True)
            result = subprocess.run([PROGRAM, "net.tenon", STEP], cwd=path, capture_output=True,
                                    text=True)
        print(result.stdout.strip())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("failed one by one, 0 wrongly", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
