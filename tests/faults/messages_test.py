"""What messages of the `tenon` command say was meant, and what to do about it."""
import json
import os
import pathlib
import re
import struct
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

    def test_a_cap_on_instruction_sets_that_is_unknown_is_warned_of(self):
        for cap, warned in [("sse4", True), ("avx2", False), ("AVX512", False), ("", False)]:
            result = self.tenon("boards", env={**os.environ, "TENON_MAX_CPU_ISA": cap})
            self.assertEqual(result.returncode, 0)
            self.assertEqual(b"warning: TENON_MAX_CPU_ISA=sse4 caps nothing" in result.stderr, warned, cap)

    def test_a_mistyped_board_is_answered_with_the_one_that_was_meant_and_all_that_there_are(self):
        text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "rk3558")
        self.assertIn("no board 'rk3558': did you mean 'rk3588'?", text)
        self.assertIn("cortex-m55, cortex-m7", text)

    def test_a_board_that_looks_like_a_path_is_a_file_that_is_not_there(self):
        for path in ["nope.json", "boards/mine"]:
            text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", path)
            self.assertIn(f"{path}: no such file", text)
        self.assertIn("is a directory", self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "."))

    def test_outputs_whose_names_no_file_can_have_are_written_under_shorter_ones(self):
        self.converts_model(cli_test.relu([1, 4], ["a" * 300, "a" * 300 + "b", "ü" * 300]))
        done = self.done("run", "model.tenon", "--zeros", "--output-dir", "out")
        names = sorted(os.listdir(self.folder / "out"))
        self.assertEqual(names, ["a" * 200 + ".npy", "a" * 200 + "_2.npy", "ü" * 100 + ".npy"])
        self.assertIn("a" * 200 + "_2.npy", done)

    def test_an_output_keeps_its_name_where_another_is_changed_to_it(self):
        self.converts_model(onnx.model([onnx.node("Relu", ["x"], ["a/b"]), onnx.node("Neg", ["x"], ["a_b"])],
                                       [onnx.value("x", [1, 4])], [onnx.value("a/b", [1, 4]), onnx.value("a_b", [1, 4])]))
        files = [self.folder / "out" / name for name in ["a_b.npy", "a_b_2.npy"]]
        (self.folder / "ones.npy").write_bytes(npy("(1, 4)", [1] * 4))
        done = self.done("run", "model.tenon", "--input", "ones.npy", "--output-dir", "out")
        values = [struct.unpack("<4f", path.read_bytes()[-16:]) for path in files]
        self.assertEqual(values, [(-1.0,) * 4, (1.0,) * 4])
        self.assertIn("output 0, whose name no file can have, is in 'a_b_2.npy'", done)

    def test_mistyped_ports_are_answered_with_those_that_were_meant(self):
        self.converts_model(onnx.model([onnx.node("Relu", ["image"], ["scores"])], [onnx.value("image", [1, 4])],
                                       [onnx.value("scores", [1, 4])]))
        text = self.fails(2, "run", "model.tenon", "--input", "imgae=x.npy")
        self.assertIn("no input 'imgae': did you mean 'image'? it has 'image'", text)
        text = self.fails(2, "run", "model.tenon", "--zeros", "--expect", "score=x.npy")
        self.assertIn("no output 'score': did you mean 'scores'? it has 'scores'", text)

    def test_an_input_for_a_plan_without_any_is_answered_with_that(self):
        self.converts_model(onnx.model([onnx.node("Relu", ["c"], ["y"])], [], [onnx.value("y", [1, 4])],
                                       [onnx.tensor("c", [1, 4], [1, 2, 3, 4])]))
        self.assertIn("the plan has no inputs: leave --input x=x.npy out",
                      self.fails(2, "run", "model.tenon", "--input", "x=x.npy"))

    def test_a_file_alone_is_that_of_the_only_port(self):
        self.convert()
        text = self.done("run", "ok.tenon", "--input", "x.npy", "--expect", "x.npy", "--atol", "9")
        self.assertIn("4 of 4 elements within", text)

    def test_a_file_alone_of_several_ports_is_answered_with_their_names(self):
        self.converts_model(onnx.model([onnx.node("Add", ["a", "b"], ["y"])],
                                       [onnx.value("a", [4]), onnx.value("b", [4])], [onnx.value("y", [4])]))
        text = self.fails(2, "run", "model.tenon", "--input", "x.npy")
        self.assertIn("--input wants NAME=FILE, not 'x.npy': NAME is one of 'a', 'b'", text)

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

    def test_files_that_say_they_are_empty_and_wait_or_have_no_end_are_refused(self):
        self.convert()
        calls = [(3, "convert", "{}", "-o", "p.tenon", *BOARD), (3, "inspect", "{}"), (3, "check", "{}"), (3, "place", "{}"),
                 (3, "run", "ok.tenon", "--input", "x={}"), (3, "diff", "ok.tenon", "{}"),
                 (2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "{}"),
                 (3, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--profile", "{}")]
        files = [("/proc/self/pagemap", "is longer than it says|the file is empty|not a plan")]
        if os.access("/proc/kmsg", os.R_OK):
            files.append(("/proc/kmsg", "reading it would wait|the file is empty"))
        for status, *call in calls:
            for name, words in files:
                text = self.fails(status, *[part.format(name) for part in call])
                self.assertRegex(text, f"{name}: ({words})", call)

    def refuses_file(self, call, name):
        return self.fails(3, *[part.format(name) for part in call])

    def test_an_option_that_would_change_nothing_is_a_usage_error_that_says_what_it_needs(self):
        for option, value, needs in [
                ("--quantize-snr", "99", "--quantize=int8"), ("--quantize-ranges", "mse", "--quantize=int8"),
                ("--quantize-keep", "y", "--quantize=int8"), ("--calibration", ".", "--quantize=int8"),
                ("--channels", "3", "--parallel=pipeline"), ("--balance", "off", "--parallel=pipeline"),
                ("--rows-per-call", "4", "--threads")]:
            error = self.fails(2, "convert", "ok.onnx", "-o", "y.tenon", *BOARD, option, value)
            self.assertIn(f"{option} needs {needs}", error)
        stream = [*BOARD, "--channels", "3", "--objective=throughput"]
        self.done("convert", "ok.onnx", "-o", "y.tenon", *stream)
        error = self.fails(2, "convert", "ok.onnx", "-o", "y.tenon", *stream, "--parallel=replicas", "--threads=2")
        self.assertIn("--objective=throughput without --parallel", error)

    def test_a_mode_that_so_many_threads_cannot_be_divided_into_says_what_it_takes(self):
        for mode, threads, words in [("inter", 1, "it takes several threads"), ("inter+intra", 1, "it takes several threads"),
                                     ("replicas", 1, "it takes several threads"), ("replicas+intra", 2, "as of --threads=4"),
                                     ("replicas+inter+intra", 3, "as of --threads=4"), ("inter", 1000, "on at most ")]:
            error = self.fails(2, "convert", "ok.onnx", "-o", "y.tenon", *BOARD, f"--parallel={mode}", f"--threads={threads}")
            self.assertIn(f"parallel '{mode}' is not possible: ", error)
            self.assertIn(words, error)

    def test_numbers_that_cannot_be_are_answered_with_those_that_can(self):
        for option, value, words in [("--threads", "1025", "--threads 1025: give 1 to 1024"),
                                     ("--batch", "1.5", "--batch = 1.5 is no number, or not a whole one"),
                                     ("--shape", "x=1x4294967297", "4294967297 is too large a size")]:
            self.assertIn(words, self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, option, value))

    def test_names_of_tensors_may_have_what_stands_between_names_and_files(self):
        model = onnx.model([onnx.node("Relu", ["a=b"], ["y=z"])], [onnx.value("a=b", [1, 4])],
                           [onnx.value("y=z", [1, 4])])
        self.converts_model(model, "--shape", "a=b=1x4")
        self.write("c=d.npy", npy("(1, 4)", [1, 0, 3, 0]))
        self.done("run", "model.tenon", "--input", "a=b=x.npy", "--expect", "y=z=c=d.npy")
        self.done("diff", "model.tenon", "--input", "a=b=x.npy")

    def test_an_output_that_would_replace_external_data_of_the_model_is_refused(self):
        weights = self.write("weights.bin", struct.pack("<4f", 1, 2, 3, 4))
        model = onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [1, 4])], [onnx.value("y", [1, 4])],
                           [onnx.external_tensor("w", [1, 4], weights)])
        self.write("model.onnx", model)
        self.done("convert", "model.onnx", "-o", "model.tenon", *BOARD)
        for option in [["-o", weights], ["-o", "p.tenon", "--json", weights], ["-o", "p.tenon", "--report", f"./{weights}"]]:
            self.assertIn("the model's weights are in it", self.fails(2, "convert", "model.onnx", *option, *BOARD))

    def test_what_is_no_array_is_answered_with_how_to_make_one(self):
        self.convert()
        self.write("notes.txt", b"1 2 3 4")
        text = self.fails(3, "run", "ok.tenon", "--input", "x=notes.txt")
        self.assertIn("notes.txt: not a .npy file: make one with "
                      "numpy.save('notes.txt', numpy.asarray(values, numpy.float32).reshape((1, 4)))", text)
        text = self.fails(3, "run", "ok.tenon", "--zeros", "--expect", "y=notes.txt")
        self.assertIn("make one with numpy.save(", text)

    def test_an_input_without_its_batch_of_one_is_taken(self):
        self.convert()
        self.write("row.npy", npy("(4,)", [1, -2, 3, -4]))
        with_batch, without = (self.done("run", "ok.tenon", "--input", f"x={name}") for name in ("x.npy", "row.npy"))
        self.assertEqual(with_batch, without)
        for shape, values in [("(2,)", [1, 2]), ("(4, 1)", [1, 2, 3, 4]), ("()", [1])]:
            self.write("row.npy", npy(shape, values))
            self.assertIn("wants f32[1,4]", self.fails(3, "run", "ok.tenon", "--input", "x=row.npy"))

    def test_a_mistake_in_a_board_file_is_told_with_its_line(self):
        board = json.loads(self.path_of_board().read_text())
        board["units"][0]["thread"] = 2
        self.write("mine.json", json.dumps(board, indent=1).encode())
        lines = (self.folder / "mine.json").read_text().splitlines()
        line = next(i for i, text in enumerate(lines, 1) if '"thread"' in text)
        text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "mine.json")
        self.assertIn(f"has the unknown key 'thread' (line {line})", text)
        self.write("mine.json", "\n".join([*lines[:3], "oops", *lines[3:]]).encode())
        text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "mine.json")
        self.assertIn("board 'mine.json' is not valid JSON: line 4", text)

    def path_of_board(self):
        return pathlib.Path(__file__).resolve().parents[2] / "sdk/boards/x86-64.json"

    def test_a_memory_space_that_the_board_lacks_is_answered_with_those_that_it_has(self):
        text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "npu-3unit", "--memory-limit", "srma=4K")
        self.assertIn("board 'npu-3unit' has no memory space 'srma': did you mean 'sram'? it has sram, ddr", text)

    def test_a_shape_that_cannot_be_read_is_shown_as_typed(self):
        for typed in ["1,4", "1x4x", "1*4"]:
            text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--shape", f"x={typed}")
            self.assertIn(f"--shape x={typed}: give sizes with an x between them", text)


def big_layer():
    """A product with 900 x 900 weights, more than the flash of a Cortex-M7 board holds as f32."""
    size = 900
    weights = [(i * 7919 % 1000 - 500) / 1000 for i in range(size * size)]
    return onnx.model([onnx.node("MatMul", ["x", "w"], ["y"], "big")], [onnx.value("x", [1, size])],
                      [onnx.value("y", [1, size])], [onnx.tensor("w", [size, size], weights)])


def byte_layer():
    nodes = [onnx.node("QuantizeLinear", ["x", "s"], ["q"]), onnx.node("DequantizeLinear", ["q", "s"], ["y"])]
    return onnx.model(nodes, [onnx.value("x", [1, 64])], [onnx.value("y", [1, 64])], [onnx.tensor("s", [], [0.5])])


def camera_net():
    weights = [0.1 * (i % 5 - 2) for i in range(8 * 3 * 9)]
    nodes = [onnx.node("Conv", ["image", "w"], ["c"], kernel_shape=[3, 3]),
             onnx.node("GlobalAveragePool", ["c"], ["y"])]
    return onnx.model(nodes, [onnx.value("image", [1, 3, 64, 64])], [onnx.value("y", [1, 8, 1, 1])],
                      [onnx.tensor("w", [8, 3, 3, 3], weights)])


def wide_camera_net():
    """An image of 786 KB, more than the M7 board's SRAM, and behind it layers of 3.3 MB of weights. What is
    added to the image is a constant that depends on its size."""
    size = 900
    weights = [(i * 7919 % 1000 - 500) / 1000 for i in range(size * size)]
    nodes = [onnx.node("Conv", ["image", "k"], ["c"], kernel_shape=[3, 3]),
             onnx.node("Shape", ["c"], ["s"]), onnx.node("Slice", ["s", "from", "to"], ["t"]),
             onnx.node("ConstantOfShape", ["t"], ["zeros"]), onnx.node("Cos", ["zeros"], ["ones"]),
             onnx.node("Add", ["c", "ones"], ["d"]),
             onnx.node("GlobalAveragePool", ["d"], ["a"]), onnx.node("Flatten", ["a"], ["f"]),
             onnx.node("MatMul", ["f", "v"], ["g"]), onnx.node("MatMul", ["g", "w"], ["y"])]
    return onnx.model(nodes, [onnx.value("image", [1, 3, 256, 256])], [onnx.value("y", [1, size])],
                      [onnx.tensor("k", [8, 3, 3, 3], weights[:8 * 27]), onnx.tensor("v", [8, size], weights[:8 * size]),
                       onnx.tensor("w", [size, size], weights), onnx.tensor("from", [1], [3], onnx.INT64),
                       onnx.tensor("to", [1], [4], onnx.INT64)])


class WhatIsLeft(cli_test.CliTest):
    def refused(self, model, *options):
        self.write("net.onnx", model)
        return self.fails(4, "convert", "net.onnx", "-o", "net.tenon", "--board", "cortex-m7", *options)

    def converts(self, *options):
        return self.done("convert", "net.onnx", "-o", "net.tenon", "--board", "cortex-m7", *options)

    def test_weights_that_do_not_fit_are_weighed_in_fewer_bits_and_what_is_said_is_so(self):
        text = self.refused(big_layer())
        self.assertRegex(text, r"with --weights=int8 it fits: an arena of \d+ bytes in '\w+', 8\d{5} bytes of constants")
        self.assertIn("with --quantize=int8 --calibration DIR it fits", text)
        self.converts("--weights=int8")

    def test_no_limit_above_the_memory_of_the_chip_is_offered(self):
        text = self.refused(big_layer())
        self.assertNotIn("--memory-limit", text)
        self.assertIn("within the chip's memory no limit helps: 'flash' has 2097152 bytes", text)
        self.write("net.onnx", camera_net())
        text = self.refused(camera_net(), "--memory-limit", "sram=1K", "--memory-limit", "dtcm=0")
        offered = int(re.search(r"--memory-limit sram=(\d+)", text)[1])
        self.assertLess(offered, 524288)
        self.converts("--memory-limit", f"sram={offered}", "--memory-limit", "dtcm=0")

    def test_constants_that_are_too_many_are_refused_without_a_search_for_a_smaller_arena(self):
        text = self.refused(wide_camera_net())
        self.assertRegex(text, r"the model needs 3\d{6} bytes of 'flash', 2097152 are available")
        self.assertIn("with everything split was not looked for", text)
        self.assertRegex(text, r"with --weights=int8 the model needs \d+ bytes of 'sram'")
        # The constants stay as they are. A busy machine may not have come to try these.
        self.assertNotIn("with --input-format", text)
        self.assertNotIn("with --shape", text)

    def test_a_model_of_bytes_is_not_told_to_become_one(self):
        text = self.refused(byte_layer(), "--memory-limit", "sram=0", "--memory-limit", "dtcm=0", "--time-limit", "0.000001")
        self.assertNotIn("--quantize", text)

    def test_an_image_that_does_not_fit_is_weighed_as_bytes_and_at_half_its_size(self):
        limits = ["--memory-limit", "sram=60K", "--memory-limit", "dtcm=0"]
        text = self.refused(camera_net(), *limits)
        self.assertRegex(text, r"with --input-format image=u8,nhwc,\.\.\. (it fits|the model needs)")
        self.assertIn("with --shape image=1x3x32x32 it fits", text)
        self.assertNotIn("--weights=int8", text)  # the image is what does not fit
        self.converts(*limits, "--shape", "image=1x3x32x32")

    def test_boards_with_an_operating_system_are_told_the_limit_alone(self):
        self.write("net.onnx", camera_net())
        text = self.fails(4, "convert", "net.onnx", "-o", "net.tenon", *BOARD, "--memory-limit", "ram=1K")
        self.assertIn("the smallest limit that works is --memory-limit ram=", text)
        self.assertNotIn("--quantize", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
