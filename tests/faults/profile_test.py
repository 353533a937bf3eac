"""`tenon profile` and `tenon convert --profile` as a user meets them.

usage: profile_test.py TENON
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

BOARD = pathlib.Path(__file__).resolve().parents[2] / "sdk" / "boards" / "x86-64.json"
TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"


def chain(length):
    """Functions of each other, all of them outputs: so none becomes part of another."""
    names = ["x"] + [f"t{i}" for i in range(length)]
    kinds = ["Exp", "Tanh", "Neg"]
    nodes = [onnx.node(kinds[i % 3], [names[i]], [names[i + 1]]) for i in range(length)]
    return onnx.model(nodes, [onnx.value("x", [1, 5000])],
                      [onnx.value(name, [1, 5000]) for name in names[1:]])


class ProfileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "a.onnx").write_bytes(chain(3))

    def tenon(self, *arguments):
        return subprocess.run([TENON, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=300)

    def profile(self, *arguments, board="x86-64"):
        return self.tenon("profile", "--board", board, "--sweep", "off", "--iterations", "4",
                          *arguments)

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def refused(self, status, word, *arguments, board="x86-64"):
        before = self.files()
        result = self.profile(*arguments, board=board)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertTrue(result.stderr.startswith("tenon: error: "), result.stderr)
        self.assertIn(word, result.stderr)
        self.assertEqual(self.files(), before)

    def test_a_board_that_this_machine_is_not_is_refused(self):
        for board, words in (("cortex-m55", "its processor is cortex-m"),
                             ("npu-3unit", "is of kind 'matrix'")):
            self.refused(2, words, "--model", "a.onnx", "-o", "p.json", board=board)

    def test_a_board_of_this_machines_kind_is_measured_whatever_its_name(self):
        described = json.loads(BOARD.read_text())
        described["name"] = "mine"
        (self.folder / "mine.json").write_text(json.dumps(described))
        result = self.profile("--model", "a.onnx", "-o", "p.json", board="mine.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        del described["architecture"]
        (self.folder / "mine.json").write_text(json.dumps(described))
        self.refused(2, "does not say what its processor is", "--model", "a.onnx", "-o", "q.json",
                     board="mine.json")

    def test_a_profile_holds_every_op_of_the_model(self):
        result = self.profile("--model", "a.onnx", "-o", "p.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        profile = json.loads((self.folder / "p.json").read_text())
        self.assertEqual(profile["board"], "x86-64")
        self.assertEqual(profile["threads"], 1)
        self.assertEqual(len(profile["models"]), 1)
        self.assertEqual(len(profile["models"][0]["entries"]), 3)
        for entry in profile["entries"]:
            self.assertRegex(entry["signature"], r"^unary cpu.unary.(portable|vector) \(f32\[1,5000\]\)")
            self.assertGreaterEqual(entry["durations"]["runs"], 4)
            self.assertGreater(entry["durations"]["min_ms"], 0)
        self.assertEqual(self.files(), ["a.onnx", "p.json"])

    def test_conversions_take_a_profile_of_their_board_only(self):
        self.assertEqual(self.profile("--model", "a.onnx", "-o", "p.json").returncode, 0)
        convert = ["convert", "a.onnx", "-o", "a.tenon", "--profile", "p.json"]
        result = self.tenon(*convert, "--board", "x86-64")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.tenon(*convert, "--board", "cortex-m55")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("'x86-64'", result.stderr)

    def test_a_damaged_profile_is_refused_by_name(self):
        self.assertEqual(self.profile("--model", "a.onnx", "-o", "p.json").returncode, 0)
        text = (self.folder / "p.json").read_text()
        for damaged in (text[:len(text) // 2], text.replace('"board"', '"bord"'), "[]", ""):
            (self.folder / "p.json").write_text(damaged)
            result = self.tenon("convert", "a.onnx", "-o", "a.tenon", "--profile", "p.json",
                                "--board", "x86-64")
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn("p.json", result.stderr)

    def test_standard_output_by_name_is_written_and_never_replaced(self):
        # As commands on targets are asked for their figures.
        self.assertEqual(self.tenon("convert", "a.onnx", "-o", "a.tenon", "--board", "x86-64").returncode, 0)
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]:
            before = os.lstat("/dev/stdout")
            with open(self.folder / "out.txt", "wb") as out:
                result = subprocess.run([TENON, "bench", "a.tenon", "--iterations", "1", "--json", name],
                                        cwd=self.folder, stdout=out, stderr=subprocess.PIPE, timeout=300)
            self.assertEqual(result.returncode, 0, result.stderr)
            text = (self.folder / "out.txt").read_text()
            self.assertIn("throughput:", text)
            report = json.loads(text[text.index("{"):text.rindex("}") + 1])
            self.assertGreater(report["latency_ms"]["min"], 0)
            self.assertEqual(os.lstat("/dev/stdout").st_ino, before.st_ino)

    def test_wrong_use_leaves_nothing_behind(self):
        self.refused(2, "--board", "-o", "p.json", "--board", "none such")
        self.refused(2, "--sweep", "-o", "p.json")
        self.refused(2, "--iterations", "-o", "p.json", "--model", "a.onnx", "--iterations", "0")
        self.refused(2, "--threads", "-o", "p.json", "--model", "a.onnx", "--threads", "none")
        self.refused(3, "b.onnx", "-o", "p.json", "--model", "b.onnx")
        self.refused(5, "no/p.json", "-o", "no/p.json", "--model", "a.onnx")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
