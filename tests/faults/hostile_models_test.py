#!/usr/bin/env python3
"""Small models that ask for much: refused in one short line, in memory bounded by the model's size.

usage: hostile_models_test.py TENON
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

TENON = os.path.abspath(sys.argv[1])
MIB = 1 << 20
# What conversion takes besides what a model asks for: libraries, tables, and the floor below which
# `--max-memory` does not go by itself, with the copies that are made of it.
MOST_MEMORY = 700 * MIB
MOST_TEXT = 20000


def doubled(times, values=4):
    """c, c++c, (c++c)++(c++c), ...: each node of a few bytes doubles what the last one made."""
    nodes = [onnx.node("Concat", [f"c{i}", f"c{i}"], [f"c{i + 1}"], axis=0) for i in range(times)]
    nodes.append(onnx.node("ReduceSum", [f"c{times}"], ["s"], keepdims=0))
    nodes.append(onnx.node("Add", ["x", "s"], ["y"]))
    return onnx.model(nodes, [onnx.value("x", [1])], [onnx.value("y", [1])],
                      [onnx.tensor("c0", [values], [1.0] * values)])


class HostileModelsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def convert(self, model, *options):
        """Exit status, text of stderr, and the most memory that the command held at once."""
        (self.folder / "model.onnx").write_bytes(model)
        with open(self.folder / "stderr", "wb") as stderr:
            process = subprocess.Popen(
                [TENON, "convert", "model.onnx", "-o", "model.tenon", "--board", "x86-64", *options],
                cwd=self.folder, stdout=subprocess.DEVNULL, stderr=stderr)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return (process.returncode, (self.folder / "stderr").read_text(errors="replace"),
                usage.ru_maxrss * 1024)

    def refused(self, status, word, model, *options):
        code, text, memory = self.convert(model, *options)
        self.assertEqual(code, status, text[:2000])
        self.assertTrue(text.startswith("tenon: error: "), text[:200])
        self.assertIn(word, text[:MOST_TEXT])
        self.assertLess(len(text), MOST_TEXT)
        self.assertLess(memory, MOST_MEMORY)
        self.assertFalse((self.folder / "model.tenon").exists())
        return text

    def test_constants_that_double_28_times_are_refused(self):
        text = self.refused(4, "--max-memory", doubled(28))
        self.assertIn("c2", text)  # the node at which it is too much

    def test_what_the_refusal_names_as_enough_is_enough(self):
        text = self.refused(4, "--max-memory", doubled(16), "--max-memory", "1M")
        enough = text.split("--max-memory=")[1].split()[0].rstrip(".,:;")
        code, text, _ = self.convert(doubled(16), "--max-memory", enough)
        self.assertEqual(code, 0, text)

    def test_a_few_doublings_are_folded_as_ever(self):
        code, text, _ = self.convert(doubled(12))
        self.assertEqual(code, 0, text)

    def test_the_limit_wants_a_size(self):
        self.refused(2, "--max-memory", doubled(1), "--max-memory", "much")
        self.refused(2, "--max-memory", doubled(1), "--max-memory", "0")

    def external(self, count, elements, apart):
        """`count` initialisers of `elements` floats in one file, `apart` bytes from each other."""
        weights = []
        for i in range(count):
            weights.append(onnx.external_tensor(f"w{i}", [elements], "weights.bin", i * apart,
                                                4 * elements))
        nodes, last = [], "x"
        for i in range(count):
            nodes.append(onnx.node("Add", [last, f"w{i}"], [f"a{i}"]))
            last = f"a{i}"
        return onnx.model(nodes, [onnx.value("x", [elements])], [onnx.value(last, [elements])],
                          weights)

    def test_a_sparse_file_counts_as_what_it_takes_on_the_disk(self):
        with open(self.folder / "weights.bin", "wb") as file:
            file.truncate(64 * 16 * MIB)
        self.refused(4, "--max-memory", self.external(64, 4 * MIB, 16 * MIB))

    def test_one_part_of_a_file_that_64_tensors_name_is_held_once(self):
        (self.folder / "weights.bin").write_bytes(bytes(4 * MIB))
        code, text, memory = self.convert(self.external(64, MIB, 0))
        self.assertEqual(code, 0, text)
        self.assertLess(memory, MOST_MEMORY)

    def test_millions_of_empty_nodes_are_refused_before_they_are_parsed(self):
        graph = b"\x0a\x00" * 5_000_000
        model = b"\x08\x08" + onnx.block(7, graph) + onnx.block(8, b"\x10\x0d")
        self.refused(3, "model.onnx", model)

    def test_nodes_of_unknown_operators_are_named_up_to_a_few(self):
        nodes = [onnx.node("NoSuchOp", ["x"], [f"y{i}" + "z" * 400]) for i in range(2000)]
        model = onnx.model(nodes, [onnx.value("x", [1])], [onnx.value("y0" + "z" * 400, [1])])
        text = self.refused(3, "unsupported op NoSuchOp", model)
        self.assertIn("more", text)

    def test_a_long_name_does_not_make_a_long_message(self):
        model = onnx.model([onnx.node("Q" * MIB, ["x"], ["y"])], [onnx.value("x", [1])],
                           [onnx.value("y", [1])])
        self.refused(3, "unsupported op", model)

    def test_names_that_are_no_utf8_are_converted_and_reported(self):
        nodes = [onnx.node("Relu", ["x"], ["RRRR"], name="NNNN"), onnx.node("Neg", ["RRRR"], ["YYYY"])]
        model = onnx.model(nodes, [onnx.value("x", [3])], [onnx.value("YYYY", [3])])
        for name in (b"NNNN", b"RRRR", b"YYYY"):
            model = model.replace(name, name[:1] + b"\xdc" + name[2:])
        code, text, _ = self.convert(model, "--json", "report.json")
        self.assertEqual(code, 0, text)
        self.assertIn("Y\ufffdYY", (self.folder / "report.json").read_text(encoding="utf-8"))
        for command in (["inspect"], ["inspect", "--json"]):
            done = subprocess.run([TENON, command[0], "model.tenon", *command[1:]], cwd=self.folder,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def looped(self, nodes, initializers=()):
        """A loop of 1000 iterations whose body adds 4 MiB of weights."""
        body = onnx.graph(
            [*nodes, onnx.node("Add", ["carried", "weights"], ["sum"]), onnx.node("Identity", ["go"], ["again"])],
            [onnx.value("i", [], 7), onnx.value("go", [], 9), onnx.value("carried", [MIB])],
            [onnx.value("again", [], 9), onnx.value("sum", [MIB])], initializers)
        trips = onnx.tensor("trips", [], (1000).to_bytes(8, "little"), 7)
        return onnx.model([onnx.node("Loop", ["trips", "", "x"], ["y"], body=body)],
                          [onnx.value("x", [MIB])], [onnx.value("y", [MIB])], [trips])

    def test_loops_whose_nodes_hold_weights_are_limited_by_bytes(self):
        value = onnx.block(1, "value") + onnx.block(5, onnx.tensor("", [MIB], bytes(4 * MIB))) + onnx.number(20, 4)
        constant = onnx.node("Constant", [], ["weights"]) + onnx.block(5, value)
        self.refused(4, "--max-memory", self.looped([constant]))

    def test_initialisers_of_a_loops_body_are_held_once(self):
        code, text, _ = self.convert(self.looped([], [onnx.tensor("weights", [MIB], bytes(4 * MIB))]))
        self.assertEqual(code, 0, text)
        self.assertLess((self.folder / "model.tenon").stat().st_size, 8 * MIB)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
