"""`tenon convert --quantize=int8`: the samples it takes, what it says, and what it refuses."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"
DIGITS = pathlib.Path(__file__).resolve().parents[2] / "sdk" / "models" / "digits"


def npy(shape, values, descr="<f4", code="f"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    data = struct.pack(f"<{len(values)}{code}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


class Quantize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.samples = self.folder / "samples"
        self.samples.mkdir()

    def use_held_out(self, labels=True):
        shutil.copy(DIGITS / "held_out_images.npy", self.samples / "images.npy")
        if labels:
            shutil.copy(DIGITS / "held_out_labels.npy", self.samples / "labels.npy")

    def convert(self, *options, plan="digits.tenon", calibration="samples"):
        arguments = ["convert", DIGITS / "digits.onnx", "--batch", "1", "-o", plan, "--board", "x86-64"]
        if calibration:
            arguments += ["--calibration", calibration]
        return subprocess.run([TENON, *arguments, *options], cwd=self.folder, timeout=120,
                              capture_output=True, text=True)

    def done(self, *options, **named):
        result = self.convert("--quantize=int8", *options, **named)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def refused(self, status, *options, **named):
        result = self.convert(*options, **named)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertTrue(result.stderr.startswith("tenon: error: "), result.stderr)
        self.assertFalse((self.folder / "digits.tenon").exists())
        return result.stderr

    def test_summary_json_and_plan_say_what_was_done(self):
        self.use_held_out()
        text = self.done("--json", "d.json")
        self.assertIn("4 of 4 convolutions and matrix products", text)
        self.assertIn("of 360 labels right", text)
        report = json.loads((self.folder / "d.json").read_text())["quantization"]
        self.assertEqual(report["integer_layers"], 4)
        self.assertTrue(report["reached"])
        self.assertEqual(report["labels"]["count"], 360)
        self.assertGreater(report["outputs"][0]["snr_db"], 30)
        self.assertIn("block0.conv", [layer["op"] for layer in report["layers"] if layer["integer"]])
        inspected = subprocess.run([TENON, "inspect", "digits.tenon", "--json"], cwd=self.folder,
                                   capture_output=True, text=True, check=True).stdout
        self.assertEqual(json.loads(inspected)["options"]["quantize"], "int8")

    def test_the_quantized_plan_runs_on_the_model_s_own_inputs(self):
        self.use_held_out()
        self.done()
        sample = DIGITS / "samples" / "image_8_is_6.npy"
        run = subprocess.run([TENON, "run", "digits.tenon", "--input", f"image={sample}", "--output-dir", "."],
                             cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        scores = struct.unpack("<10f", (self.folder / "probability.npy").read_bytes()[-40:])
        self.assertEqual(max(range(10), key=lambda i: scores[i]), 6)

    def test_labels_as_lines_are_the_same_as_an_array(self):
        self.use_held_out()
        self.done(plan="a.tenon")
        labels = struct.unpack("<360q", (self.samples / "labels.npy").read_bytes()[-360 * 8:])
        (self.samples / "labels.txt").write_text("".join(f"{label}\n" for label in labels))
        self.assertIn("one is wanted", self.refused(2, "--quantize=int8"))
        (self.samples / "labels.npy").unlink()
        self.done(plan="b.tenon")
        self.assertEqual((self.folder / "a.tenon").read_bytes(), (self.folder / "b.tenon").read_bytes())

    def test_ops_kept_float_are_listed(self):
        self.use_held_out(labels=False)
        text = self.done("--quantize-keep", "block1.conv", "--quantize-ranges", "minmax", "-v")
        self.assertIn("3 of 4 convolutions", text)
        self.assertIn("block1.conv (conv): float, --quantize-keep", text)
        self.assertIn("block1.conv", text)

    def test_samples_are_wanted(self):
        self.assertIn("--calibration", self.refused(2, "--quantize=int8", calibration=None))
        self.assertIn("nowhere", self.refused(3, "--quantize=int8", calibration="nowhere"))
        self.assertIn("no sample for input 'image'", self.refused(2, "--quantize=int8"))
        self.refused(2)  # samples without --quantize

    def test_samples_that_do_not_fit_are_refused(self):
        bad = self.samples / "bad.npy"
        bad.write_bytes(npy("(1, 8, 8)", [0.5] * 64))
        self.assertIn("f32[1,1,8,8]", self.refused(2, "--quantize=int8"))
        bad.write_bytes(npy("(1, 1, 8, 8)", [0.5] * 63 + [float("nan")]))
        self.assertIn("not finite", self.refused(2, "--quantize=int8"))
        bad.write_bytes(npy("(1, 1, 8, 8)", [1] * 64, "|u1", "B"))
        self.assertIn("u8[1,1,8,8]", self.refused(2, "--quantize=int8"))
        bad.write_bytes(b"\x93NUMPY\x01\x00")
        self.refused(3, "--quantize=int8")

    def test_one_sample_or_constant_ones_are_warned_of(self):
        values = [0.01 * i for i in range(64)]
        (self.samples / "a.npy").write_bytes(npy("(1, 1, 8, 8)", values))
        self.assertIn("warning: calibration: one sample", self.done("--quantize-snr", "-100"))
        (self.samples / "b.npy").write_bytes(npy("(1, 1, 8, 8)", values[::-1]))
        self.assertNotIn("warning", self.done("--quantize-snr", "-100"))
        (self.samples / "c.npy").write_bytes(npy("(1, 1, 8, 8)", [0.5] * 64))
        for options in [[], ["-v"]]:
            text = self.done("--quantize-snr", "-100", *options)
            self.assertIn("warning: calibration: every value of 'c' is the same", text)
            self.assertNotIn("one sample", text)
        (self.samples / "d.npy").write_bytes(npy("(1, 1, 8, 8)", [0] * 64))
        self.assertIn("every value of 'c' and 1 more is the same", self.done("--quantize-snr", "-100"))

    def test_labels_that_do_not_fit_are_refused(self):
        self.use_held_out(labels=False)
        (self.samples / "labels.txt").write_text("1\n2\n")
        self.assertIn("2 labels for 360", self.refused(2, "--quantize=int8"))
        (self.samples / "labels.txt").write_text("one\n")
        self.assertIn("'one'", self.refused(3, "--quantize=int8"))

    def test_bad_options_are_refused(self):
        self.use_held_out(labels=False)
        self.assertIn("conv_99", self.refused(2, "--quantize=int8", "--quantize-keep", "conv_99"))
        self.refused(2, "--quantize=int4")
        self.refused(2, "--quantize=int8", "--quantize-ranges", "widest")
        self.refused(2, "--quantize=int8", "--quantize-snr", "much")
        self.assertIn("'nan'", self.refused(2, "--quantize=int8", "--quantize-snr", "nan"))
        self.assertIn("fusion", self.refused(2, "--quantize=int8", "--fuse=off"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
