"""`tenon convert --state` and `tenon run --steps` as a user meets them.

usage: state_test.py TENON
"""
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"


def npy(shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{len(values)}f", *values))


def sums():
    """next = x + state, y = -next; `wide` is of another shape."""
    nodes = [onnx.node("Add", ["x", "state"], ["next"]), onnx.node("Neg", ["next"], ["y"]),
             onnx.node("Concat", ["x", "x"], ["wide"], axis=0)]
    return onnx.model(nodes, [onnx.value("x", [2]), onnx.value("state", [2])],
                      [onnx.value("next", [2]), onnx.value("y", [2]), onnx.value("wide", [4])])


class StateFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "sums.onnx").write_bytes(sums())
        (self.folder / "x.npy").write_bytes(npy("(3, 2)", [1, 10, 2, 20, 3, 30]))
        (self.folder / "y.npy").write_bytes(npy("(3, 2)", [-1, -10, -3, -30, -6, -60]))

    def tenon(self, *arguments):
        return subprocess.run([TENON, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=120)

    def convert(self, *options):
        return self.tenon("convert", "sums.onnx", "-o", "sums.tenon", "--board", "x86-64", *options)

    def done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def refused(self, words, result, status=2):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertTrue(result.stderr.startswith("tenon: error: "), result.stderr)
        self.assertIn(words, result.stderr)


class StateTest(StateFiles):
    def test_steps_find_what_the_step_before_has_left(self):
        self.done(self.convert("--state", "next=state"))
        self.done(self.tenon("run", "sums.tenon", "--steps", "3", "--input", "x=x.npy", "--expect",
                             "y=y.npy", "--rtol", "0", "--atol", "0", "--output-dir", "out"))
        self.assertEqual((self.folder / "out/y.npy").read_bytes(),
                         (self.folder / "y.npy").read_bytes())

    def test_state_is_no_port_and_inspection_shows_it(self):
        self.done(self.convert("--state", "next=state"))
        text = self.done(self.tenon("inspect", "sums.tenon"))
        self.assertIn("state state: f32[2], 8 bytes, begins with zeros", text)
        self.assertNotIn("input state", text)
        self.assertNotIn("output next", text)

    def test_without_the_option_they_are_ports(self):
        self.done(self.convert())
        self.refused("'state'", self.tenon("run", "sums.tenon", "--steps", "3", "--input",
                                           "x=x.npy"))

    def test_names_that_are_not_there_are_answered_with_those_that_are(self):
        self.refused("no output 'q' (it has next, y, wide)", self.convert("--state", "q=state"))
        self.refused("no input 'q' (it has x, state)", self.convert("--state", "next=q"))

    def test_what_does_not_fit_is_refused(self):
        self.refused("the output is f32[4], the input f32[2]",
                     self.convert("--state", "wide=state"))
        self.refused("tied already", self.convert("--state", "next=state", "--state", "y=state"))
        self.refused("keeps state", self.convert("--state", "next=state", "--parallel", "replicas",
                                                 "--threads", "2"))

    def test_arrays_without_a_dimension_of_steps_are_refused(self):
        self.done(self.convert("--state", "next=state"))
        self.refused("wants f32[4,2]", self.tenon("run", "sums.tenon", "--steps", "4", "--input",
                                                  "x=x.npy"), status=3)


def recurrent(size=16):
    """next = tanh(x w + state u), y = next v; random weights."""
    chance = random.Random(1)
    weights = [onnx.tensor(name, [size, size], [chance.uniform(-0.4, 0.4) for _ in range(size**2)])
               for name in "wuv"]
    nodes = [onnx.node("MatMul", ["x", "w"], ["a"]), onnx.node("MatMul", ["state", "u"], ["b"]),
             onnx.node("Add", ["a", "b"], ["c"]), onnx.node("Tanh", ["c"], ["next"]),
             onnx.node("MatMul", ["next", "v"], ["y"])]
    ports = {name: onnx.value(name, [1, size]) for name in ("x", "state", "next", "y")}
    return onnx.model(nodes, [ports["x"], ports["state"]], [ports["y"], ports["next"]], weights)


class QuantizedStateTest(StateFiles):
    def test_the_samples_of_a_state_are_made_of_steps(self):
        chance = random.Random(2)
        values = [chance.uniform(-1, 1) for _ in range(60 * 16)]
        (self.folder / "sums.onnx").write_bytes(recurrent())
        (self.folder / "x.npy").write_bytes(npy("(60, 1, 16)", values))
        (self.folder / "samples").mkdir()
        (self.folder / "samples/x.npy").write_bytes(npy("(60, 1, 16)", values))
        run = ["run", "sums.tenon", "--steps", "60", "--input", "x=x.npy"]
        self.done(self.convert("--state", "next=state"))
        self.done(self.tenon(*run, "--output-dir", "exact"))
        text = self.done(self.convert("--state", "next=state", "--quantize", "int8",
                                      "--calibration", "samples"))
        self.assertIn("60 samples", text)
        self.assertIn("state state: f32[1,16]", self.done(self.tenon("inspect", "sums.tenon")))
        self.done(self.tenon(*run, "--expect", "y=exact/y.npy", "--rtol", "0.1"))
        result = self.tenon(*run, "--expect", "y=exact/y.npy", "--rtol", "0", "--atol", "0")
        self.assertEqual(result.returncode, 1, "the quantized plan is not to be the float one")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
