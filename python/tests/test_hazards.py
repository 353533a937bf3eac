"""What threads, signals, forks and mistakes can do to the package. SOURCE_DIR is the tree."""

import gc
import os
import pathlib
import pickle
import signal
import sys
import tempfile
import threading
import time
import unittest
import weakref

import numpy
import tenon

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "scripts"))
import onnx_writer as onnx  # noqa: E402

SIZE = 1024  # of matrices whose products take tens of milliseconds
INT64 = 7


class Array(numpy.ndarray):
    """Can be watched by weak references."""


class WithPlans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        products = [onnx.node("MatMul", ["x" if i == 0 else f"y{i}", "x"], [f"y{i + 1}"])
                    for i in range(3)]
        cls.slow = cls.plan_of("slow", products, [onnx.value("x", [SIZE, SIZE])],
                               [onnx.value("y3", [SIZE, SIZE])])
        cls.relu = cls.plan_of("relu", [onnx.node("Relu", ["x"], ["y"])],
                               [onnx.value("x", [4])], [onnx.value("y", [4])])
        cls.gather = cls.plan_of("gather", [onnx.node("Gather", ["w", "place"], ["y"])],
                                 [onnx.value("place", [1], INT64)], [onnx.value("y", [1])],
                                 [onnx.tensor("w", [3], [1.0, 2.0, 3.0])])

    @classmethod
    def plan_of(cls, name, nodes, inputs, outputs, constants=()):
        file = cls.path / f"{name}.onnx"
        file.write_bytes(onnx.model(nodes, inputs, outputs, constants))
        tenon.convert(file, file.with_suffix(".tenon"), board="x86-64")
        return tenon.Plan(file.with_suffix(".tenon"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class ThreadsTest(WithPlans):
    def test_a_second_close_waits_for_the_first_and_arrays_live_until_then(self):
        stream = tenon.Stream(self.slow)
        matrix = numpy.zeros((SIZE, SIZE), numpy.float32)
        output = numpy.zeros((SIZE, SIZE), numpy.float32).view(Array)
        watched = weakref.ref(output)
        for _ in range(2):
            stream.submit([matrix], [output if _ == 1 else output.copy()])
        del output
        first = threading.Thread(target=stream.close)
        first.start()
        time.sleep(0.01)
        stream.close()
        first.join()
        gc.collect()
        self.assertIsNone(watched())
        with self.assertRaisesRegex(ValueError, "closed"):
            stream.submit([matrix])

    def test_a_sessions_memory_is_not_given_away_while_it_runs(self):
        session = tenon.Session(self.slow)
        matrix = numpy.zeros((SIZE, SIZE), numpy.float32)
        started = threading.Event()

        def run():
            started.set()
            session.run([matrix])

        other = threading.Thread(target=run)
        other.start()
        started.wait()
        refused = False
        while other.is_alive() and not refused:
            try:
                place = session.input("x")
                self.assertNotEqual(place.ctypes.data, matrix.ctypes.data)
            except RuntimeError as error:
                refused = "another thread" in str(error)
        other.join()
        self.assertTrue(refused)
        self.assertNotEqual(session.input("x").ctypes.data, matrix.ctypes.data)


class StreamsTest(WithPlans):
    def test_map_that_is_left_early_takes_its_tickets_along(self):
        inputs = [[numpy.ones(4, numpy.float32)]] * 4
        with tenon.Stream(self.relu, results=2) as stream:
            for _ in range(20):
                outputs = stream.map(inputs)
                next(outputs)
                outputs.close()
            outputs = stream.wait(stream.submit(inputs[0], timeout=5), timeout=5)
            self.assertEqual(outputs["y"].tolist(), [1, 1, 1, 1])

    def test_a_signal_ends_a_submit_that_waits(self):
        def interrupt(_number, _frame):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            stream = tenon.Stream(self.relu, results=1)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with self.assertRaises(KeyboardInterrupt):
                while True:  # nobody collects the outcomes
                    stream.submit([numpy.ones(4, numpy.float32)])
            stream.close()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_a_ticket_whose_run_failed_is_over_and_its_arrays_are_free(self):
        place = numpy.array([7], numpy.int64).view(Array)
        watched = weakref.ref(place)
        with tenon.Stream(self.gather) as stream:
            ticket = stream.submit([place])
            del place
            with self.assertRaisesRegex(tenon.TenonError, "7"):
                stream.wait(ticket)
            gc.collect()
            self.assertIsNone(watched())

    def test_figures_say_what_was_submitted(self):
        with tenon.Stream(self.relu, replicas=2) as stream:
            list(stream.map([[numpy.ones(4, numpy.float32)]] * 5))
            figures = stream.stats()
        self.assertEqual((figures.replicas, figures.submitted, figures.completed, figures.failed),
                         (2, 5, 5, 0))
        self.assertEqual(sum(stage.inputs for stage in figures.stages), 5)

    def test_a_queue_without_bound_is_refused(self):
        with self.assertRaisesRegex(tenon.TenonError, "queue"):
            tenon.Stream(self.relu, queue_depth=2**64 - 1)


@unittest.skipUnless(hasattr(os, "fork"), "needs fork")
class ForksTest(WithPlans):
    def ends(self, child):
        """True if a forked process that calls `child` ends within seconds."""
        process = os.fork()
        if process == 0:
            child()
            os._exit(0)
        for _ in range(200):
            if os.waitpid(process, os.WNOHANG)[0] != 0:
                return True
            time.sleep(0.05)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        return False

    def test_a_forked_process_can_drop_a_plan_with_threads(self):
        held = [tenon.Plan(self.path / "slow.tenon", threads=2)]
        held.append(tenon.Session(held[0]))
        held[1].run([numpy.zeros((SIZE, SIZE), numpy.float32)])
        self.assertTrue(self.ends(held.clear))

    def test_a_forked_process_can_close_a_stream(self):
        stream = tenon.Stream(self.relu)
        list(stream.map([[numpy.ones(4, numpy.float32)]]))
        self.assertTrue(self.ends(stream.close))
        stream.close()


class MistakesTest(WithPlans):
    def test_native_classes_are_made_by_open_from_plans(self):
        for name in ("Session", "Stream", "Plan"):
            with self.assertRaises(TypeError):
                getattr(tenon._runtime, name)()
        with self.assertRaises(TypeError):
            tenon._runtime.Session.open(None, 1.0)
        with self.assertRaisesRegex(TypeError, "tenon.Plan"):
            tenon.Session("relu.tenon")

    def test_a_file_that_cannot_be_read_has_the_systems_number(self):
        with self.assertRaises(FileNotFoundError) as caught:
            tenon.Plan("no-such.tenon")
        self.assertEqual((caught.exception.errno, caught.exception.filename), (2, "no-such.tenon"))
        with self.assertRaises(IsADirectoryError):
            tenon.Plan(self.path)

    def test_names_that_are_no_utf8_are_quoted_in_every_message(self):
        model, file = self.path / "odd.onnx", self.path / "odd.tenon"
        model.write_bytes(onnx.model([onnx.node("Relu", ["zzz"], ["y"])], [onnx.value("zzz", [4])],
                                     [onnx.value("y", [4])]).replace(b"zzz", b"z\xff\xfe"))
        tenon.convert(model, file, board="x86-64")
        plan = tenon.Plan(file)
        for wrong in ({}, [numpy.zeros(5, numpy.float32)], [numpy.zeros(4)], [None],
                      [numpy.zeros(8, numpy.float32)[::2]]):
            with self.assertRaises((KeyError, TypeError, ValueError)) as caught:
                plan.run(wrong)
            self.assertIn("z\\xff\\xfe", str(caught.exception).replace("\\\\", "\\"))
        with self.assertRaisesRegex(tenon.UsageError, r"z\\xff\\xfe"):
            tenon.diff(file, inputs={"no": numpy.zeros(4, numpy.float32)})

    def test_numbers_of_ports_are_integers_of_any_type(self):
        session = tenon.Session(self.relu)
        self.assertEqual(session.input(numpy.int64(0)).shape, (4,))
        with self.assertRaises(IndexError):
            session.input(1)

    def test_what_cannot_be_pickled_says_what_to_do(self):
        for thing in (self.relu, tenon.Session(self.relu), tenon.Stream(self.relu)):
            with self.assertRaisesRegex(TypeError, "path"):
                pickle.dumps(thing)

    def test_a_timeout_that_is_no_time_is_refused(self):
        for seconds in (0, -1, float("nan")):
            with self.assertRaises(ValueError):
                tenon.Session(self.relu, timeout=seconds)

    def test_samples_of_inputs_with_slashes_stay_in_their_folder(self):
        model = self.path / "slashes.onnx"
        model.write_bytes(onnx.model([onnx.node("MatMul", ["in/put", "w"], ["y"])],
                                     [onnx.value("in/put", [1, 4])], [onnx.value("y", [1, 4])],
                                     [onnx.tensor("w", [4, 4], [0.25] * 16)]))
        samples = [{"in/put": numpy.full((1, 4), i, numpy.float32)} for i in range(3)]
        tenon.convert(model, self.path / "slashes.tenon", board="x86-64", quantize="int8",
                      calibration=samples)
        output = tenon.run(self.path / "slashes.tenon",
                           {"in/put": numpy.ones((1, 4), numpy.float32)})
        self.assertAlmostEqual(float(next(iter(output.values()))[0, 0]), 1.0, delta=0.05)


if __name__ == "__main__":
    unittest.main()
