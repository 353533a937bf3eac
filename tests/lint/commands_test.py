"""The pages' commands run as they are printed.

usage: commands_test.py TENON

Of README.md and docs/*.md, every ```sh block is run that calls nothing but the `tenon` command of
the host build and what shows or makes its files. All blocks of a page run in one folder, in which
the tree's sources are there and build/host/bin/tenon is TENON.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"
RUNNABLE = r"(mkdir|cat|build/host/bin/tenon|python3 scripts/\w+\.py)( |$)"
SOURCES = ["scripts", "sdk", "docs"]


def blocks(text):
    """The sh blocks that can be run here: (number of the first line, commands)."""
    for found in re.finditer(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        commands = found[1].replace("\\\n", " ").splitlines()
        if all(re.match(RUNNABLE, command) for command in commands):
            yield text.count("\n", 0, found.start()) + 2, commands


class CommandsTest(unittest.TestCase):
    def run_page(self, path):
        """Runs a page's commands; returns how many."""
        count = 0
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "build/host/bin").mkdir(parents=True)
            (folder / "build/host/bin/tenon").symlink_to(TENON)
            for source in SOURCES:
                (folder / source).symlink_to(ROOT / source)
            for line, commands in blocks((ROOT / path).read_text()):
                for command in commands:
                    result = subprocess.run(command, shell=True, cwd=folder, capture_output=True,
                                            text=True, timeout=120)
                    where = f"{path}:{line}: {command}"
                    self.assertEqual(result.returncode, 0, f"{where}\n{result.stderr}")
                    count += 1
        return count

    def test_readme(self):
        self.assertGreaterEqual(self.run_page("README.md"), 2)

    def test_orders(self):
        self.assertGreaterEqual(self.run_page("docs/orders.md"), 5)

    def test_other_pages(self):
        for page in sorted((ROOT / "docs").glob("*.md")):
            if page.name != "orders.md":
                self.run_page(page.relative_to(ROOT))

    def test_a_wrong_command_is_found(self):
        text = "```sh\nbuild/host/bin/tenon convert \\\n  a.onnx\n```\n```sh\nrm -r .\n```\n"
        self.assertEqual(list(blocks(text)), [(2, ["build/host/bin/tenon convert    a.onnx"])])
        page = pathlib.Path(tempfile.mkdtemp()) / "page.md"
        page.write_text(text)
        with self.assertRaises(AssertionError):
            self.run_page(page)
        page.unlink()
        page.parent.rmdir()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
