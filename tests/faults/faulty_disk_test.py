#!/usr/bin/env python3
"""Files that belong together change together, whatever the disk does and whoever ends the command.

usage: faulty_disk_test.py TENON FAULTY_DISK_LIBRARY
"""
import errno
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

TENON = os.path.abspath(sys.argv[1])
LIBRARY = os.path.abspath(sys.argv[2])
CALLS = ["write", "fsync", "fchmod", "linkat", "link", "rename", "tmpfile"]
OUTPUTS = ["net.S", "net.h", "net.tenon", "net.json"]


class FaultyDiskTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.out.mkdir()
        (self.folder / "net.onnx").write_bytes(
            onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", [1, 4])],
                       [onnx.value("y", [1, 4])]))

    def start(self, calls, at, error, *, portable=False):
        """Writes four files that belong together; `portable`: no files without names."""
        mark = self.folder / "mark"
        mark.unlink(missing_ok=True)
        environment = dict(os.environ, LD_PRELOAD=LIBRARY, TENON_FAULT_AT=str(at),
                           TENON_FAULT_CALLS=",".join(calls), TENON_FAULT_ERROR=str(error),
                           TENON_FAULT_MARK=str(mark))
        if portable:
            environment["TENON_NO_TMPFILE"] = "1"
        return subprocess.Popen(
            [TENON, "convert", "net.onnx", "--emit=c", "-o", "out/net.S", "--json", "out/net.json",
             "--board", "cortex-m55", "-q"], cwd=self.folder, env=environment,
            stderr=subprocess.PIPE)

    def run_with(self, *arguments, **options):
        process = self.start(*arguments, **options)
        _, text = process.communicate(timeout=60)
        return process.returncode, text.decode()

    def state(self):
        return {path.name: path.read_bytes() for path in self.out.iterdir()}

    def put_old(self):
        for name in OUTPUTS:
            (self.out / name).write_text("old " + name)
        return self.state()

    def test_without_faults_all_four_are_new(self):
        old = self.put_old()
        self.assertEqual(self.run_with([], 0, 0), (0, ""))
        self.assertEqual(sorted(self.state()), sorted(OUTPUTS))
        self.assertFalse(set(self.state().values()) & set(old.values()))

    def fail_every(self, call, **options):
        """Fails each call in turn, with old files there and without; returns how many there were."""
        for at in itertools.count(1):
            for old in [self.put_old(), {}]:
                if not old:
                    for path in self.out.iterdir():
                        path.unlink()
                code, text = self.run_with([call], at, errno.ENOSPC, **options)
                if not (self.folder / "mark").exists():
                    if old:
                        return at - 1
                    continue
                with self.subTest(call=call, at=at, old=bool(old)):
                    if code == 0:  # what failed had a way around it
                        self.assertEqual(sorted(self.state()), sorted(OUTPUTS))
                        continue
                    self.assertEqual(code, 5, text)
                    self.assertIn("cannot write", text)
                    self.assertIn("No space left", text)
                    self.assertEqual(self.state(), old)

    def test_a_disk_that_is_full_at_any_call_leaves_all_as_it_was(self):
        count = {call: self.fail_every(call) for call in CALLS}
        print(count)
        for call in CALLS:
            self.assertGreaterEqual(count[call], 4, count)

    def test_so_it_is_on_file_systems_without_files_that_have_no_name(self):
        for call in ["write", "fsync", "fchmod", "rename"]:
            self.assertGreaterEqual(self.fail_every(call, portable=True), 4)

    def end_in(self, call, number, **options):
        """Sends a signal while a call waits for the disk; returns how the command ended."""
        process = self.start([call], 3, 0, **options)
        deadline = time.monotonic() + 60
        while not (self.folder / "mark").exists() and process.poll() is None:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate(timeout=60)
        return process.returncode

    def test_signals_leave_all_as_it_was(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            for portable in [False, True]:
                with self.subTest(number=number, portable=portable):
                    old = self.put_old()
                    self.assertEqual(self.end_in("fsync", number, portable=portable), -number)
                    self.assertEqual(self.state(), old)

    def test_signals_while_names_change_leave_all_old_or_all_new(self):
        old = self.put_old()
        self.assertEqual(self.end_in("rename", signal.SIGTERM), -signal.SIGTERM)
        self.assertEqual(self.state(), old)

    def test_sigkill_while_writing_leaves_all_as_it_was(self):
        old = self.put_old()
        self.assertEqual(self.end_in("fsync", signal.SIGKILL), -signal.SIGKILL)
        self.assertEqual(self.state(), old)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
