#!/usr/bin/env python3
"""The examples with pictures and sound, on models made here and, where they are, on real ones.

usage: examples_test.py TENON EXAMPLES_FOLDER SCRIPTS_FOLDER BACKEND_LIBRARY SHARED_FOLDER
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

TENON, BIN, SCRIPTS, OWN_BACKEND, SHARED = (
    pathlib.Path(os.path.abspath(argument)) for argument in sys.argv[1:6])
sys.path.insert(0, str(SCRIPTS))
import onnx_writer as onnx

try:
    import numpy as np
except ImportError:
    np = None

WORDS = "_silence_ _unknown_ yes no up down left right on off stop go".split()


def ppm(width, height, pixels):
    return b"P6\n%d %d\n255\n" % (width, height) + bytes(pixels)


def plain(width, height, rgb):
    return ppm(width, height, list(rgb) * (width * height))


class Example(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, data):
        (self.folder / name).write_bytes(data)

    def call(self, *command):
        return subprocess.run([str(word) for word in command], cwd=self.folder, timeout=240, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def done(self, *command):
        result = self.call(*command)
        self.assertEqual(result.returncode, 0, (command, result.stderr))
        return result.stdout

    def example(self, name, *arguments):
        if not (BIN / name).is_file():
            self.skipTest(f"{name} is not built: stb_image.h is missing")
        return self.done(BIN / name, *arguments)

    def refuses(self, name, *arguments):
        if not (BIN / name).is_file():
            self.skipTest(f"{name} is not built: stb_image.h is missing")
        result = self.call(BIN / name, *arguments)
        self.assertEqual(result.returncode, 1, result.stdout)
        return result.stderr

    def convert(self, model, plan, *options):
        self.done(TENON, "convert", model, "-o", plan, "--board", "x86-64", "--batch", "1", *options)

    def model_of(self, folder, file):
        path = SHARED / "models" / folder / file
        if np is None or not path.is_file():
            self.skipTest("needs NumPy and the shared models")
        return path

    def picture_of(self, name, array, mean, scale, bgr=False):
        """A prepared input [1, 3, H, W] as the picture that it was made of."""
        values = np.clip(np.rint(array[0] / scale + mean), 0, 255).astype(np.uint8)
        if bgr:
            values = values[::-1]
        self.write(name, ppm(array.shape[3], array.shape[2], values.transpose(1, 2, 0).tobytes()))


def mean_colour(side):
    """How red, green and blue a picture is, as scores of three classes."""
    nodes = [onnx.node("GlobalAveragePool", ["image"], ["mean"]), onnx.node("Flatten", ["mean"], ["scores"])]
    return onnx.model(nodes, [onnx.value("image", [1, 3, side, side])], [onnx.value("scores", [1, 3])])


class Classify(Example):
    def setUp(self):
        super().setUp()
        self.write("colour.onnx", mean_colour(8))
        self.convert("colour.onnx", "colour.tenon")
        self.write("labels.txt", b"red\ngreen\nblue\n")

    def test_the_colour_of_a_picture_of_any_size_is_named(self):
        for name, rgb in [("red", (200, 10, 20)), ("green", (5, 90, 80)), ("blue", (0, 0, 255))]:
            for size in [(8, 8), (31, 17), (2, 3)]:
                self.write("p.ppm", plain(*size, rgb))
                text = self.example("classify_picture", "colour.tenon", "p.ppm", "--labels", "labels.txt", "--top", "1")
                self.assertEqual(text, f"p.ppm:  {name} {max(rgb):.4f}\n")

    def test_mean_scale_and_order_are_those_asked_for(self):
        self.write("p.ppm", plain(5, 5, (30, 60, 90)))
        text = self.example("classify_picture", "colour.tenon", "p.ppm", "--mean", "10,20,30", "--scale", "0.1",
                            "--order", "bgr", "--labels", "labels.txt")
        self.assertEqual(text, "p.ppm:  red 8.0000  green 4.0000  blue 0.0000\n")

    def test_bytes_with_channels_last_are_given_as_a_camera_gives_them(self):
        self.convert("colour.onnx", "bytes.tenon", "--input-format", "image=u8,nhwc,scale=0.5")
        self.write("p.ppm", plain(9, 9, (30, 60, 90)))
        text = self.example("classify_picture", "bytes.tenon", "p.ppm", "--labels", "labels.txt", "--scale", "0.5")
        self.assertEqual(text, "p.ppm:  blue 45.0000  green 30.0000  red 15.0000\n")

    def test_what_cannot_be_read_is_said(self):
        self.assertIn("cannot read 'missing'", self.refuses("classify_picture", "colour.tenon", "missing"))
        self.write("p.ppm", b"P6\n")
        self.assertIn("cannot read 'p.ppm'", self.refuses("classify_picture", "colour.tenon", "p.ppm"))
        self.assertIn("usage", self.refuses("classify_picture"))

    def test_a_real_network_names_a_real_picture_as_its_reference_does(self):
        model = self.model_of("mobilenet_v2_224", "model_fp32.onnx")
        self.convert(model, "m.tenon")
        array = np.load(model.parent / "model_fp32.input_0.npy")
        self.picture_of("cat.ppm", array, 127, 1 / 127.5)
        expected = np.load(model.parent / "model_fp32.output_0.npy")[0]
        text = self.example("classify_picture", "m.tenon", "cat.ppm", "--mean", "127", "--scale", "0.00784313725",
                            "--top", "1")
        name, score = text.split("class ")[1].split()
        self.assertEqual(int(name), int(expected.argmax()))
        self.assertAlmostEqual(float(score), float(expected.max()), places=2)


class Calibration(Example):
    def script(self, *arguments):
        if np is None:
            self.skipTest("needs NumPy")
        return self.done(sys.executable, SCRIPTS / "pictures_to_npy.py", *arguments)

    def test_arrays_are_what_the_example_gives_the_network(self):
        if np is None:
            self.skipTest("needs NumPy")
        self.write("colour.onnx", mean_colour(8))
        self.convert("colour.onnx", "colour.tenon")
        (self.folder / "pictures").mkdir()
        generator = np.random.default_rng(3)
        for name, (width, height) in {"a": (8, 8), "b": (40, 23), "c": (3, 5)}.items():
            pixels = generator.integers(0, 256, width * height * 3, dtype=np.uint8)
            self.write(f"pictures/{name}.ppm", ppm(width, height, pixels.tobytes()))
        self.write("pictures/notes.txt", b"no picture")
        options = ["--mean", "100,110,120", "--scale", "0.02", "--order", "bgr"]
        self.assertIn("3 arrays", self.script("pictures", "arrays", "--size", "8x8", *options))
        for name in "abc":
            scores = np.load(self.folder / f"arrays/{name}.npy").mean(axis=(2, 3))[0]
            shown = self.example("classify_picture", "colour.tenon", f"pictures/{name}.ppm", *options)
            for found in shown.split(":")[1].split("class ")[1:]:
                index, value = found.split()
                self.assertAlmostEqual(float(value), float(scores[int(index)]), places=3)

    def test_a_folder_of_pictures_calibrates_a_network(self):
        if np is None:
            self.skipTest("needs NumPy")
        weights = [0.1 * (i % 7 - 3) for i in range(4 * 3 * 3 * 3)]
        nodes = [onnx.node("Conv", ["image", "w"], ["y"], kernel_shape=[3, 3])]
        self.write("net.onnx", onnx.model(nodes, [onnx.value("image", [1, 3, 8, 8])],
                                          [onnx.value("y", [1, 4, 6, 6])], [onnx.tensor("w", [4, 3, 3, 3], weights)]))
        (self.folder / "pictures").mkdir()
        generator = np.random.default_rng(5)
        for i in range(6):
            self.write(f"pictures/{i}.ppm", ppm(10, 9, generator.integers(0, 256, 270, dtype=np.uint8).tobytes()))
        self.script("pictures", "arrays", "--size", "8x8", "--mean", "127.5", "--scale", "0.0078")
        self.convert("net.onnx", "net.tenon", "--quantize=int8", "--calibration", "arrays")
        self.script("pictures", "bytes", "--size", "8x8", "--type", "u8", "--layout", "nhwc")
        self.assertEqual(np.load(self.folder / "bytes/0.npy").shape, (1, 8, 8, 3))

    def test_wrong_use_is_answered(self):
        if np is None:
            self.skipTest("needs NumPy")
        (self.folder / "empty").mkdir()
        for arguments, words in [(["nowhere", "out", "--size", "8x8"], "no such folder"),
                                 (["empty", "out", "--size", "8x8"], "no picture"),
                                 (["empty", "out", "--size", "8"], "WIDTHxHEIGHT")]:
            result = self.call(sys.executable, SCRIPTS / "pictures_to_npy.py", *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr)


class Detect(Example):
    def test_the_faces_of_a_real_picture_are_found_where_the_reference_has_them(self):
        model = self.model_of("ultraface_rfb320", "model.onnx")
        self.convert(model, "faces.tenon")
        self.picture_of("p.ppm", np.load(model.parent / "model.input_0.npy"), 127, 1 / 128)
        scores, boxes = (np.load(model.parent / f"model.output_{i}.npy")[0] for i in range(2))
        text = self.example("detect_in_picture", "faces.tenon", "p.ppm", "--mean", "127", "--scale", "0.0078125",
                            "--least", "0.7", "--out", "marked.ppm")
        found = text.splitlines()
        self.assertGreaterEqual(len(found), 2, text)
        best = boxes[scores[:, 1].argmax()] * [320, 240, 320, 240]
        shown = found[0].split(" at ")[1].replace(" to ", ",").split(",")
        for value, expected in zip(shown, best):
            self.assertAlmostEqual(float(value), float(expected), delta=1)
        marked = (self.folder / "marked.ppm").read_bytes()
        self.assertTrue(marked.startswith(b"P6\n320 240\n255\n"))
        self.assertEqual(len(marked), 320 * 240 * 3 + len(b"P6\n320 240\n255\n"))
        self.assertGreater(marked.count(b"\x00\xff\x00"), 50)

    def test_the_things_of_a_real_picture_are_those_of_the_reference(self):
        model = self.model_of("fastestdet_352", "model.onnx")
        self.convert(model, "things.tenon")
        self.picture_of("p.ppm", np.load(model.parent / "input_0.npy"), 0, 1 / 255, bgr=True)
        cells = np.load(model.parent / "output_0.npy")[0]
        score = cells[0] ** 0.6 * cells[5:].max(axis=0) ** 0.4
        text = self.example("detect_in_picture", "things.tenon", "p.ppm", "--scale", "0.00392156863", "--order", "bgr",
                            "--least", "0.5")
        name, shown = text.splitlines()[0].split(" at ")[0].rsplit(" ", 1)
        y, x = np.unravel_index(score.argmax(), score.shape)
        self.assertEqual(name, f"class {cells[5:, y, x].argmax()}")
        self.assertAlmostEqual(float(shown), float(score.max()), places=2)


def yuyv(y, u, v, count):
    return bytes([y, u, y, v]) * (count // 2)


class Camera(Example):
    def setUp(self):
        super().setUp()
        self.write("colour.onnx", mean_colour(4))
        self.convert("colour.onnx", "colour.tenon")
        self.write("labels.txt", b"red\ngreen\nblue\n")

    def test_pictures_are_classified_one_after_the_other(self):
        frames = [yuyv(81, 90, 240, 96), yuyv(145, 54, 34, 96), yuyv(41, 240, 110, 96)]  # BT.601's red, green, blue
        self.write("frames.yuyv", b"".join(frames))
        text = self.example("camera", "colour.tenon", "--from", "frames.yuyv", "--size", "12x8", "--labels", "labels.txt")
        lines = [line.split()[:2] for line in text.splitlines()]
        self.assertEqual([line[0] for line in lines], ["red", "green", "blue"])
        for line in lines:
            self.assertGreater(float(line[1]), 250)

    def test_so_many_as_asked_for(self):
        self.write("frames.yuyv", yuyv(81, 90, 240, 96) * 5)
        text = self.example("camera", "colour.tenon", "--from", "frames.yuyv", "--size", "12x8", "--frames", "2")
        self.assertEqual(len(text.splitlines()), 2)

    def test_a_camera_that_is_not_there_is_said(self):
        self.assertIn("No such file", self.refuses("camera", "colour.tenon", "--device", "/dev/nothing"))
        self.assertIn("cannot be read", self.refuses("camera", "colour.tenon", "--from", "missing"))
        self.assertIn("not one picture", self.refuses("camera", "colour.tenon", "--from", "colour.onnx"))


class OwnBackend(Example):
    def setUp(self):
        super().setUp()
        self.library = OWN_BACKEND
        nodes = [onnx.node("Relu", ["x"], ["r"], "first"), onnx.node("Exp", ["r"], ["y"], "second")]
        self.write("net.onnx", onnx.model(nodes, [onnx.value("x", [1, 6])], [onnx.value("y", [1, 6])]))
        board = json.loads((SCRIPTS.parent / "sdk/boards/x86-64.json").read_text())
        board["units"].append({**board["units"][0], "name": "own", "backend": "mine"})
        board["priorities"].insert(0, {"backend": "mine", "op": "unary", "priority": 1})
        board["priorities"][1]["priority"] = 2
        self.write("board.json", json.dumps(board).encode())

    def test_a_backend_in_a_library_is_converted_for_and_run(self):
        options = ["--board", "board.json", "--backend", self.library]
        self.done(TENON, "convert", "net.onnx", "-o", "net.tenon", *options)
        ops = json.loads(self.done(TENON, "inspect", "net.tenon", "--json"))["ops"]
        self.assertEqual([(op["backend"], op["kernel"]) for op in ops if op["name"] == "first"], [("mine", "mine.unary.plain")])
        self.done(TENON, "run", "net.tenon", "--zeros", "--backend", self.library)
        self.done(TENON, "diff", "net.tenon", "net.onnx", "--backend", self.library)
        self.done(TENON, "bench", "net.tenon", "--iterations", "3", "--backend", self.library)
        result = self.call(TENON, "run", "net.tenon", "--zeros")
        self.assertEqual(result.returncode, 5)
        self.assertIn("'mine'", result.stderr)

    def test_what_is_no_backend_is_refused(self):
        for file, words in [("missing.so", "no such file"), ("net.onnx", "--backend net.onnx: ")]:
            for command in (["convert", "net.onnx", "-o", "p.tenon", "--board", "board.json"], ["run", "p.tenon"]):
                result = self.call(TENON, *command, "--backend", file)
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertIn(words, result.stderr)

    def test_a_board_s_backend_that_is_not_given_gets_no_op(self):
        self.done(TENON, "convert", "net.onnx", "-o", "p.tenon", "--board", "board.json")
        ops = json.loads(self.done(TENON, "inspect", "p.tenon", "--json"))["ops"]
        self.assertEqual({op["backend"] for op in ops}, {"cpu"})


def wav(samples, rate=16000, channels=1, bits=16):
    data = struct.pack(f"<{len(samples)}h", *samples)
    header = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * bits // 8, channels * bits // 8, bits)
    chunks = b"fmt " + struct.pack("<I", 16) + header + b"LIST" + struct.pack("<I", 3) + b"abc\0"
    chunks += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


class Keywords(Example):
    def setUp(self):
        super().setUp()
        nodes = [onnx.node("ReduceMean", ["sound"], ["mean"], axes=[1], keepdims=1), onnx.node("Neg", ["mean"], ["less"]),
                 onnx.node("Concat", ["mean", "less"], ["scores"], axis=1)]
        self.write("sign.onnx", onnx.model(nodes, [onnx.value("sound", [1, 8])], [onnx.value("scores", [1, 2])]))
        self.convert("sign.onnx", "sign.tenon")
        self.write("labels.txt", b"above\nbelow\n")

    def test_windows_follow_each_other_and_the_last_ends_in_silence(self):
        self.write("s.wav", wav([8000] * 8 + [-8000] * 8 + [8000] * 4))
        text = self.example("keywords", "sign.tenon", "s.wav", "--step", "0.0005", "--labels", "labels.txt")
        self.assertEqual([line.split()[2] for line in text.splitlines()], ["above", "below", "above"])

    def test_the_first_of_two_channels_is_heard(self):
        self.write("s.wav", wav([-8000, 8000] * 8, channels=2))
        self.assertIn("below", self.example("keywords", "sign.tenon", "s.wav", "--labels", "labels.txt"))

    def test_what_is_no_such_recording_is_said(self):
        whole = wav([1] * 8)
        self.write("cut.wav", whole[:-3])
        self.write("bits.wav", wav([1] * 8, bits=8))
        for name in ["cut.wav", "bits.wav", "sign.onnx", "missing"]:
            self.assertIn("is not a WAV file", self.refuses("keywords", "sign.tenon", name))
        self.write("slow.wav", wav([1] * 8, rate=8000))
        self.assertIn("8000 samples a second, 16000 are wanted", self.refuses("keywords", "sign.tenon", "slow.wav"))
        self.write("s.wav", whole)
        self.assertIn("--step", self.refuses("keywords", "sign.tenon", "s.wav", "--step", "no"))

    def test_a_real_network_hears_the_word_that_was_said(self):
        model = self.model_of("kwt1_transformer", "model.onnx")
        self.convert(model, "words.tenon")
        samples = np.load(model.parent / "model.input_0.npy")[0]
        self.write("yes.wav", wav(np.rint(samples * 32768).astype(int).tolist()))
        self.write("words.txt", "\n".join(WORDS).encode())
        text = self.example("keywords", "words.tenon", "yes.wav", "--labels", "words.txt")
        self.assertRegex(text.splitlines()[0], r"^ *0\.00 s: yes 0\.9\d")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
