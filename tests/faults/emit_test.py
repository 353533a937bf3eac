"""`tenon convert --emit=c` as a user meets it.

usage: emit_test.py TENON
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"
MODEL = ROOT / "sdk/models/digits/digits.onnx"
PORTABLE = ROOT / "tests/golden/portable.json"


class EmitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def convert(self, *arguments, board=PORTABLE):
        return subprocess.run([TENON, "convert", MODEL, "--batch", "1", "--board", board,
                               *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=120)

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def refused(self, status, word, *arguments, **options):
        before = self.files()
        result = self.convert(*arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertTrue(result.stderr.startswith("tenon: error: "), result.stderr)
        self.assertIn(word, result.stderr)
        self.assertEqual(self.files(), before)

    def test_source_and_header_are_named_after_the_output(self):
        result = self.convert("--emit=c", "-o", "my-net.c")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.files(), ["my-net.c", "my-net.h"])
        self.assertIn('#include "my-net.h"', (self.folder / "my-net.c").read_text())
        self.assertIn("extern const uint8_t my_net_plan[MY_NET_PLAN_BYTES];",
                      (self.folder / "my-net.h").read_text())

    def test_for_the_assembler_the_plan_lies_beside_the_source(self):
        self.assertEqual(self.convert("--emit=c", "-o", "net.S").returncode, 0)
        self.assertEqual(self.files(), ["net.S", "net.h", "net.tenon"])
        self.assertEqual(self.convert("-o", "other.tenon", "--decisions=off").returncode, 0)
        self.assertEqual((self.folder / "net.tenon").read_bytes(),
                         (self.folder / "other.tenon").read_bytes())

    def test_the_same_command_gives_the_same_text(self):
        self.assertEqual(self.convert("--emit=c", "-o", "net.c").returncode, 0)
        first = (self.folder / "net.c").read_bytes()
        self.assertEqual(self.convert("--emit=c", "-o", "net.c").returncode, 0)
        self.assertEqual((self.folder / "net.c").read_bytes(), first)

    def test_names_that_do_not_go_with_what_is_emitted_are_refused(self):
        self.refused(2, "wants -o NAME.c", "--emit=c", "-o", "net.tenon")
        self.refused(2, "wants -o NAME.c", "--emit=c", "-o", ".c")
        self.refused(2, "add --emit=c", "-o", "net.c")
        self.refused(2, "C cannot include", "--emit=c", "-o", 'a"b.c')
        self.refused(2, "--emit", "--emit=rust", "-o", "net.c")

    def test_outputs_replace_neither_each_other_nor_the_model(self):
        self.refused(2, "would replace", "--emit=c", "-o", "net.S", "--json", "net.h")
        self.refused(2, "would replace", "--emit=c", "-o", "net.S", "--json", "net.tenon")
        self.refused(2, "would replace", "--emit=c", "-o", "net.c", "--json", "net.h")

    def test_what_firmware_cannot_run_is_refused_and_nothing_written(self):
        self.refused(2, "not for firmware", "--emit=c", "-o", "net.c", board="x86-64")

    def test_nothing_is_left_behind_where_the_source_cannot_be_written(self):
        (self.folder / "net.c").mkdir()
        result = self.convert("--emit=c", "-o", "net.c")
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertNotIn("net.c.", " ".join(self.files()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
