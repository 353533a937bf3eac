"""What messages of the `tenon` command say was meant, and what to do about it."""
import os
import sys
import unittest

import cli_test
from cli_test import BOARD, npy, onnx


class Messages(cli_test.CliTest):
    def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(self):
        for typed, meant in [("convrt", "convert"), ("inspct", "inspect"), ("benhc", "bench"), ("RUN", "run")]:
            self.assertIn(f"did you mean '{meant}'?", self.fails(2, typed))
        self.assertNotIn("did you mean", self.fails(2, "xyzzy"))

    def test_a_mistyped_option_is_answered_with_the_one_that_was_meant(self):
        for command, typed, meant in [("convert", "--bord=x86-64", "--board"), ("convert", "--memory-limits", "--memory-limit"),
                                      ("bench", "--iteration=3", "--iterations"), ("run", "--inputs", "--input")]:
            text = self.fails(2, command, "ok.onnx", typed, "-o", "p.tenon") if command == "convert" else \
                self.fails(2, command, "ok.tenon", typed)
            self.assertIn(f"did you mean '{meant}'?", text)
            self.assertIn(typed.split("=")[0], text)
        self.assertNotIn("did you mean", self.fails(2, "bench", "ok.tenon", "--xyzzy"))

    def test_a_mistyped_board_is_answered_with_the_one_that_was_meant_and_all_that_there_are(self):
        text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "rk3558")
        self.assertIn("no board 'rk3558': did you mean 'rk3588'?", text)
        self.assertIn("cortex-m55, cortex-m7", text)

    def test_a_board_that_looks_like_a_path_is_a_file_that_is_not_there(self):
        for path in ["nope.json", "boards/mine"]:
            text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", path)
            self.assertIn(f"{path}: no such file", text)
        self.assertIn("is a directory", self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "."))

    def test_mistyped_ports_are_answered_with_those_that_were_meant(self):
        self.converts_model(onnx.model([onnx.node("Relu", ["image"], ["scores"])], [onnx.value("image", [1, 4])],
                                       [onnx.value("scores", [1, 4])]))
        text = self.fails(2, "run", "model.tenon", "--input", "imgae=x.npy")
        self.assertIn("no input 'imgae': did you mean 'image'? it has 'image'", text)
        text = self.fails(2, "run", "model.tenon", "--zeros", "--expect", "score=x.npy")
        self.assertIn("no output 'score': did you mean 'scores'? it has 'scores'", text)

    def test_a_file_that_is_not_there_a_directory_and_a_pipe_are_called_so(self):
        self.convert()
        os.mkfifo(self.folder / "pipe")
        calls = [["convert", "{}", "-o", "p.tenon", *BOARD], ["inspect", "{}"], ["place", "{}"],
                 ["run", "ok.tenon", "--input", "x={}"]]
        for call in calls:
            for name, words in [("missing", "missing: no such file"), (".", "is a directory"),
                                ("pipe", "pipe: is a pipe or a device")]:
                self.assertIn(words, self.refuses_file(call, name), call)

    def test_a_plan_that_is_not_there_a_directory_and_a_pipe_are_called_so(self):
        os.mkfifo(self.folder / "pipe")
        for command in [["run", "{}", "--zeros"], ["bench", "{}"]]:
            for name, words in [("missing.tenon", "'missing.tenon': no such file"), (".", "plan '.' is a directory"),
                                ("pipe", "'pipe' is not a regular file")]:
                self.assertIn(words, self.refuses_file(command, name), command)

    def refuses_file(self, call, name):
        return self.fails(3, *[part.format(name) for part in call])

    def test_what_is_no_array_is_answered_with_how_to_make_one(self):
        self.convert()
        self.write("notes.txt", b"1 2 3 4")
        text = self.fails(3, "run", "ok.tenon", "--input", "x=notes.txt")
        self.assertIn("notes.txt: not a .npy file: make one with numpy.save(FILE, array)", text)

    def test_a_memory_space_that_the_board_lacks_is_answered_with_those_that_it_has(self):
        text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "npu-3unit", "--memory-limit", "srma=4K")
        self.assertIn("board 'npu-3unit' has no memory space 'srma': did you mean 'sram'? it has sram, ddr", text)

    def test_a_shape_that_cannot_be_read_is_shown_as_typed(self):
        for typed in ["1,4", "1x4x", "1*4"]:
            text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--shape", f"x={typed}")
            self.assertIn(f"--shape x={typed}: give sizes with an x between them", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
