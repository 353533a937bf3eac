#!/usr/bin/env python3
"""Compares random ONNX models with state, run step by step, with ONNX Runtime.

Each model is a chain of up to four layers over [time, batch, features]: LSTM, GRU and RNN in every
direction, windows of a streaming convolution, running means, a recurrence written out, counters,
and functions without a state. States are inputs and outputs tied with `--state`; ONNX Runtime is
given its own back. Optional: skipped, saying so, where the packages onnx and onnxruntime are
missing. Arguments: the `tenon` command; then how many models (default 40) and the first seed.
Exit status 0: equal; 1: not; 77: skipped.
"""
import os
import subprocess

from onnx_random_test import Model, TensorProto, compare_runs, np

STEPS = 4


class Stream(Model):
    def __init__(self, seed):
        super().__init__(seed)
        self.ties = []  # names of the output and of the input, which holds zeros at first
        self.time, self.batch = self.below(4), self.below(4)

    def state(self, *shape, dtype=np.float32):
        return self.input(np.zeros(shape, dtype))

    def save(self, path):
        """With the states' outputs behind the model's own."""
        outputs = self.outputs
        self.outputs = outputs + [output for output, _ in self.ties]
        super().save(path)
        self.outputs = outputs

    def tie(self, output, state):
        """`output` is what the next step finds in `state`."""
        # Two states never share an output, and no output of the model is a state.
        self.ties.append((self.node("Identity", [output])[0], state))

    def reshaped(self, x, *dims):
        return self.node("Reshape", [x, self.constant(np.int64(dims))])[0]

    def weights(self, *shape):
        return self.constant(self.floats(*shape) / np.float32(np.sqrt(shape[-1])))


def recurrent(m, x, features):
    op = m.pick("LSTM", "GRU", "RNN")
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    direction = m.pick("forward", "forward", "reverse", "bidirectional")
    ways, hidden = 2 if direction == "bidirectional" else 1, m.below(9)
    attributes = {"direction": direction, "hidden_size": hidden}
    if op == "GRU":
        attributes["linear_before_reset"] = m.below(2, 0)
    if m.below(5) == 1:
        attributes["clip"] = 0.7
    states = [m.state(ways, m.batch, hidden) for _ in range(2 if op == "LSTM" else 1)]
    lengths = m.random.integers(1, m.time + 1, m.batch).astype(np.int32)
    inputs = [x, m.weights(ways, gates * hidden, features), m.weights(ways, gates * hidden, hidden),
              m.constant(m.floats(ways, 2 * gates * hidden)) if m.below(3) == 1 else "",
              m.constant(lengths) if m.below(4) == 1 else "", *states]
    y, *last = m.node(op, inputs, 1 + len(states), **attributes)
    for output, state in zip(last, states):
        m.tie(output, state)
    y, = m.node("Transpose", [y], perm=[0, 2, 1, 3])
    return m.reshaped(y, m.time, m.batch, ways * hidden), ways * hidden


def window(m, x, features):
    kernel, dilation, outputs = m.below(4, 2), m.below(3), m.below(7)
    reach = (kernel - 1) * dilation
    state = m.state(reach, m.batch, features)
    whole, = m.node("Concat", [state, x], axis=0)
    kept, = m.node("Slice", [whole, m.constant(np.int64([m.time])),
                             m.constant(np.int64([m.time + reach])), m.constant(np.int64([0]))])
    m.tie(kept, state)
    rows, = m.node("Transpose", [whole], perm=[1, 2, 0])
    group = features if m.below(3) == 1 else 1
    outputs = features if group > 1 else outputs
    y, = m.node("Conv", [rows, m.weights(outputs, features // group, kernel),
                         m.constant(m.floats(outputs))], group=group, dilations=[dilation])
    return m.node("Transpose", [y], perm=[2, 0, 1])[0], outputs


def running_mean(m, x, features):
    share, state = np.float32(m.random.uniform(0.05, 0.9)), m.state(1, m.batch, features)
    mean, = m.node("ReduceMean", [x], axes=[0])
    kept, = m.node("Mul", [state, m.constant(1 - share)])
    added, = m.node("Mul", [mean, m.constant(share)])
    now, = m.node("Add", [kept, added])
    m.tie(now, state)
    return m.node(m.pick("Sub", "Add", "Max"), [x, m.pick(now, state)])[0], features


def written_out(m, x, features):
    state = m.state(m.batch, features)
    last, = m.node("Gather", [x, m.constant(np.int64(m.time - 1))], axis=0)
    given, = m.node("MatMul", [last, m.weights(features, features)])
    recalled, = m.node("MatMul", [state, m.weights(features, features)])
    now, = m.node("Add", [given, recalled])
    now, = m.node(m.pick("Tanh", "Sigmoid", "Softsign"), [now])
    m.tie(now, state)
    return m.node(m.pick("Add", "Mul"), [x, now])[0], features


def counter(m, x, features):
    state = m.state(1, dtype=np.int64)
    now, = m.node("Add", [state, m.constant(np.int64([m.below(4)]))])
    m.tie(now, state)
    if m.below(3) == 1:
        rest, = m.node("Mod", [now, m.constant(np.int64([features]))])
        taken, = m.node("Gather", [x, rest], axis=2)  # one feature after the other
        return m.node("Sub", [x, taken])[0], features
    odd, = m.node("Mod", [now, m.constant(np.int64([2]))])
    chosen, = m.node("Cast", [odd], to=TensorProto.BOOL)
    other, = m.node("Neg", [x])
    return m.node("Where", [chosen, x, other])[0], features


def stateless(m, x, features):
    kind = m.pick("Softmax", "LayerNormalization", "CumSum", "Gelu", "TopK")
    if kind == "LayerNormalization":
        return m.node(kind, [x, m.constant(m.floats(features))], axis=-1)[0], features
    if kind == "CumSum":
        return m.node(kind, [x, m.constant(np.int64(m.below(3, 0)))], reverse=m.below(2, 0))[0], features
    if kind == "TopK":
        count = m.below(features + 1)
        return m.node(kind, [x, m.constant(np.int64([count]))], 2)[0], count
    if kind == "Gelu":
        return m.node("Mul", [x, m.node("Sigmoid", [x])[0]])[0], features
    return m.node(kind, [x], axis=-1)[0], features


LAYERS = [recurrent, recurrent, window, window, running_mean, written_out, counter, stateless]


def random_stream(seed):
    m = Stream(seed)
    features = m.below(9)
    x = m.input(m.floats(m.time, m.batch, features))
    given = x
    for _ in range(m.below(5)):
        x, features = LAYERS[m.below(len(LAYERS), 0)](m, x, features)
        if m.below(4) == 1:
            m.outputs.append(m.node("Identity", [x])[0])
    m.outputs.append(m.node("Identity", [x])[0])
    steps = [{given: m.floats(*m.inputs[given].shape)} for _ in range(STEPS)]
    return m, steps


def reference(session, model, steps):
    """The model's outputs at every step."""
    states = {state: model.inputs[state] for _, state in model.ties}
    results = []
    for given in steps:
        got = session.run(model.outputs + [output for output, _ in model.ties], {**given, **states})
        results.append(got[:len(model.outputs)])
        states = {state: value
                  for (_, state), value in zip(model.ties, got[len(model.outputs):])}
    return results


def ours(tenon, folder, model, steps):
    plan, out = os.path.join(folder, "model.tenon"), os.path.join(folder, "out")
    command = [tenon, "convert", os.path.join(folder, "model.onnx"), "-o", plan, "--board", "x86-64", "-q"]
    for output, state in model.ties:
        command += ["--state", f"{output}={state}"]
    converted = subprocess.run(command, capture_output=True, text=True)
    if converted.returncode != 0:
        return None, converted.stderr
    command = [tenon, "run", plan, "--output-dir", out, "--steps", str(len(steps))]
    for name in steps[0]:
        file = os.path.join(folder, f"{name}.npy")
        np.save(file, np.stack([given[name] for given in steps]))
        command += ["--input", f"{name}={file}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [np.load(os.path.join(out, f"{name}.npy")) for name in model.outputs], ""


if __name__ == "__main__":
    compare_runs(random_stream, reference, ours, lambda model: len(model.ties))
