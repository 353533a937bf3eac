"""--trace: when each op ran, in the format of Chrome's and Perfetto's viewers."""
import json
import sys
import unittest

import cli_test
from cli_test import BOARD, npy, onnx


class Traces(cli_test.CliTest):
    def setUp(self):
        super().setUp()
        nodes = [onnx.node("Relu", ["x"], ["a"]), onnx.node("Sigmoid", ["a"], ["b"]), onnx.node("Softmax", ["b"], ["y"])]
        self.write("chain.onnx", onnx.model(nodes, [onnx.value("x", [1, 4])], [onnx.value("y", [1, 4])]))
        self.convert("chain.onnx", "chain.tenon", "--fuse", "off")
        self.ops = [op["name"] for op in json.loads(self.done("inspect", "chain.tenon", "--json"))["ops"]]

    def events(self, name="t.json"):
        """{track: its complete events}; every event has a track with a name."""
        trace = json.loads((self.folder / name).read_text())["traceEvents"]
        names = {e["tid"]: e["args"]["name"] for e in trace if e["ph"] == "M" and e["name"] == "thread_name"}
        tracks = {}
        for event in trace:
            if event["ph"] == "X":
                tracks.setdefault(names[event["tid"]], []).append(event)
        return tracks

    def test_a_run_has_each_op_once_in_order_and_none_beside_another(self):
        self.done("run", "chain.tenon", "--zeros", "--trace", "t.json")
        (track, events), = self.events().items()
        self.assertEqual(track, "cpu")
        self.assertEqual([e["name"] for e in events], self.ops)
        self.assertEqual([e["args"]["op"] for e in events], ["0", "1", "2"])
        self.assertEqual(events[0]["ts"], 0)
        for before, after in zip(events, events[1:]):
            self.assertGreaterEqual(after["ts"], before["ts"] + before["dur"] - 0.002)

    def test_every_step_of_a_run_is_in_the_trace(self):
        self.write("steps.npy", npy("(3, 1, 4)", [1] * 12))
        self.done("run", "chain.tenon", "--steps", "3", "--input", "x=steps.npy", "--trace", "t.json")
        self.assertEqual([e["name"] for e in self.events()["cpu"]], 3 * self.ops)

    def test_a_bench_has_some_runs_and_its_figures_are_of_others(self):
        self.done("bench", "chain.tenon", "--iterations", "4", "--trace", "t.json", "--json", "b.json")
        self.assertEqual([e["name"] for e in self.events()["cpu"]], 4 * self.ops)

    def test_replicas_have_tracks_of_their_own_on_which_ops_do_not_overlap(self):
        self.done("bench", "chain.tenon", "--mode", "replicas", "--replicas", "2", "--threads", "2", "--iterations", "8",
                  "--trace", "t.json")
        tracks = self.events()
        self.assertEqual(sum(len(events) for events in tracks.values()), 8 * len(self.ops))
        self.assertLessEqual(set(tracks), {"cpu", "cpu #2"})
        for events in tracks.values():
            for before, after in zip(events, events[1:]):
                self.assertGreaterEqual(after["ts"], before["ts"] + before["dur"] - 0.002)

    def test_a_bench_of_several_modes_measures_each(self):
        text = self.done("bench", "chain.tenon", "--mode", "sequential,replicas", "--replicas", "2", "--threads", "2",
                         "--iterations", "4", "--json", "b.json")
        modes = json.loads((self.folder / "b.json").read_text())["modes"]
        self.assertEqual([(m["settings"]["mode"], m["settings"]["replicas"]) for m in modes],
                         [("sequential", 1), ("replicas", 2)])
        self.assertEqual([m["latency_ms"]["min"] > 0 for m in modes], [True, True])
        self.assertEqual(text.count("latency ms: "), 2)
        self.fails(2, "bench", "chain.tenon", "--mode", "sequential,replicas", "--trace", "t.json")
        self.fails(2, "bench", "chain.tenon", "--mode", "sequential,fast")

    def test_a_bench_of_few_iterations_counts_the_time_of_each(self):
        self.done("bench", "chain.tenon", "--mode", "replicas", "--replicas", "2", "--threads", "2", "--iterations", "2",
                  "--json", "b.json")
        result = json.loads((self.folder / "b.json").read_text())
        # What two inputs take together is no less than what the slower of them takes.
        self.assertLessEqual(result["throughput_per_s"], 2 * 1.001e3 / result["latency_ms"]["p99"])

    def test_a_pipeline_has_a_track_for_each_stage(self):
        self.convert("chain.onnx", "chain.tenon", "--fuse", "off", "--parallel", "pipeline", "--objective", "throughput",
                     "--threads", "2")
        plan = json.loads(self.done("inspect", "chain.tenon", "--json"))
        pipeline, = [p for p in plan["programs"] if p["mode"] == "pipeline"]
        self.done("bench", "chain.tenon", "--mode", "pipeline", "--iterations", "5", "--trace", "t.json")
        # The second stage on a unit has a number.
        self.assertEqual([worker["name"] for worker in pipeline["workers"]], ["cpu", "cpu"])
        tracks = self.events()
        self.assertEqual(set(tracks), {"cpu", "cpu #2"})
        for track, worker in zip(["cpu", "cpu #2"], pipeline["workers"]):
            names = [pipeline["ops"][step["op"]]["name"] for step in worker["steps"]]
            self.assertEqual([e["name"] for e in tracks[track]], 5 * names)

    def test_a_trace_that_cannot_be_written_is_an_error(self):
        self.fails(5, "run", "chain.tenon", "--zeros", "--trace", "missing/t.json")
        self.fails(5, "bench", "chain.tenon", "--iterations", "1", "--trace", "/dev/full")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
