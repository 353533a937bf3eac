"""Networks described as DAGs, through scripts/dag_to_onnx.py and the `tenon` command.

usage: dag_test.py TENON [--small]

--small divides the sizes of the large networks by four, for builds with sanitizers.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import dag_to_onnx

TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"
SMALL = "--small" in sys.argv
DAGS = ROOT.parent / "shared/graphs/dags"


class DagTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "example.json").write_text(dag_to_onnx.EXAMPLE)

    def call(self, *command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=280)

    def done(self, *command):
        result = self.call(*command)
        self.assertEqual(result.returncode, 0, (command, result.stdout, result.stderr))
        return result.stdout

    def script(self, *arguments):
        return self.call(sys.executable, str(ROOT / "scripts/dag_to_onnx.py"), *arguments)

    def model(self, dag, *options):
        """Writes model.onnx and its input; returns the input's argument for `tenon run`."""
        result = self.script(str(dag), "-o", "model.onnx", "--inputs", "inputs", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        file, = (self.folder / "inputs").iterdir()
        return f"{file.stem}=inputs/{file.name}"

    def plan(self, board, name="model.tenon", *options):
        """Converts model.onnx and checks the plan; returns what is inside."""
        self.done(TENON, "convert", "model.onnx", "-o", name, "--board", board, *options)
        self.done(TENON, "check", name)
        return json.loads(self.done(TENON, "inspect", name, "--json"))

    def arena(self, order):
        return self.plan("x86-64", "order.tenon", "--order", order)["arenas"][0]["bytes"]

    def boards_agree(self, dag, *options):
        """What runs on x86-64 in the model's order gives what a schedule for three units gives."""
        given = self.model(dag, *options)
        output, = self.plan("x86-64", "model.tenon", "--order", "source")["outputs"]
        self.done(TENON, "run", "model.tenon", "--input", given, "--output-dir", "expected")
        self.plan("npu-3unit")
        expect = f"{output['name']}=expected/{output['name']}.npy"
        self.done(TENON, "run", "model.tenon", "--input", given, "--expect", expect)

    def runs(self, dag, shape, *options):
        given = self.model(dag, *options)
        output, = self.plan("x86-64")["outputs"]
        self.assertEqual(output["shape"], shape)
        self.done(TENON, "run", "model.tenon", "--input", given)

    def shared(self, name):
        dag = DAGS / f"{name}.dag.json"
        if not dag.exists():
            self.skipTest(f"the shared folder has no {dag.name}")
        return dag

    def refused(self, reason, change, *options):
        dag = json.loads(dag_to_onnx.EXAMPLE)
        change(dag["nodes"])
        (self.folder / "dag.json").write_text(json.dumps(dag))
        result = self.script("dag.json", "-o", "refused.onnx", *options)
        self.assertEqual(result.returncode, 1)
        self.assertIn(reason, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        self.assertFalse((self.folder / "refused.onnx").exists())

    def test_example_runs(self):
        self.runs("example.json", [1, 24, 1, 1])

    def test_example_gives_the_same_on_both_boards(self):
        self.boards_agree("example.json")
        self.boards_agree("example.json", "--shrink", "3")

    def test_search_finds_the_order_of_the_example_that_keeps_one_branch_alive(self):
        self.model("example.json")
        self.assertLess(self.arena("search"), self.arena("source"))

    def test_example_is_printed_and_part_of_the_help(self):
        self.assertEqual(self.script("--example").stdout, dag_to_onnx.EXAMPLE + "\n")
        self.assertIn(dag_to_onnx.EXAMPLE, self.script("--help").stdout)

    def test_same_seed_gives_the_same_model_and_another_seed_another(self):
        example = json.loads(dag_to_onnx.EXAMPLE)
        model = dag_to_onnx.build(example, seed=1)
        self.assertEqual(model, dag_to_onnx.build(example, seed=1))
        self.assertNotEqual(model, dag_to_onnx.build(example, seed=2))

    def test_weights_larger_than_the_pool_of_values_are_filled(self):
        (self.folder / "wide.json").write_text(json.dumps({"name": "wide", "nodes": {
            "in": {"type": "placeholder", "output_shape": [20000, 1, 1]},
            "out": {"type": "conv", "out_channels": 3, "kernel": [1, 1],
                    "inputs": [[["in", 0, 20000]]]}}}))
        self.runs("wide.json", [1, 3, 1, 1])

    def test_shrink_divides_channels_and_sizes(self):
        dag = json.loads(dag_to_onnx.EXAMPLE)
        del dag["nodes"]["pooled"]
        (self.folder / "dag.json").write_text(json.dumps(dag))
        self.runs("dag.json", [1, 24, 32, 32])
        self.runs("dag.json", [1, 6, 8, 8], "--shrink", "4")
        self.runs("dag.json", [1, 9, 11, 11], "--shrink", "3")  # 16 -> 6, and 8 of 16 -> 3 of 6

    def test_wrong_descriptions_are_refused_with_the_reason(self):
        self.refused("'wide_a' has 64 channels, not [0, 65)",
                     lambda nodes: nodes["narrow_a"].update(inputs=[[["wide_a", 0, 65]]]))
        self.refused("is described as [24, 32, 31]",
                     lambda nodes: nodes["joined"].update(output_shape=[24, 32, 31]))
        self.refused("different shapes", lambda nodes: nodes["narrow_b"].update(padding=[0, 0]))
        self.refused("different sizes", lambda nodes: nodes["joined"].update(
            inputs=[[["narrow_a", 0, 16]], [["pooled_a", 0, 16]]]) or nodes.update(
                pooled_a={"type": "pool", "pool_type": "global_avg",
                          "inputs": [[["narrow_a", 0, 16]]]},
                joined=nodes.pop("joined"), pooled=nodes.pop("pooled")))
        self.refused("larger than the image",
                     lambda nodes: nodes["wide_a"].update(kernel=[37, 3]))
        self.refused("groups", lambda nodes: nodes["narrow_b"].update(groups=5))
        self.refused("'lstm' is not known", lambda nodes: nodes["joined"].update(type="lstm"))
        self.refused("'sum' is not known", lambda nodes: nodes["pooled"].update(pool_type="sum"))
        self.refused("'tanh' is not known", lambda nodes: nodes["wide_a"].update(act="tanh"))
        self.refused("'inputs' is not there", lambda nodes: nodes["joined"].pop("inputs"))
        self.refused("'nobody' is not there",
                     lambda nodes: nodes["joined"].update(inputs=[[["nobody", 0, 1]]]))

    def test_text_that_is_no_description_is_refused(self):
        (self.folder / "dag.json").write_text("{")
        result = self.script("dag.json", "-o", "refused.onnx")
        self.assertEqual(result.returncode, 1)
        self.assertNotIn("Traceback", result.stderr)
        self.assertEqual(self.script("example.json").returncode, 2)
        self.assertEqual(self.script("example.json", "-o", "a.onnx", "--shrink", "0").returncode, 2)

    def test_inception_runs(self):
        self.runs(self.shared("inception_v3"), [1, 512 if SMALL else 2048, 1, 1],
                  "--shrink", "4" if SMALL else "1")

    def test_inception_gives_the_same_on_both_boards(self):
        self.boards_agree(self.shared("inception_v3"), "--shrink", "4")

    def test_randwire_runs(self):
        self.runs(self.shared("randwire_large"), [1, 320 if SMALL else 1280, 1, 1],
                  "--shrink", "4" if SMALL else "1")

    def test_randwire_gives_the_same_on_both_boards(self):
        self.boards_agree(self.shared("randwire_large"), "--shrink", "8")

    def test_randwire_takes_a_quarter_less_memory_in_another_order(self):
        self.model(self.shared("randwire_large"), "--shrink", "4")
        self.assertLess(self.arena("search"), 0.75 * self.arena("source"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
