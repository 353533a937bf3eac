#!/usr/bin/env python3
"""Compares random ONNX models whose branches depend on their inputs, run after run, with ONNX Runtime.

Each model computes with tensors of one shape: functions, products, joins, rows chosen by an index,
`If` of one or two outputs whose branches read what is outside and may hold further `If`s, and
`Where` by one bool. What a run passes over must neither be missed nor show in the next one: the
conditions change from run to run of one session. Optional: skipped, saying so, where the packages
onnx and onnxruntime are missing. Arguments: the `tenon` command; then how many models (default 40)
and the first seed. Exit status 0: equal; 1: not; 77: skipped.
"""
import os
import subprocess

from onnx_random_test import Model, TensorProto, compare_runs, helper, np

RUNS = 6
# Options of convert; models take turns.
OPTIONS = [["--board", "x86-64"], ["--board", "x86-64", "--fuse", "off"], ["--board", "x86-64", "--objective=memory"],
           ["--board", "x86-64", "--order=search"], ["--board", "cortex-m55"], ["--board", "x86-64-avx2"],
           ["--board", "x86-64", "--order=random", "--seed", "7"], ["--board", "x86-64", "--fuse-branches=off"]]


class Branching(Model):
    def __init__(self, seed):
        super().__init__(seed)
        self.rows, self.columns, self.ifs, self.made = self.below(5), self.below(9, 2), 0, 0
        self.flags = [self.input(np.array(False)) for _ in range(self.below(4))]
        self.index = self.input(np.array(0))

    def condition(self):
        flag = self.pick(*self.flags)
        if self.below(3) == 1:
            flag, = self.node("Not", [flag])
        if self.below(4) == 1:
            flag, = self.node(self.pick("And", "Or", "Xor"), [flag, self.pick(*self.flags)])
        return flag

    def step(self, known, depth):
        """One or two more tensors, made of those in `known`."""
        x, other = self.pick(*known), self.pick(*known)
        kind = self.pick("function", "function", "product", "join", "sum", "row", "where", "if", "if")
        if kind == "if" and depth < 3 and self.ifs < 6:
            return self.branches(known, depth)
        if kind == "where":
            return self.node("Where", [self.condition(), x, other])
        if kind == "product":
            weights = self.floats(self.columns, self.columns) / np.float32(np.sqrt(self.columns))
            return self.node("MatMul", [x, self.constant(weights)])
        if kind == "join":
            both, = self.node("Concat", [x, other], axis=1)
            start = self.below(self.columns + 1, 0)
            ends = [self.constant(np.int64([n])) for n in (start, start + self.columns, 1)]
            return self.node("Slice", [both, *ends])
        if kind == "row":
            row, = self.node("Gather", [x, self.index], axis=0)
            return self.node("Sub", [other, row])
        if kind == "sum":
            return self.node(self.pick("Add", "Mul", "Max"), [x, other])
        return self.node(self.pick("Relu", "Tanh", "Sigmoid", "Neg", "Identity"), [x])

    def branches(self, known, depth):
        self.ifs += 1
        condition, count = self.condition(), self.below(3)
        graphs = [self.body(known, count, depth + 1) for _ in range(2)]
        return self.node("If", [condition], count, then_branch=graphs[0], else_branch=graphs[1])

    def body(self, known, count, depth):
        outside, self.nodes = self.nodes, []
        inside = self.grow(list(known), depth)
        values = []
        for _ in range(count):
            # Outputs of a branch are made inside it.
            result, = self.node("Identity", [self.pick(*inside[-3:])])
            values.append(helper.make_tensor_value_info(
                result, TensorProto.FLOAT, [self.rows, self.columns]))
        graph = helper.make_graph(self.nodes, f"body{len(outside)}", [], values)
        self.nodes = outside
        return graph

    def grow(self, known, depth):
        for _ in range(self.below(6)):
            known += self.step(known, depth)
        return known

    def node(self, op, inputs, outputs=1, **attributes):
        self.made += 1  # of all graphs: no two nodes of a model have one name
        names = [f"{op}{self.made}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names


def random_model(seed):
    m = Branching(seed)
    m.options = OPTIONS[seed % len(OPTIONS)]
    given = m.input(m.floats(m.rows, m.columns))
    known = m.grow([given], 0)
    known += m.branches(known, 0)
    known = m.grow(known, 0)
    m.outputs = m.node("Identity", [known[-1]]) + m.node("Identity", [m.pick(*known)])
    runs = []
    for _ in range(RUNS):
        values = {flag: np.array(m.below(3) == 1) for flag in m.flags}
        values[m.index] = np.array(m.below(m.rows, 0) if m.rows > 1 else 0)
        values[given] = m.floats(m.rows, m.columns)
        runs.append(values)
    return m, runs


def ours(tenon, folder, model, runs):
    plan, out = os.path.join(folder, "model.tenon"), os.path.join(folder, "out")
    command = [tenon, "convert", os.path.join(folder, "model.onnx"), "-o", plan, "-q", *model.options]
    converted = subprocess.run(command, capture_output=True, text=True)
    if converted.returncode != 0:
        return None, converted.stderr
    command = [tenon, "run", plan, "--output-dir", out, "--steps", str(len(runs))]
    for name in runs[0]:
        file = os.path.join(folder, f"{name}.npy")
        np.save(file, np.stack([values[name] for values in runs]))
        command += ["--input", f"{name}={file}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr
    return [np.load(os.path.join(out, f"{name}.npy")) for name in model.outputs], ""


def reference(session, model, runs):
    names = {value.name for value in session.get_inputs()}
    return [session.run(model.outputs, {name: value for name, value in values.items() if name in names})
            for values in runs]


if __name__ == "__main__":
    compare_runs(random_model, reference, ours, lambda model: model.ifs)
