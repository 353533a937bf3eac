"""The Python package, as the tests of the build and of the wheel run it. SOURCE_DIR is the tree."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import tenon

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])
DIGITS = SOURCE / "sdk/models/digits"


def command(*words):
    return subprocess.run([sys.executable, "-m", "tenon", *map(str, words)], text=True,
                          capture_output=True, check=False)


class WithPlan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.file = cls.path / "digits.tenon"
        cls.decisions = tenon.convert(DIGITS / "digits.onnx", cls.file, board="x86-64", batch=1)
        cls.plan = tenon.Plan(cls.file)
        cls.image = numpy.load(DIGITS / "samples/image_15_is_7.npy").reshape(
            cls.plan.inputs[0].shape)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class ExampleTest(unittest.TestCase):
    def test_the_example_names_a_real_picture_as_the_reference_does(self):
        model = pathlib.Path(os.environ.get("TENON_SHARED", SOURCE.parent / "shared"),
                             "models/mobilenet_v2_224/model_fp32.onnx")
        example = SOURCE / "python/examples/classify_picture.py"
        if not model.is_file() or not example.is_file():
            self.skipTest("needs the shared models and the tree")
        image = numpy.load(model.with_name("model_fp32.input_0.npy"))[0]
        pixels = numpy.clip(numpy.rint(image * 127.5 + 127), 0, 255).astype(numpy.uint8).transpose(1, 2, 0)
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder, "cat.ppm")
            picture.write_bytes(b"P6\n%d %d\n255\n" % pixels.shape[1::-1] + pixels.tobytes())
            done = subprocess.run([sys.executable, example, model, picture, "--mean", "127", "--scale",
                                   "0.00784313725"], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        first = re.search(r"class (\d+): ([\d.]+)", done.stdout)
        expected = numpy.load(model.with_name("model_fp32.output_0.npy"))[0]
        self.assertEqual(int(first[1]), int(expected.argmax()))
        self.assertAlmostEqual(float(first[2]), float(expected.max()), places=2)


class ConversionTest(WithPlan):
    def test_opening_a_plan_loads_the_backends_that_it_names_alone(self):
        program = ("import sys, tenon\n"
                   "tenon.Plan(sys.argv[1])\n"
                   "before = open('/proc/self/maps').read()\n"
                   "names = tenon.backends()\n"
                   "after = open('/proc/self/maps').read()\n"
                   "print('_backend_' in before, len(names) > 1, '_backend_' in after)\n")
        done = subprocess.run([sys.executable, "-c", program, self.file], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        loaded_before, has_others, loaded_after = done.stdout.split()
        self.assertEqual(loaded_before, "False")
        self.assertEqual(has_others, loaded_after)

    def test_plans_have_the_bytes_of_the_commands(self):
        by_command = self.path / "by_command.tenon"
        done = command("convert", DIGITS / "digits.onnx", "-o", by_command, "--board", "x86-64",
                       "--batch", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.file.read_bytes(), by_command.read_bytes())

    def test_decisions_are_those_of_the_json_file(self):
        self.assertGreater(self.decisions["predicted"]["latency_ms"], 0)

    def test_options_are_the_commands(self):
        small = self.path / "small.tenon"
        tenon.convert(DIGITS / "digits.onnx", small, board="x86-64", batch=1,
                      memory_limit={"ram": "20K"}, key_nodes=False, order="source")
        self.assertLessEqual(sum(tenon.Plan(small).arenas.values()), 20 * 1024)
        recorded = json.dumps(tenon.inspect(small)["options"])
        self.assertIn("20K", recorded)

    def test_a_model_that_is_not_there_is_refused_with_the_commands_words(self):
        with self.assertRaises(tenon.InputRefused) as caught:
            tenon.convert("no-such.onnx", self.path / "x.tenon", board="x86-64")
        self.assertIn("no-such.onnx", str(caught.exception))
        self.assertEqual(caught.exception.status, 3)

    def test_paths_may_be_bytes_of_any_kind(self):
        for path in (b"caf\xe9.onnx", "caf\udce9.onnx"):
            with self.assertRaisesRegex(tenon.InputRefused, r"caf\\xe9.onnx: no such file"):
                tenon.convert(path, self.path / "x.tenon", board="x86-64")

    def test_a_shape_may_be_an_array(self):
        file = self.path / "shape.tenon"
        tenon.convert(DIGITS / "digits.onnx", file, board="x86-64",
                      shape={"image": numpy.array(self.plan.inputs[0].shape)})
        self.assertEqual(tenon.Plan(file).inputs[0].shape, self.plan.inputs[0].shape)

    def test_a_path_that_begins_with_a_dash_is_no_option(self):
        with self.assertRaisesRegex(tenon.InputRefused, "--help: no such file"):
            tenon.convert("--help", self.path / "x.tenon", board="x86-64")

    def test_a_limit_that_cannot_be_met_says_what_can(self):
        with self.assertRaises(tenon.DoesNotFit) as caught:
            tenon.convert(DIGITS / "digits.onnx", self.path / "x.tenon", board="x86-64", batch=1,
                          memory_limit={"ram": 1000})
        self.assertEqual(caught.exception.status, 4)
        self.assertFalse((self.path / "x.tenon").exists())

    def test_an_unknown_option_is_a_usage_error(self):
        with self.assertRaises(tenon.UsageError) as caught:
            tenon.convert(DIGITS / "digits.onnx", self.path / "x.tenon", board="x86-64", bach=1)
        self.assertIn("--bach", str(caught.exception))

    def test_a_words_option_reaches_the_command(self):
        tenon.convert(DIGITS / "digits.onnx", self.path / "x.tenon", board="x86-64", batch=1,
                      align_corners="sizes")
        with self.assertRaises(tenon.UsageError) as caught:
            tenon.convert(DIGITS / "digits.onnx", self.path / "x.tenon", board="x86-64", batch=1,
                          align_corners="middle")
        self.assertIn("--align-corners", str(caught.exception))

    def test_quantises_with_an_iterable_of_arrays(self):
        images = numpy.load(DIGITS / "held_out_images.npy")[:32]
        quantized = self.path / "int8.tenon"
        tenon.quantize(DIGITS / "digits.onnx", quantized, (image[None] for image in images),
                       board="x86-64", batch=1)
        session = tenon.Session(tenon.Plan(quantized))
        exact = tenon.Session(self.plan)
        classes = [[numpy.argmax(one.run([image[None]])["probability"]) for image in images]
                   for one in (session, exact)]
        self.assertEqual(classes[0], classes[1])
        kernels = " ".join(op.kernel for op in session.plan.ops)
        self.assertRegex(kernels, r"q8|int8|quant")

    def test_no_samples_are_refused(self):
        with self.assertRaises(tenon.UsageError):
            tenon.quantize(DIGITS / "digits.onnx", self.path / "x.tenon", [], board="x86-64",
                           batch=1)

    def test_inspect_check_and_bench_give_the_commands_figures(self):
        tenon.check(self.file)
        inside = tenon.inspect(self.file)
        self.assertEqual(len(inside["ops"]), len(self.plan.ops))
        figures = tenon.bench(self.file, iterations=20)
        self.assertGreater(figures["latency_ms"]["median"], 0)

    def test_diff_names_the_output_that_parts_and_nothing_where_all_agrees(self):
        agrees = tenon.diff(self.file, inputs={"image": self.image})
        self.assertIsNone(agrees["first"])
        self.assertGreater(len(agrees["tensors"]), 3)
        wrong = tenon.diff(self.file, inputs={"image": self.image},
                           expect={"probability": numpy.zeros((1, 10), "f4")})
        self.assertTrue(any(tensor["parts"] for tensor in wrong["tensors"]))
        with self.assertRaises(tenon.InputRefused):
            tenon.diff("missing.tenon")

    def test_a_damaged_plan_is_refused(self):
        damaged = self.path / "damaged.tenon"
        damaged.write_bytes(self.file.read_bytes()[: self.file.stat().st_size // 2])
        with self.assertRaises(tenon.TenonError):
            tenon.check(damaged)
        with self.assertRaises(tenon.TenonError):
            tenon.Plan(damaged)


class RunTest(WithPlan):
    def test_outputs_are_those_of_the_command_to_the_bit(self):
        outputs = self.plan.run({"image": self.image})
        numpy.save(self.path / "image.npy", self.image)
        done = command("run", self.file, "--input", f"image={self.path}/image.npy", "--output-dir",
                       self.path / "outputs")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, array in outputs.items():
            saved = numpy.load(self.path / "outputs" / f"{name}.npy")
            self.assertEqual(array.tobytes(), saved.tobytes())
        self.assertEqual(numpy.argmax(outputs["probability"]), 7)

    def test_ports_say_name_type_and_shape(self):
        port = self.plan.inputs[0]
        self.assertEqual((port.name, port.dtype, port.scale), ("image", numpy.float32, 0))
        self.assertEqual(self.image.shape, port.shape)

    def test_arrays_by_name_in_a_list_or_alone_give_the_same(self):
        session = tenon.Session(self.plan)
        wanted = session.run({"image": self.image})["probability"].tobytes()
        for given in ([self.image], (self.image,), self.image):
            self.assertEqual(session.run(given)["probability"].tobytes(), wanted)

    def test_outputs_are_written_where_the_caller_says(self):
        session = tenon.Session(self.plan)
        port = self.plan.outputs[0]
        mine = numpy.empty(port.shape, port.dtype)
        given = session.run([self.image], [mine])
        self.assertIs(given["probability"], mine)
        self.assertEqual(numpy.argmax(mine), 7)

    def test_outputs_of_a_run_outlive_the_next(self):
        session = tenon.Session(self.plan)
        first = session.run([self.image])["probability"]
        kept = first.copy()
        session.run([numpy.zeros_like(self.image)])
        self.assertEqual(first.tobytes(), kept.tobytes())

    def test_inputs_are_read_where_they_lie(self):
        session = tenon.Session(self.plan)
        image = self.image.copy()
        image.flags.writeable = False
        self.assertEqual(numpy.argmax(session.run([image])["probability"]), 7)

    def test_runs_on_the_sessions_own_memory(self):
        session = tenon.Session(self.plan)
        session.input("image")[...] = self.image
        session.run_in_place()
        output = session.output("probability")
        self.assertEqual(numpy.argmax(output), 7)
        with self.assertRaises(ValueError):
            output[...] = 0

    def test_memory_of_a_session_outlives_the_name_of_the_session(self):
        session = tenon.Session(self.plan)
        memory = session.input(0)
        del session
        memory[...] = 1
        self.assertEqual(memory.sum(), memory.size)

    def test_wrong_arrays_are_refused_with_the_ports_name(self):
        session = tenon.Session(self.plan)
        wrong = ((self.image.astype(numpy.float64), TypeError),
                 (self.image[0], ValueError), ([1.0], TypeError),
                 (numpy.zeros((self.image.shape[0], *self.image.shape[1:-1],
                               2 * self.image.shape[-1]), numpy.float32)[..., ::2], ValueError))
        for array, kind in wrong:
            with self.assertRaises(kind) as caught:
                session.run({"image": array})
            self.assertIn("image", str(caught.exception))

    def test_missing_and_unknown_names_are_refused(self):
        session = tenon.Session(self.plan)
        with self.assertRaises(KeyError):
            session.run({})
        with self.assertRaises(KeyError):
            session.run({"image": self.image, "imago": self.image})

    def test_an_output_cannot_lie_on_an_input(self):
        session = tenon.Session(self.plan)
        size = self.plan.outputs[0].shape
        overlapping = self.image.reshape(-1)[:numpy.prod(size)].reshape(size)
        with self.assertRaises(ValueError):
            session.run([self.image], [overlapping])

    def test_a_plan_that_is_not_there_is_an_os_error(self):
        with self.assertRaises(OSError) as caught:
            tenon.Plan("no-such.tenon")
        self.assertIsInstance(caught.exception, tenon.TenonError)
        self.assertIn("no-such.tenon", str(caught.exception))

    def test_a_path_with_a_null_byte_and_threads_that_are_no_int_are_refused_as_python_does(self):
        with self.assertRaisesRegex(ValueError, "null byte"):
            tenon.Plan(f"{self.file}\0.tenon")
        with self.assertRaisesRegex(TypeError, "integer"):
            tenon.Plan(self.file, threads="2")
        with self.assertRaisesRegex(OverflowError, "threads"):
            tenon.Plan(self.file, threads=2**40)

    def test_a_name_alone_is_no_list_of_backends(self):
        with self.assertRaisesRegex(TypeError, r"as \['cpu'\]"):
            tenon.Plan(self.file, backends="cpu")

    def test_an_unknown_backend_is_refused(self):
        with self.assertRaises(ValueError):
            tenon.Plan(self.file, backends=["abacus"])
        self.assertEqual(tenon.Plan(self.file, backends=["cpu"]).run([self.image]).keys(),
                         {"probability"})

    def test_threads_with_a_session_each_run_side_by_side(self):
        found = []

        def work():
            session = tenon.Session(self.plan)
            for _ in range(50):
                found.append(int(numpy.argmax(session.run([self.image])["probability"])))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [7] * 200)


class StreamTest(WithPlan):
    def test_gives_all_outputs_in_order(self):
        images = numpy.load(DIGITS / "held_out_images.npy")[:20]
        session = tenon.Session(self.plan)
        wanted = [session.run([image[None]])["probability"].tobytes() for image in images]
        with tenon.Stream(self.plan, replicas=2) as stream:
            found = [out["probability"].tobytes()
                     for out in stream.map([image[None]] for image in images)]
        self.assertEqual(found, wanted)

    def test_an_outcome_is_given_once(self):
        with tenon.Stream(self.plan) as stream:
            ticket = stream.submit([self.image])
            self.assertEqual(numpy.argmax(stream.wait(ticket)["probability"]), 7)
            with self.assertRaises(ValueError):
                stream.wait(ticket)

    def test_a_closed_stream_says_so(self):
        stream = tenon.Stream(self.plan)
        stream.close()
        with self.assertRaises(ValueError):
            stream.submit([self.image])

    def test_a_mode_that_the_plan_has_not_is_refused_with_the_words(self):
        with self.assertRaises(tenon.TenonError):
            tenon.Stream(self.plan, mode="pipeline")
        with self.assertRaises(ValueError):
            tenon.Stream(self.plan, mode="sideways")


class StateTest(unittest.TestCase):
    """A model that adds its input to what it has added so far."""

    def setUp(self):
        sys.path.insert(0, str(SOURCE / "scripts"))
        from onnx_writer import model, node, value  # pylint: disable=import-outside-toplevel
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name)
        (path / "sum.onnx").write_bytes(model(
            [node("Add", ["x", "before"], ["sum"]), node("Relu", ["sum"], ["shown"])],
            [value("x", [1, 4]), value("before", [1, 4])],
            [value("sum", [1, 4]), value("shown", [1, 4])]))
        tenon.convert(path / "sum.onnx", path / "sum.tenon", board="x86-64",
                      state={"sum": "before"})
        self.plan = tenon.Plan(path / "sum.tenon")

    def tearDown(self):
        self.folder.cleanup()

    def test_steps_keep_the_state_and_reset_begins_anew(self):
        session = tenon.Session(self.plan)
        ones = [[numpy.ones((1, 4), numpy.float32)]] * 3
        self.assertEqual([out["shown"][0, 0] for out in session.steps(ones)], [1, 2, 3])
        self.assertEqual(next(session.steps(ones))["shown"][0, 0], 4)
        session.reset()
        self.assertEqual(next(session.steps(ones))["shown"][0, 0], 1)

    def test_streams_keep_the_state_too(self):
        ones = [[numpy.ones((1, 4), numpy.float32)]] * 3
        with tenon.Stream(self.plan) as stream:
            self.assertEqual([out["shown"][0, 0] for out in stream.map(ones)], [1, 2, 3])
            stream.reset()
            self.assertEqual(next(iter(stream.map(ones)))["shown"][0, 0], 1)


class PageTest(unittest.TestCase):
    def test_the_program_of_the_page_prints_what_the_page_says(self):
        (program,) = re.findall(r"^```python\n(.*?)^```$", (SOURCE / "docs/python.md").read_text(),
                                re.DOTALL | re.MULTILINE)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "sdk").symlink_to(SOURCE / "sdk")
            done = subprocess.run([sys.executable, "-c", program], cwd=folder, text=True,
                                  capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "7")


class CommandTest(unittest.TestCase):
    def test_python_m_tenon_is_the_command(self):
        self.assertEqual(command("--version").stdout, f"tenon {tenon.__version__}\n")
        self.assertEqual(command("convert").returncode, 2)


if __name__ == "__main__":
    unittest.main()
