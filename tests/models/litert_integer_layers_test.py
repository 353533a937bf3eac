#!/usr/bin/env python3
"""Compares integer LSTM and SVDF layers (numbers of 8 bits, states of 16) with LiteRT, bit for bit.

Optional: skipped, saying so, where the package ai_edge_litert is missing. Argument: the `tenon`
command. Each layer runs for several inferences, whose state both keep. Scales, zero points, weights
and inputs are random, among them such as saturate gates, cells and outputs.
Exit status 0: equal; 1: not; 77: skipped.
"""
import os
import sys
import tempfile

try:
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter

    from litert_layers_test import ours
    from litert_one_op import OneOp
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RANDOM = np.random.default_rng(11)
TANH, RELU = 4, 1
RUNS = 5


def whole(least, most, dims):
    return RANDOM.integers(least, most + 1, dims)


def scale(least, most):
    return float(np.float32(np.exp(RANDOM.uniform(np.log(least), np.log(most)))))


def lstm(steps, batch, inputs, units, time_major=False, coupled=False, peepholes=False,
         projection=0, cell_clip=0.0, proj_clip=0.0, cell_bits=4, loud=1.0):
    """`cell_bits`: of the cell before its point. `loud`: how far gates go, about."""
    model, operands = OneOp(), [-1] * 24
    outputs = projection or units
    shape = [steps, batch, inputs] if time_major else [batch, steps, inputs]
    hidden = {"scale": scale(0.004, 0.01), "zero_point": int(whole(-20, 20, []))}
    state = dict(hidden)
    if projection:
        state = {"scale": scale(0.004, 0.02), "zero_point": int(whole(-20, 20, []))}
    x_scale = scale(0.005, 0.05)
    operands[0] = model.input("x", "i8", shape, scale=x_scale, zero_point=int(whole(-128, 127, [])))
    for gate in range(1 if coupled else 0, 4):
        weights = scale(0.003, 0.01) * loud
        operands[1 + gate] = model.constant(f"w{gate}", "i8", whole(-127, 127, [units, inputs]),
                                            scale=weights)
        operands[5 + gate] = model.constant(f"r{gate}", "i8", whole(-127, 127, [units, outputs]),
                                            scale=scale(0.003, 0.01) * loud)
        operands[12 + gate] = model.constant(f"b{gate}", "i32", whole(-4000, 4000, [units]),
                                             scale=weights * x_scale)
    for i in range(1 if coupled else 0, 3 if peepholes else 0):
        operands[9 + i] = model.constant(f"p{i}", "i16", whole(-32767, 32767, [units]),
                                         scale=scale(1e-5, 1e-4) * loud)
    if projection:
        operands[16] = model.constant("projection", "i8", whole(-127, 127, [outputs, units]),
                                      scale=scale(0.002, 0.01))
        operands[17] = model.constant("offset", "i32", whole(-500, 500, [outputs]), scale=1e-4)
    operands[18] = model.variable("output_state", [batch, outputs], "i8", **state)
    operands[19] = model.variable("cell_state", [batch, units], "i16", scale=2.0**(cell_bits - 15))
    y = model.output("y", "i8", shape[:2] + [outputs], **state)
    model.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], "UnidirectionalSequenceLSTMOptions", 1,
             fusedActivationFunction=TANH, cellClip=cell_clip, projClip=proj_clip,
             timeMajor=time_major)
    gates = [model.tensor(f"gate{gate}", "i16", [], scale=2.0**-12) for gate in range(4)]
    model.graph.operators[-1].intermediates = gates + [model.tensor("hidden", "i8", [], **hidden)]
    return model


def saturating(zero_point):
    """Bytes in front of the projection that go past their ends."""
    model = lstm(4, 2, 6, 9, projection=4, loud=3.0)
    hidden = model.graph.tensors[model.graph.operators[-1].intermediates[4]].quantization
    hidden.scale, hidden.zeroPoint = [0.004], [zero_point]
    return model


def svdf(batch, inputs, units, rank, memory, bias=True, loud=1.0):
    model = OneOp()
    x, features = scale(0.005, 0.05), scale(0.003, 0.01)
    state, times = x * features * scale(4, 40) / loud, scale(1e-5, 1e-4)
    operands = [
        model.input("x", "i8", [batch, inputs], scale=x, zero_point=int(whole(-128, 127, []))),
        model.constant("features", "i8", whole(-127, 127, [units * rank, inputs]), scale=features),
        model.constant("times", "i16", whole(-32767, 32767, [units * rank, memory]), scale=times),
        model.constant("bias", "i32", whole(-40000000, 40000000, [units]),
                       scale=state * times) if bias else -1,
        model.variable("memory", [batch, units * rank * memory], "i16", scale=state)]
    y = model.output("y", "i8", [batch, units], scale=state * times * scale(1e6, 1e7) * memory,
                     zero_point=int(whole(-128, 20, [])))
    model.op("SVDF", operands, [y], "SVDFOptions", 1, rank=rank, fusedActivationFunction=RELU)
    return model


def cases():
    yield "lstm", lstm(5, 2, 6, 7)
    yield "lstm, time major", lstm(4, 3, 5, 8, time_major=True)
    yield "lstm, coupled gates", lstm(3, 2, 6, 7, coupled=True)
    yield "lstm, peepholes", lstm(3, 2, 6, 7, peepholes=True)
    yield "lstm, coupled gates, peepholes", lstm(3, 1, 6, 7, coupled=True, peepholes=True)
    yield "lstm, projection", lstm(4, 2, 6, 9, projection=4)
    for zero_point in (20, -20):
        yield f"lstm, projection of what saturates, {zero_point}", saturating(zero_point)
    yield "lstm, clipped", lstm(4, 2, 6, 9, projection=4, cell_clip=0.4, proj_clip=0.3)
    for bits in range(7):
        yield f"lstm, {bits} bits of the cell", lstm(3, 2, 40, 33, cell_bits=bits)
    for loud in (0.05, 3.0, 10.0):
        yield f"lstm, {loud} as loud", lstm(6, 3, 20, 24, loud=loud, peepholes=True)
    yield "svdf", svdf(2, 5, 4, 1, 8)
    yield "svdf, rank 3", svdf(3, 6, 4, 3, 5, bias=False)
    yield "svdf, memory of one", svdf(1, 4, 5, 2, 1)
    yield "svdf, loud", svdf(2, 30, 12, 2, 10, loud=50.0)
    yield "svdf, larger", svdf(1, 40, 64, 2, 10)


def reference(path):
    interpreter = Interpreter(path)
    interpreter.allocate_tensors()
    (one,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    inputs, outputs = [], []
    for _ in range(RUNS):
        x = whole(-128, 127, one["shape"]).astype(np.int8)
        interpreter.set_tensor(one["index"], x)
        interpreter.invoke()
        inputs.append({one["name"]: x})
        outputs.append(interpreter.get_tensor(result["index"]).copy())
    return inputs, outputs


def main():
    tenon, failed = sys.argv[1], []
    for label, model in cases():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tflite")
            with open(path, "wb") as file:
                file.write(model.bytes())
            inputs, wanted = reference(path)
            different = len(np.unique(np.stack(wanted)))
            for portable in (False, True):
                got = [one[0] for one in ours(tenon, folder, path, inputs, portable)]
                right = all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))
                print(f"{label}{' portable' if portable else ''}: "
                      f"{'equal' if right else 'NOT EQUAL'} ({different} different values)")
                if not right:
                    failed.append(label)
    if failed:
        print("not equal:", ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
