"""`tenon convert --align-corners` as a user meets it.

usage: corners_test.py TENON
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"


def npy(values):
    shape = (1, 1, 1, len(values))
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{len(values)}f", *values))


def resize(scale):
    """Six elements by `scale`, which may give no whole size."""
    node = onnx.node("Resize", ["x", "", "scales"], ["y"], mode="linear",
                     coordinate_transformation_mode="align_corners")
    return onnx.model([node], [onnx.value("x", [1, 1, 1, 6])],
                      [onnx.value("y", [1, 1, 1, int(6 * scale)])],
                      [onnx.tensor("scales", [4], [1.0, 1.0, 1.0, scale])])


class CornersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "part.onnx").write_bytes(resize(0.6))  # 3.6 elements: 3
        (self.folder / "whole.onnx").write_bytes(resize(2.0))
        (self.folder / "x.npy").write_bytes(npy([0, 10, 20, 30, 40, 50]))

    def tenon(self, *arguments):
        return subprocess.run([TENON, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=120)

    def convert(self, model, *options):
        done = self.tenon("convert", model, "-o", "y.tenon", "--board", "x86-64", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def expect(self, values):
        (self.folder / "y.npy").write_bytes(npy(values))
        done = self.tenon("run", "y.tenon", "--input", "x=x.npy", "--expect", "y=y.npy", "--rtol",
                          "1e-6", "--atol", "0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_by_scales_the_last_corner_is_where_onnx_has_it_and_a_warning_says_so(self):
        said = self.convert("part.onnx")
        self.assertIn("warning: node", said)
        self.assertIn("--align-corners=sizes", said)
        self.expect([0, 50 / 2.6, 100 / 2.6])

    def test_by_sizes_the_last_corner_is_the_last_element_without_a_warning(self):
        self.assertNotIn("warning", self.convert("part.onnx", "--align-corners=sizes"))
        self.expect([0, 25, 50])

    def test_a_whole_size_gives_the_same_either_way_without_a_warning(self):
        plans = []
        for corners in ("scales", "sizes"):
            self.assertNotIn("warning", self.convert("whole.onnx", "--align-corners", corners))
            self.expect([50 * i / 11 for i in range(12)])
            plans.append(self.tenon("inspect", "y.tenon").stdout)
        self.assertIn("resize", plans[0])

    def test_another_word_is_a_usage_error_that_names_both(self):
        done = self.tenon("convert", "part.onnx", "-o", "y.tenon", "--board", "x86-64",
                          "--align-corners=middle")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("scales", done.stderr)
        self.assertIn("sizes", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
