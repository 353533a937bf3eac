"""The `tenon` command under wrong use, broken files, full disks and kills.

The law is the contract of exit statuses: 0 done, 1 the answer is no, 2 usage, 3 input refused, 4 does
not fit, 5 device or output failure; the first line of stderr says `tenon: error: ...`; and no call
leaves a partial or a temporary file.
"""
import json
import os
import pathlib
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"
BOARD = ["--board", "x86-64"]
COMMANDS = ["convert", "run", "bench", "check", "inspect", "boards", "place", "profile"]


def npy(shape, values, descr="<f4", order="False", magic=b"\x93NUMPY\x01\x00"):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return magic + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


def relu(shape, outputs=("y",)):
    nodes = [onnx.node("Relu", ["x"], [o]) for o in outputs]
    return onnx.model(nodes, [onnx.value("x", shape)], [onnx.value(o, shape) for o in outputs])


class CliTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("ok.onnx", relu([1, 4]))
        self.write("x.npy", npy("(1, 4)", [1, -2, 3, -4]))

    def write(self, name, data):
        (self.folder / name).write_bytes(data)
        return name

    def tenon(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run([TENON, *arguments], cwd=self.folder, stderr=subprocess.PIPE, timeout=120,
                              **options)

    def done(self, *arguments, **options):
        result = self.tenon(*arguments, **options)
        self.assertEqual(result.returncode, 0, (arguments, result.stderr.decode()))
        return result.stdout.decode()

    def fails(self, status, *arguments, **options):
        """Expects the status and a proper message; returns the text of stderr."""
        before = {p: p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}
        result = self.tenon(*arguments, **options)
        text = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, status, (arguments, text))
        self.assertTrue(text.startswith("tenon: error: "), (arguments, text))
        after = {p: p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}
        self.assertEqual(before, after, (arguments, "files changed"))
        return text

    def convert(self, model="ok.onnx", plan="ok.tenon", *options):
        self.done("convert", model, "-o", plan, *BOARD, *options)
        return plan

    def converts_model(self, data, *options):
        self.convert(self.write("model.onnx", data), "model.tenon", *options)
        return "model.tenon"

    def refuses_model(self, data, *options, status=3):
        self.write("model.onnx", data)
        return self.fails(status, "convert", "model.onnx", "-o", "model.tenon", *BOARD, *options)


class Usage(CliTest):
    def test_every_command_has_help(self):
        for command in COMMANDS:
            self.assertIn("Usage:", self.done(command, "--help"))
            self.assertIn(command, self.done("--help"))

    def test_help_names_every_option_that_the_usage_errors_name(self):
        text = self.done("convert", "--help")
        for option in ["--batch", "--shape", "--freeze", "--memory-limit", "--fuse", "--json", "-v", "-q", "-o", "--board"]:
            self.assertIn(option, text)

    def test_unknown_options_and_commands_are_usage_errors(self):
        for command in COMMANDS:
            self.fails(2, command, "--no-such-option")
        self.assertIn("bogus", self.fails(2, "bogus"))
        self.fails(2)

    def test_missing_arguments_are_usage_errors(self):
        for command in ["convert", "run", "bench", "check", "inspect", "place"]:
            self.fails(2, command)
        self.fails(2, "convert", "ok.onnx", *BOARD)
        self.fails(2, "convert", "ok.onnx", "-o", "p.tenon")

    def test_bad_option_values_are_usage_errors(self):
        self.convert()
        for value in ["0", "-1", "x", "1.5"]:
            text = self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--batch", value)
            self.assertLess(len(text), 300, "a message that people can read")
        for value in ["x", "x=", "=1x4", "x=1xx4", "x=1x4x", "x=-1x4", "x=4", "q=1x4", "x=99999999999x4"]:
            self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--shape", value)
        for value in ["ram", "ram=", "ram=-1", "ram=1Q", "ram=", "nope=4K", "ram=99999999999999999999", "ram=9223372036854775807G"]:
            self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--memory-limit", value)
        for value in ["x", "x=", "q=x.npy"]:
            self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--freeze", value)
        self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--fuse", "maybe")
        self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", "--board", "nope")
        for option in [["--rtol", "-1"], ["--atol", "nan"], ["--threads", "-1"], ["--threads", "999999"], ["--top", "-1"]]:
            self.fails(2, "run", "ok.tenon", "--zeros", *option)
        for option in [["--iterations", "0"], ["--warmup", "-1"], ["--threads", "x"]]:
            self.fails(2, "bench", "ok.tenon", *option)

    def test_options_given_twice_for_one_name_are_usage_errors(self):
        for option in [["--shape", "x=1x4"], ["--freeze", "x=x.npy"], ["--memory-limit", "ram=1M"]]:
            self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, *option, *option)
        self.convert()
        self.fails(2, "run", "ok.tenon", "--input", "x=x.npy", "--input", "x=x.npy")

    def test_an_output_that_would_replace_the_model_or_the_plan_is_a_usage_error(self):
        for same in ["ok.onnx", "./ok.onnx"]: self.fails(2, "convert", "ok.onnx", "-o", same, *BOARD)
        self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--json", "p.tenon")
        self.fails(2, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, "--json", "ok.onnx")

    def test_a_board_whose_name_is_no_file_name_is_a_usage_error(self):
        (self.folder / "loop").symlink_to("loop")
        for name in ["b" * 300, "loop", ""]: self.fails(2, "convert", "ok.onnx", "-o", "p", "--board", name)


class BrokenFiles(CliTest):
    def calls(self, name):
        return [["convert", name, "-o", "p.tenon", *BOARD], ["run", name, "--zeros"], ["bench", name],
                ["inspect", name], ["place", name]]

    def test_missing_files_folders_and_empty_files_are_refused(self):
        self.write("empty", b"")
        for name in ["missing", ".", "empty", "/dev/null"]:
            for call in self.calls(name):
                self.fails(3, *call)
        self.fails(3, "check", "missing")
        self.fails(3, "check", ".")

    @unittest.skipIf(os.geteuid() == 0, "root reads every file")
    def test_unreadable_files_are_refused(self):
        self.write("secret", b"x")
        (self.folder / "secret").chmod(0)
        for call in self.calls("secret"):
            self.fails(3, *call)

    def test_random_bytes_are_refused(self):
        source = random.Random(1)
        for size in [1, 3, 4, 63, 1000]:
            self.write("random", source.randbytes(size))
            for call in self.calls("random"):
                self.fails(3, *call)
            self.fails(1, "check", "random")

    def test_a_cut_model_is_refused_at_every_length(self):
        data = relu([1, 4])
        for size in range(1, len(data), 7):
            self.refuses_model(data[:size])

    def test_a_cut_plan_is_refused_at_every_length(self):
        data = (self.folder / self.convert("ok.onnx", "ok.tenon", "--decisions", "off")).read_bytes()
        for size in range(1, len(data), 61):
            self.write("cut.tenon", data[:size])
            self.fails(3, "run", "cut.tenon", "--zeros")
            self.fails(1, "check", "cut.tenon")

    def test_a_flipped_bit_anywhere_in_a_plan_is_seen(self):
        # No run reads the record of decisions behind the sections; see_test flips bits there.
        data = bytearray((self.folder / self.convert("ok.onnx", "ok.tenon", "--decisions", "off")).read_bytes())
        source = random.Random(2)
        for _ in range(40):
            at = source.randrange(len(data))
            flipped = bytearray(data)
            flipped[at] ^= 1 << source.randrange(8)
            self.write("flipped.tenon", bytes(flipped))
            result = self.tenon("run", "flipped.tenon", "--zeros")
            # Bytes between the parts of the file belong to nothing.
            self.assertIn(result.returncode, [0, 3])
            if result.returncode == 0:
                self.assertEqual(data[at], 0)

    def test_broken_arrays_are_refused(self):
        self.convert()
        good = npy("(1, 4)", [1, 2, 3, 4])
        broken = {
            "missing": None,
            "empty": b"",
            "text": b"1 2 3 4",
            "magic": good[:6],
            "cut header": good[:40],
            "cut data": good[:-1],
            "too long": good + b"\0",
            "version 9": b"\x93NUMPY\x09\x00" + good[8:],
            "Fortran order": npy("(1, 4)", [1, 2, 3, 4], order="True"),
            "big-endian": npy("(1, 4)", [1, 2, 3, 4], descr=">f4"),
            "integers": npy("(1, 4)", [1, 2, 3, 4], descr="<i4"),
            "objects": npy("(1, 4)", [1, 2, 3, 4], descr="|O"),
            "shape": npy("(4, 1)", [1, 2, 3, 4]),
            "size": npy("(1, 5)", [1, 2, 3, 4, 5]),
            "huge": npy("(2147483647, 2147483647, 2147483647)", [1]),
            "overflow": npy("(4294967296, 4294967296)", []),
            "negative": npy("(-1, 4)", [1, 2, 3, 4]),
            "no shape": npy("None", [1, 2, 3, 4]),
            "no header": b"\x93NUMPY\x01\x00\x00\x00",
            "record": npy("(1, 4)", [1, 2, 3, 4], descr="[('a', '<f4')]"),
        }
        for name, data in broken.items():
            with self.subTest(name):
                if data is not None:
                    self.write("broken.npy", data)
                path = "broken.npy" if data is not None else "missing.npy"
                self.fails(3, "run", "ok.tenon", "--input", f"x={path}")
        self.fails(3, "run", "ok.tenon", "--input", "x=.")
        self.fails(3, "run", "ok.tenon", "--zeros", "--expect", "y=missing.npy")


class Running(CliTest):
    def test_a_missing_input_is_named(self):
        self.convert()
        self.assertIn("'x'", self.fails(2, "run", "ok.tenon"))

    def test_wrong_names_are_answered_with_the_right_ones(self):
        self.convert()
        self.assertIn("'x'", self.fails(2, "run", "ok.tenon", "--input", "q=x.npy"))
        self.assertIn("'y'", self.fails(2, "run", "ok.tenon", "--zeros", "--expect", "q=x.npy"))

    def test_an_expectation_that_is_not_met_says_by_how_much(self):
        self.convert()
        self.write("y.npy", npy("(1, 4)", [1, 0, 3.5, 0]))
        result = self.tenon("run", "ok.tenon", "--input", "x=x.npy", "--expect", "y=y.npy")
        self.assertEqual(result.returncode, 1)
        self.assertIn("largest difference 0.5", result.stdout.decode())
        self.assertTrue(result.stderr.decode().startswith("tenon: error: "))
        self.done("run", "ok.tenon", "--input", "x=x.npy", "--expect", "y=y.npy", "--atol", "0.5")

    def test_nothing_but_a_number_meets_the_expectation_of_one(self):
        self.convert()
        self.write("nan.npy", npy("(1, 4)", [float("nan")] * 4))
        self.write("inf.npy", npy("(1, 4)", [float("inf"), 0, 3, 0]))
        for name in ["nan", "inf"]:
            self.assertEqual(self.tenon("run", "ok.tenon", "--input", "x=x.npy", "--expect", f"y={name}.npy").returncode, 1)

    def test_outputs_whose_names_make_one_file_name_are_all_written(self):
        self.converts_model(relu([1, 4], ["a/b", "a_b", "a\nb", "ü" * 20]))
        self.done("run", "model.tenon", "--zeros", "--output-dir", "out")
        names = os.listdir(self.folder / "out")
        self.assertEqual(len(names), 4, names)
        self.assertFalse([n for n in names if re.search(r"[\x00-\x1f]", n)])

    def test_a_scalar_goes_in_and_out(self):
        self.converts_model(relu([]))
        self.write("s.npy", npy("()", [2.5]))
        self.done("run", "model.tenon", "--input", "x=s.npy", "--expect", "y=s.npy")

    def test_a_model_whose_output_is_its_input_hands_it_through(self):
        self.converts_model(onnx.model([], [onnx.value("x", [1, 4])], [onnx.value("x", [1, 4])]))
        self.done("run", "model.tenon", "--input", "x=x.npy", "--expect", "x=x.npy")

    def test_an_input_that_has_no_elements_goes_in_and_out(self):
        self.converts_model(relu(["N", 4]), "--shape", "x=0x4")
        self.write("none.npy", npy("(0, 4)", []))
        self.assertIn("y: f32[0,4]", self.done("run", "model.tenon", "--input", "x=none.npy", "--expect", "y=none.npy"))


class Models(CliTest):
    def test_every_unsupported_op_is_listed_with_its_nodes(self):
        nodes = [onnx.node("Foo", ["x"], ["a"], "n1"), onnx.node("Bar", ["a"], ["b"], "n2", "my.domain"),
                 onnx.node("Foo", ["b"], ["y"], "n3")]
        text = self.refuses_model(onnx.model(nodes, [onnx.value("x", [1])], [onnx.value("y", [1])]))
        for part in ["Foo", "Bar", "n1", "n2", "n3", "my.domain"]:
            self.assertIn(part, text)

    def test_branches_of_other_shapes_are_refused_where_the_condition_is_an_input(self):
        short = onnx.graph([onnx.node("Relu", ["x"], ["q"])], [], [onnx.value("q", [1])])
        long = onnx.graph([onnx.node("Concat", ["x", "x"], ["q"], axis=0)], [], [onnx.value("q", [2])])
        branch = onnx.node("If", ["c"], ["y"], "choice", then_branch=short, else_branch=long)
        model = onnx.model([branch], [onnx.value("c", [], onnx.BOOL), onnx.value("x", [1])], [onnx.value("y", [1])])
        self.assertRegex(self.refuses_model(model), r"choice.*--freeze c=FILE.npy.*\[1\] and \[2\]")

    def test_an_unknown_dimension_is_answered_with_an_option_that_works(self):
        for shape in [["N", 4], ["N", "C"], [None, None]]:
            text = self.refuses_model(relu(shape))
            option = re.search(r"--shape (\S+)", text).group(1)
            self.converts_model(relu(shape), "--shape", option)
        self.assertIn("--batch", self.refuses_model(relu(["N", 4])))
        self.converts_model(relu(["N", 4]), "--batch", "3")
        self.write("b.npy", npy("(3, 4)", [1] * 12))
        self.done("run", "model.tenon", "--input", "x=b.npy", "--expect", "y=b.npy")

    def test_a_shape_given_as_input_is_answered_with_freeze_and_that_works(self):
        model = onnx.model([onnx.node("Reshape", ["x", "s"], ["y"])],
                           [onnx.value("x", [1, 4]), onnx.value("s", [2], onnx.INT64)], [onnx.value("y", [None, None])])
        self.assertIn("--freeze s=", self.refuses_model(model))
        header = npy("(2,)", [], descr="<i8")
        self.write("s.npy", header + struct.pack("<2q", 2, 2))
        self.converts_model(model, "--freeze", "s=s.npy")
        self.write("bad.npy", header + struct.pack("<2q", 3, 2))
        self.refuses_model(model, "--freeze", "s=bad.npy")
        self.refuses_model(model, "--freeze", "s=missing.npy")

    def test_a_limit_that_is_too_small_names_one_that_works(self):
        nodes = [onnx.node("Relu", ["x"], ["a"]), onnx.node("MatMul", ["a", "w"], ["y"])]
        model = onnx.model(nodes, [onnx.value("x", [1, 300])], [onnx.value("y", [1, 50])],
                           [onnx.tensor("w", [300, 50], [0.5] * 15000)])
        text = self.refuses_model(model, "--memory-limit", "ram=1K", status=4)
        option, limit = re.search(r"--memory-limit (ram=(\d+))", text).groups()
        self.converts_model(model, "--memory-limit", option)
        self.fails(4, "convert", "model.onnx", "-o", "small.tenon", *BOARD, "--memory-limit", f"ram={int(limit) - 1}")

    def test_external_data_must_be_there_whole_and_inside_the_folder(self):
        def model(*arguments):
            return onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [1, 4])], [onnx.value("y", [1, 4])],
                              [onnx.external_tensor("w", [4], *arguments)])
        self.write("w.bin", struct.pack("<4f", 1, 2, 3, 4))
        self.converts_model(model("w.bin"))
        self.write("sum.npy", npy("(1, 4)", [2, 0, 6, 0]))
        self.done("run", "model.tenon", "--input", "x=x.npy", "--expect", "y=sum.npy")
        (self.folder / "link").symlink_to("/etc/hostname")
        for arguments in [("none.bin",), ("w.bin", 4), ("w.bin", 2**64 - 8), ("w.bin", 0, 8), ("w.bin", "x"), ("../w.bin",),
                          ("/etc/hostname",), ("link",), ("",), (".",)]:
            with self.subTest(arguments):
                os.unlink(self.folder / "model.tenon") if (self.folder / "model.tenon").exists() else None
                self.refuses_model(model(*arguments))

    def test_initialisers_that_are_inputs_too_are_constants(self):
        model = onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [1, 4]), onnx.value("w", [4])],
                           [onnx.value("y", [1, 4])], [onnx.tensor("w", [4], [1, 1, 1, 1])])
        self.converts_model(model)
        self.write("sum.npy", npy("(1, 4)", [2, -1, 4, -3]))
        self.done("run", "model.tenon", "--input", "x=x.npy", "--expect", "y=sum.npy")

    def test_windows_far_larger_than_the_image_take_no_longer_than_it(self):
        size = 1 << 27
        self.write("ones.npy", npy("(1, 2, 9, 9)", [1] * 162))
        self.write("many.npy", npy("(1, 2, 10, 10)", [1] * 200))
        for op in ["MaxPool", "AveragePool"]:
            pool = onnx.node(op, ["x"], ["y"], kernel_shape=[size, size], pads=[size // 2] * 4)
            self.converts_model(onnx.model([pool], [onnx.value("x", [1, 2, 9, 9])], [onnx.value("y", [1, 2, 10, 10])]))
            for option in [[], ["--portable"]]:
                self.done("run", "model.tenon", "--input", "x=ones.npy", "--expect", "y=many.npy", *option)

    def test_strange_names_stay_on_one_line_of_the_message(self):
        name = "a\nb\x1b[31m" + "c" * 5000
        model = onnx.model([onnx.node("Foo", ["x"], ["y"], name)], [onnx.value("x", [1])], [onnx.value("y", [1])])
        text = self.refuses_model(model)
        self.assertEqual(len(text.splitlines()), 2)
        self.assertNotIn("\x1b", text)
        self.converts_model(relu([1, 4], ["ü/\n\t" + "d" * 3000]))
        self.done("inspect", "model.tenon", "--json")


class Outputs(CliTest):
    def leftovers(self, *expected):
        return sorted(set(os.listdir(self.folder)) - {"ok.onnx", "x.npy", *expected})

    def test_outputs_that_cannot_be_written_are_errors_and_leave_nothing(self):
        self.convert()
        for target in ["/dev/full", "missing/p.tenon", ".", "ok.onnx/p.tenon"]:
            self.fails(5, "convert", "ok.onnx", "-o", target, *BOARD)
        self.fails(5, "run", "ok.tenon", "--zeros", "--output-dir", "ok.onnx")
        self.fails(5, "bench", "ok.tenon", "--iterations", "1", "--json", "/dev/full")
        self.fails(5, "convert", "ok.onnx", "-o", "/dev/null", *BOARD, "--json", "/dev/full")
        self.assertEqual(self.leftovers("ok.tenon"), [])

    def test_a_failed_conversion_leaves_the_old_plan(self):
        self.write("model.tenon", b"old")
        self.refuses_model(relu(["N", 4]))
        self.refuses_model(relu([1, 400]), "--memory-limit", "ram=1", status=4)
        self.assertEqual((self.folder / "model.tenon").read_bytes(), b"old")

    def limited(self, bytes_):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))
        return limit

    def test_a_file_that_cannot_grow_leaves_the_old_plan_and_nothing_else(self):
        self.write("p.tenon", b"old")
        self.fails(5, "convert", "ok.onnx", "-o", "p.tenon", *BOARD, preexec_fn=self.limited(500))
        self.assertEqual(self.leftovers("p.tenon"), [])

    def test_a_full_disk_leaves_the_old_plan_and_nothing_else(self):
        mount = self.folder / "full"
        mount.mkdir()
        made = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", mount], capture_output=True).returncode == 0
        if not made:
            self.skipTest("cannot mount a small file system here")
        self.addCleanup(subprocess.run, ["umount", mount], check=True)
        (mount / "p.tenon").write_bytes(b"old")
        big = onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [5000])], [onnx.value("y", [5000])],
                         [onnx.tensor("w", [5000], bytes(range(200)) * 100)])
        self.write("big.onnx", big)
        self.fails(5, "convert", "big.onnx", "-o", "full/p.tenon", *BOARD)
        self.assertEqual(os.listdir(mount), ["p.tenon"])

    def test_standard_output_that_is_full_or_closed_is_an_error(self):
        self.convert()
        with open("/dev/full", "wb") as full:
            for call in [["boards"], ["inspect", "ok.tenon"], ["run", "ok.tenon", "--zeros"], ["check", "ok.tenon"], ["--help"]]:
                self.fails(5, *call, stdout=full)
        self.fails(5, "boards", stdout=None, preexec_fn=lambda: os.close(1))

    def test_a_reader_that_goes_away_ends_the_command_quietly(self):
        self.convert()
        read, write = os.pipe()
        os.close(read)
        result = self.tenon("inspect", "ok.tenon", stdout=write)
        os.close(write)
        self.assertIn(result.returncode, [5, -signal.SIGPIPE])

    def test_a_kill_at_any_time_leaves_the_old_plan_or_the_new_one(self):
        weights = random.Random(3).randbytes(4 << 20)
        self.write("big.onnx", onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [1 << 20])],
                                          [onnx.value("y", [1 << 20])], [onnx.tensor("w", [1 << 20], weights)]))
        start = time.monotonic()
        new = (self.folder / self.convert("big.onnx", "new.tenon")).read_bytes()
        whole = time.monotonic() - start
        source = random.Random(4)
        for _ in range(15):
            self.write("p.tenon", b"old")
            process = subprocess.Popen([TENON, "convert", "big.onnx", "-o", "p.tenon", *BOARD], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(source.uniform(0.3, 1.1) * whole)
            process.kill()
            process.wait()
            self.assertIn((self.folder / "p.tenon").read_bytes(), [b"old", new])


class Boards(CliTest):
    def test_there_is_one_line_for_each_board_and_a_plan_for_each_runs_here(self):
        lines = self.done("boards").splitlines()
        names = [line.split()[0] for line in lines]
        self.assertEqual(names, ["cortex-m0plus", "cortex-m33", "cortex-m4", "cortex-m55", "cortex-m7", "kv260", "npu-3unit", "rk3588", "x86-64", "x86-64-avx2", "x86-64-avx512",
                                 "x86-64-fpga", "x86-64-gpu", "x86-64-opencl", "x86-64-opencl-fpga", "x86-64-xeon"])
        self.assertIn("dma + matrix + vector; sram 2 MiB, ddr 512 MiB", lines[names.index("npu-3unit")])
        self.write("y.npy", npy("(1, 4)", [1, 0, 3, 0]))
        for name in names:
            self.done("convert", "ok.onnx", "-o", "p.tenon", "--board", name)
            self.done("run", "p.tenon", "--input", "x=x.npy", "--expect", "y=y.npy")

    def test_a_board_file_with_a_mistake_is_a_usage_error_that_names_the_key(self):
        unit = {"name": "u", "backend": "cpu", "kind": "cpu", "threads": 1, "ops": ["convolve"],
                "multiply_accumulates_per_second": {"f32": 1}, "elementary_ops_per_second": 1}
        board = {"name": "b", "units": [unit], "links": [], "priorities": [],
                 "memory_spaces": [{"name": "ram", "bytes": 4096, "arena": True, "constants": True}]}
        self.write("b.json", json.dumps(board).encode())
        call = ["convert", "ok.onnx", "-o", "p.tenon", "--board", "b.json"]
        self.assertIn("units[0] has the unknown op kind 'convolve' in 'ops'", self.fails(2, *call))
        unit["ops"] = ["unary"]
        self.write("b.json", json.dumps(board).encode())
        self.assertIn("the board's priority table has no row for unary on 'cpu'", self.fails(3, *call))
        board["priorities"] = [{"backend": "cpu", "op": "unary", "priority": 1}]
        self.write("b.json", json.dumps(board).encode())
        self.done(*call)


class Place(CliTest):
    def place(self, text, *options):
        self.write("b.csv", text.encode())
        return ["place", "b.csv", *options]

    def test_malformed_tables_are_refused(self):
        for text in ["", "a,b\n", "id,lower,upper\n1,2,3\n", "id,lower,upper,size\n1,2\n", "id,lower,upper,size\n1,3,2,4\n",
                     "id,lower,upper,size\n1,0,1,-4\n", "id,lower,upper,size\n1,0,1,x\n",
                     "id,lower,upper,size\n1,0,1,99999999999999999999\n"]:
            with self.subTest(text):
                self.fails(3, *self.place(text))

    def test_a_limit_that_cannot_be_met_says_what_is_needed(self):
        text = "id,lower,upper,size\na,0,2,64\nb,1,3,64\n"
        self.assertIn("128", self.fails(4, *self.place(text, "--limit", "127")))
        self.done(*self.place(text, "--limit", "128"))
        for value in ["x", "-1", "1Q"]:
            self.fails(2, *self.place(text, "--limit", value))
        self.fails(2, *self.place(text, "--time-limit", "-1"))

    def test_sizes_whose_sum_is_too_large_are_refused(self):
        rows = "".join(f"{i},0,1,9223372036854775807\n" for i in range(4))
        self.fails(3, *self.place("id,lower,upper,size\n" + rows))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
