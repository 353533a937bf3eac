"""`tenon profile --self-test`, the bring-up test of a board.

usage: self_test_test.py TENON BINARY_DIR
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TENON = os.path.abspath(sys.argv[1])
SIMULATED = pathlib.Path(sys.argv[2]).resolve() / "fpga-sim"
ACCELERATOR = SIMULATED / "share" / "tenon" / "accelerator.so"
LOOPBACK = SIMULATED / "share" / "tenon" / "loopback.xclbin"


class SelfTestTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.found = pathlib.Path(folder.name) / "found.json"

    def self_test(self, board, *arguments, **environment):
        command = [TENON, "profile", "--board", board, "--self-test", "-o", str(self.found),
                   "--test-memory", "256K", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=300,
                              env={**os.environ, **environment})

    def backends(self):
        return json.loads(self.found.read_text())["backends"]

    def test_the_processors_ops_and_memory_are_right(self):
        result = self.self_test("x86-64")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("cpu: passed", result.stdout)
        (cpu,) = self.backends()
        self.assertEqual(cpu["memory"]["wrong_bytes"], 0)
        self.assertEqual(cpu["memory"]["bytes"], 256 << 10)
        self.assertGreater(cpu["memory"]["read_bytes_per_s"], 0)
        kinds = {kind["kind"]: kind for kind in cpu["ops"]}
        self.assertLessEqual({"conv", "matmul", "quantized_conv", "softmax", "copy", "cum_sum"},
                             set(kinds))
        for kind in kinds.values():
            self.assertGreater(kind["right"], 0, kind)
            self.assertEqual(kind["wrong"] + kind["failed"] + kind["elsewhere"], 0, kind)

    def test_a_backend_that_the_board_lacks_is_a_mistake(self):
        result = self.self_test("x86-64", "--backend", "opencl")
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("has no backend 'opencl'", result.stderr)
        self.assertFalse(self.found.exists())

    def test_a_profile_still_needs_a_file(self):
        result = subprocess.run([TENON, "profile", "--board", "x86-64"], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertIn("-o is needed", result.stderr)

    def test_a_device_that_is_not_there_is_exit_status_5(self):
        if "opencl" not in sys.argv:
            self.skipTest("this build has no OpenCL backend")
        result = self.self_test("x86-64-opencl", "--backend", "opencl",
                                TENON_OPENCL_DEVICE="no such device")
        self.assertEqual(result.returncode, 5, result.stdout)
        self.assertIn("no such device", result.stderr)
        (opencl,) = self.backends()
        self.assertFalse(opencl["passed"])

    @unittest.skipUnless(LOOPBACK.exists(), "this build has no simulated board")
    def test_a_board_without_its_accelerator_has_sound_memory_and_wrong_ops(self):
        result = self.self_test("x86-64-fpga", "--backend", "fpga", XILINX_XRT=str(SIMULATED),
                                TENON_FPGA_XCLBIN=str(LOOPBACK))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("backend 'fpga' failed its self-test", result.stderr)
        (fpga,) = self.backends()
        self.assertEqual(fpga["failure"], "")
        self.assertEqual(fpga["memory"]["wrong_bytes"], 0)
        self.assertGreater(sum(kind["failed"] for kind in fpga["ops"]), 0)

    @unittest.skipUnless(ACCELERATOR.exists(), "this build has no simulated board")
    def test_the_simulated_board_runs_every_op_of_the_accelerator_right(self):
        result = self.self_test("x86-64-fpga", "--backend", "fpga", XILINX_XRT=str(SIMULATED))
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        (fpga,) = self.backends()
        kinds = {kind["kind"]: kind for kind in fpga["ops"]}
        for kind in ("lookup", "max_pool", "quantized_conv", "quantized_matmul",
                     "quantized_binary", "quantized_average_pool", "quantized_reduce"):
            self.assertGreater(kinds[kind]["right"], 0, kind)
        self.assertEqual(kinds["conv"]["right"], 0)
        self.assertIn("fpga", kinds["conv"]["reason"])
        self.assertGreater(fpga["counters"]["cycles"], 0)

    @unittest.skipUnless(LOOPBACK.exists(), "this build has no simulated board")
    def test_a_board_that_is_lost_is_exit_status_5(self):
        result = self.self_test("x86-64-fpga", "--backend", "fpga", XILINX_XRT=str(SIMULATED),
                                TENON_FPGA_XCLBIN=str(LOOPBACK),
                                TENON_FPGA_SIM_FAULT="wrong-uuid")
        self.assertEqual(result.returncode, 5, result.stdout)
        self.assertIn("no accelerator to be had", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
