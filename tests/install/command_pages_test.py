"""Completion and manual page, made from the command's help.

usage: command_pages_test.py SOURCE_DIR TENON
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, TENON = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()


class CommandPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        subprocess.run([sys.executable, SOURCE / "scripts/command_pages.py", TENON, cls.folder], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def complete(self, *words):
        """What bash offers for the last of these words."""
        script = (f'source "{self.folder}/tenon"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenon; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True,
                              cwd=SOURCE, env={**os.environ, "PATH": f"{TENON.parent}:{os.environ['PATH']}"})
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands_and_options_are_completed(self):
        self.assertEqual(self.complete("tenon", "con"), ["convert"])
        self.assertIn("--order-budget", self.complete("tenon", "convert", "--ord"))
        self.assertNotIn("--order", self.complete("tenon", "run", "plan", "--ord"))

    def test_values_of_an_option_are_those_of_its_help(self):
        self.assertEqual(self.complete("tenon", "convert", "--balance", ""), ["auto", "off"])
        self.assertEqual(self.complete("tenon", "convert", "--balance", "=", "o"), ["off"])

    def test_boards_are_those_that_there_are(self):
        self.assertEqual(self.complete("tenon", "convert", "--board", "cortex-m7"), ["cortex-m7"])

    def test_all_else_is_files(self):
        self.assertEqual(self.complete("tenon", "run", "READ"), ["README.md"])

    def test_the_manual_has_every_command_and_option_of_the_help(self):
        manual = (self.folder / "tenon.1").read_text().replace("\\-", "-")
        commands = re.findall(r"^\.SS (\w+)$", manual, re.M)
        self.assertGreater(len(commands), 10)
        for command in commands:
            help_text = subprocess.run([TENON, command, "--help"], capture_output=True, text=True, check=True).stdout
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_text, re.M):
                self.assertIn(option, manual)

    @unittest.skipUnless(shutil.which("groff"), "groff is not here to lay the manual out")
    def test_the_manual_is_laid_out_without_a_warning(self):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", self.folder / "tenon.1"], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        self.assertIn("EXIT STATUS", re.sub(r".\x08", "", done.stdout))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
