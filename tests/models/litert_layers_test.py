#!/usr/bin/env python3
"""Compares layers with a state, suppression of boxes, branches and loops with LiteRT, and the last
operator of SSD detectors, which LiteRT's Python package lacks, with what its source says, written
down here in NumPy.

Optional: skipped, saying so, where the package ai_edge_litert is missing. Argument: the `tenon`
command. A layer with a state runs for several inferences, whose state both keep; outputs are within 1e-5 of the
largest value. Of detectors every row that is counted is compared.
Exit status 0: right; 1: not; 77: skipped.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter
    from flatbuffers import flexbuffers

    from litert_one_op import OneOp
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RANDOM = np.random.default_rng(5)
RUNS = 4
OF_CLASS, LEAST, OVERLAP = 20, 0.3, 0.45


def lstm(steps, batch, inputs, units, time_major=False, coupled=False, peepholes=False,
         projection=0, cell_clip=0.0):
    model = OneOp()
    outputs = projection or units
    shape = [steps, batch, inputs] if time_major else [batch, steps, inputs]
    operands = [-1] * 24

    def floats(name, dims, scale=0.4):
        return model.constant(name, "f32", RANDOM.standard_normal(dims) * scale)

    operands[0] = model.input("x", "f32", shape)
    for gate in range(1 if coupled else 0, 4):
        operands[1 + gate] = floats(f"w{gate}", [units, inputs])
        operands[5 + gate] = floats(f"r{gate}", [units, outputs])
        operands[12 + gate] = floats(f"b{gate}", [units])
    if peepholes:
        for i in range(1 if coupled else 0, 3):
            operands[9 + i] = floats(f"p{i}", [units])
    if projection:
        operands[16] = floats("projection", [outputs, units])
    for i, size in ((18, outputs), (19, units)):
        operands[i] = model.tensor(f"state{i}", "f32", [batch, size])
        model.graph.tensors[operands[i]].isVariable = True
    y = model.output("y", "f32", shape[:2] + [outputs])
    model.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], "UnidirectionalSequenceLSTMOptions", 1,
             fusedActivationFunction=4, cellClip=cell_clip, projClip=0.0, timeMajor=time_major)
    return model


TANH, RELU = 4, 1


def constants(model, name, *dims):
    return model.constant(name, "f32", RANDOM.standard_normal(dims) * 0.4)


def both_ways_lstm(steps, batch, inputs, units, merge=False, time_major=False, aux=None):
    """`aux`: None, "instead" of the input on the way back, or "beside" it, with weights of its own."""
    model, operands = OneOp(), [-1] * 48
    shape = [steps, batch, inputs] if time_major else [batch, steps, inputs]
    operands[0] = model.input("x", "f32", shape)
    for way, first in enumerate((1, 18)):
        for gate in range(4):
            operands[first + gate] = constants(model, f"w{way}{gate}", units, inputs)
            operands[first + 4 + gate] = constants(model, f"r{way}{gate}", units, units)
            operands[first + 11 + gate] = constants(model, f"b{way}{gate}", units)
            if aux == "beside":
                operands[40 + 4 * way + gate] = constants(model, f"a{way}{gate}", units, inputs)
        operands[35 + 2 * way] = model.variable(f"h{way}", [batch, units])
        operands[36 + 2 * way] = model.variable(f"c{way}", [batch, units])
    if aux is not None:
        operands[39] = model.input("aux", "f32", shape)
    sizes = [2 * units] if merge else [units, units]
    results = [model.output(f"y{i}", "f32", shape[:2] + [size]) for i, size in enumerate(sizes)]
    model.op("BIDIRECTIONAL_SEQUENCE_LSTM", operands, results, "BidirectionalSequenceLSTMOptions", 1,
             fusedActivationFunction=TANH, cellClip=0.0, projClip=0.0, mergeOutputs=merge,
             timeMajor=time_major)
    return model


def rnn(steps, batch, inputs, units, time_major=False, activation=TANH):
    """`steps` None: the operator of one step."""
    model = OneOp()
    shape = [batch, inputs]
    if steps is not None:
        shape = [steps, batch, inputs] if time_major else [batch, steps, inputs]
    operands = [model.input("x", "f32", shape), constants(model, "w", units, inputs),
                constants(model, "r", units, units), constants(model, "b", units),
                model.variable("h", [batch, units])]
    y = model.output("y", "f32", shape[:-1] + [units])
    if steps is None:
        model.op("RNN", operands, [y], "RNNOptions", 1, fusedActivationFunction=activation)
    else:
        model.op("UNIDIRECTIONAL_SEQUENCE_RNN", operands, [y], "SequenceRNNOptions", 1,
                 fusedActivationFunction=activation, timeMajor=time_major)
    return model


def both_ways_rnn(steps, batch, inputs, units, merge=False, time_major=False, aux=None):
    """`aux` as above, but that LiteRT looks at it without weights only where time comes first."""
    model, operands = OneOp(), [-1] * 12
    shape = [steps, batch, inputs] if time_major else [batch, steps, inputs]
    operands[0] = model.input("x", "f32", shape)
    for way, first in enumerate((1, 5)):
        operands[first] = constants(model, f"w{way}", units, inputs)
        operands[first + 1] = constants(model, f"r{way}", units, units)
        operands[first + 2] = constants(model, f"b{way}", units)
        operands[first + 3] = model.variable(f"h{way}", [batch, units])
        if aux == "beside":
            operands[10 + way] = constants(model, f"a{way}", units, inputs)
    if aux is not None:
        operands[9] = model.input("aux", "f32", shape)
    sizes = [2 * units] if merge else [units, units]
    results = [model.output(f"y{i}", "f32", shape[:2] + [size]) for i, size in enumerate(sizes)]
    model.op("BIDIRECTIONAL_SEQUENCE_RNN", operands, results, "BidirectionalSequenceRNNOptions", 1,
             fusedActivationFunction=TANH, mergeOutputs=merge, timeMajor=time_major)
    return model


def svdf(batch, inputs, units, rank, memory, bias=True, activation=0):
    model = OneOp()
    operands = [model.input("x", "f32", [batch, inputs]),
                constants(model, "features", units * rank, inputs),
                constants(model, "times", units * rank, memory),
                constants(model, "b", units) if bias else -1,
                model.variable("memory", [batch, units * rank * memory])]
    model.op("SVDF", operands, [model.output("y", "f32", [batch, units])], "SVDFOptions", 1,
             rank=rank, fusedActivationFunction=activation)
    return model


def suppression(version, boxes, rows, overlap, least):
    model = OneOp()
    operands = [model.input("boxes", "f32", [boxes, 4]), model.input("scores", "f32", [boxes]),
                model.constant("most", "i32", rows), model.constant("overlap", "f32", overlap),
                model.constant("least", "f32", least)]
    results = [model.output("a_places", "i32", [rows])]
    if version == 5:
        operands.append(model.constant("sigma", "f32", 0))
        results.append(model.output("b_scores", "f32", [rows]))
    results.append(model.output("c_count", "i32", []))
    model.op(f"NON_MAX_SUPPRESSION_V{version}", operands, results,
             f"NonMaxSuppressionV{version}Options", 1)
    return model


def scaled(model, factor):
    """A graph that multiplies its input."""
    with model.another_graph() as number:
        x, y = model.input("inner", "f32", [2, 3]), model.output("product", "f32", [2, 3])
        model.op("MUL", [x, model.constant("factor", "f32", factor)], [y], "MulOptions", 1)
    return number


def branch(taken):
    model = OneOp()
    one, other = scaled(model, 2.0), scaled(model, -3.0)
    condition = model.constant("condition", "bool", taken)
    model.op("IF", [condition, model.input("x", "f32", [2, 3])],
             [model.output("y", "f32", [2, 3])], "IfOptions", 1, thenSubgraphIndex=one,
             elseSubgraphIndex=other)
    return model


def loop(rounds):
    """x = 1.5 x + x0, `rounds` times."""
    model = OneOp()
    with model.another_graph() as condition:
        count = model.input("count", "i32", [])
        for name in "xz":
            model.input(name, "f32", [2, 3])
        model.op("LESS", [count, model.constant("rounds", "i32", rounds)],
                 [model.output("again", "bool", [])], "LessOptions", 1)
    with model.another_graph() as body:
        count = model.input("count", "i32", [])
        x, z = (model.input(name, "f32", [2, 3]) for name in "xz")
        model.op("ADD", [count, model.constant("one", "i32", 1)],
                 [model.output("next", "i32", [])], "AddOptions", 1)
        product = model.tensor("product", "f32", [2, 3])
        model.op("MUL", [x, model.constant("factor", "f32", 1.5)], [product], "MulOptions", 1)
        model.op("ADD", [product, z], [model.output("sum", "f32", [2, 3])], "AddOptions", 1)
        model.graph.outputs.append(z)
    x = model.input("x", "f32", [2, 3])
    results = [model.tensor("rounds_done", "i32", []), model.output("y", "f32", [2, 3]),
               model.tensor("kept", "f32", [2, 3])]
    model.op("WHILE", [model.constant("zero", "i32", 0), x, x], results, "WhileOptions", 1,
             condSubgraphIndex=condition, bodySubgraphIndex=body)
    return model


def detector(boxes, classes, each_class, rows=10, background=1):
    model = OneOp()
    anchors = np.concatenate([RANDOM.uniform(0, 1, [boxes, 2]), RANDOM.uniform(.1, .4, [boxes, 2])],
                             axis=1)
    operands = [model.input("boxes", "f32", [1, boxes, 4]),
                model.input("scores", "f32", [1, boxes, classes + background]),
                model.constant("anchors", "f32", anchors)]
    results = [model.output("a_found", "f32", [1, rows, 4]), model.output("b_labels", "f32", [1, rows]),
               model.output("c_values", "f32", [1, rows]), model.output("d_count", "f32", [1])]
    model.op("CUSTOM", operands, results)
    model.model.operatorCodes[-1].customCode = "TFLite_Detection_PostProcess"
    model.graph.operators[-1].customOptions = np.frombuffer(flexbuffers.Dumps({
        "max_detections": rows, "max_classes_per_detection": 1, "num_classes": classes,
        "use_regular_nms": each_class, "detections_per_class": OF_CLASS,
        "nms_score_threshold": LEAST, "nms_iou_threshold": OVERLAP, "y_scale": 10.0,
        "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}), np.uint8)
    model.detect = lambda given: detected(given["boxes"][0], given["scores"][0, :, background:],
                                          anchors.astype(np.float32), each_class, rows)
    return model


def normalised():
    model = OneOp()
    x = model.input("x", "f32", [2, 5, 6, 7])
    y = model.output("y", "f32", [2, 5, 6, 7])
    model.op("LOCAL_RESPONSE_NORMALIZATION", [x], [y], "LocalResponseNormalizationOptions", 1,
             radius=2, bias=1.5, alpha=0.02, beta=0.75)
    return model


def area(box):
    return max(box[2] - box[0], 0) * max(box[3] - box[1], 0)


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    both = np.prod(np.maximum(high - low, 0))
    return both / (area(a) + area(b) - both)


def suppressed(boxes, scores, most):
    """Places of boxes, the best first, less those that overlap one before them."""
    kept = []
    for place in np.argsort(-scores, kind="stable"):
        if scores[place] < LEAST or len(kept) == most:
            break
        if all(overlap(boxes[place], boxes[other]) <= OVERLAP for other in kept):
            kept.append(place)
    return kept


def detected(given, scores, anchors, each_class, rows):
    """detection_postprocess.cc of TFLite: boxes, classes, scores, number."""
    center = given[:, :2] / 10 * anchors[:, 2:] + anchors[:, :2]
    half = np.exp(given[:, 2:] / 5) * anchors[:, 2:] / 2
    boxes = np.concatenate([center - half, center + half], axis=1)
    if each_class:
        found = [(scores[place, label], place, label) for label in range(scores.shape[1])
                 for place in suppressed(boxes, scores[:, label], OF_CLASS)]
        found = sorted(found, key=lambda one: -one[0])[:rows]
    else:
        best = scores.max(axis=1)
        found = [(best[place], place, scores[place].argmax())
                 for place in suppressed(boxes, best, rows)]
    outputs = [np.zeros((1, rows, 4)), np.zeros((1, rows)), np.zeros((1, rows)), [len(found)]]
    for row, (score, place, label) in enumerate(found):
        outputs[0][0, row], outputs[1][0, row], outputs[2][0, row] = boxes[place], label, score
    return outputs


def cases():
    yield "lstm", lstm(5, 2, 6, 7), RUNS
    yield "lstm, time major", lstm(4, 3, 5, 8, time_major=True), RUNS
    yield "lstm, coupled gates", lstm(3, 1, 6, 7, coupled=True), RUNS
    yield "lstm, peepholes", lstm(3, 1, 6, 7, peepholes=True), RUNS
    yield "lstm, projection, clipped", lstm(4, 2, 6, 9, projection=4, cell_clip=0.3), RUNS
    for aux in (None, "instead", "beside"):
        for merge in (False, True):
            label = f"{'merged' if merge else 'apart'}, aux {aux}"
            # With merged outputs LiteRT takes the state of another image from beyond its end.
            images = 1 if merge else 2
            yield f"lstm both ways, {label}", both_ways_lstm(4, images, 5, 6, merge, aux=aux), RUNS
            yield f"rnn both ways, {label}", both_ways_rnn(4, 2, 5, 6, merge, aux=aux), RUNS
    yield "lstm both ways, time major", both_ways_lstm(5, 2, 4, 3, time_major=True), RUNS
    yield "rnn both ways, time major", both_ways_rnn(5, 2, 4, 3, time_major=True), RUNS
    for aux in ("instead", "beside"):
        yield (f"rnn both ways, time major, aux {aux}",
               both_ways_rnn(5, 2, 4, 3, time_major=True, aux=aux), RUNS)
    yield "rnn", rnn(5, 2, 6, 7), RUNS
    yield "rnn, time major", rnn(4, 3, 5, 8, time_major=True), RUNS
    yield "rnn of one step", rnn(None, 3, 5, 8, activation=RELU), RUNS
    yield "svdf", svdf(2, 5, 4, 1, 8), 3 * RUNS
    yield "svdf, rank 3", svdf(3, 6, 4, 3, 5, bias=False, activation=RELU), 3 * RUNS
    yield "svdf, memory of one", svdf(1, 4, 5, 2, 1), RUNS
    for version in (4, 5):
        yield f"suppression {version}", suppression(version, 40, 12, 0.4, 0.2), 1
        yield f"suppression {version}, fewer than wanted", suppression(version, 9, 20, 0.3, 0.5), 1
    yield "branch", branch(True), 1
    yield "other branch", branch(False), 1
    for rounds in (0, 1, 5):
        yield f"loop, {rounds} rounds", loop(rounds), 1
    # TFLite's reference kernel leaves out the last neighbour; the default one, as TensorFlow, does not.
    yield "normalised", normalised(), 1
    for i in range(5):
        yield f"detector {i}", detector(60, 4, False), 1
        yield f"detector {i}, each class", detector(60, 4, True), 1


def reference(path, runs, model):
    if hasattr(model, "detect"):
        boxes = RANDOM.standard_normal([1, 60, 4]).astype(np.float32)
        scores = RANDOM.uniform(0, 1, [1, 60, 5]).astype(np.float32)
        given = {"boxes": boxes, "scores": scores}
        return [given], [model.detect(given)]
    interpreter = Interpreter(path)
    interpreter.allocate_tensors()
    inputs, outputs = [], []
    for _ in range(runs):
        given = {}
        for one in interpreter.get_input_details():
            x = RANDOM.standard_normal(one["shape"]).astype(np.float32)
            if one["name"] == "boxes":
                x = np.concatenate([RANDOM.uniform(0, 1, [len(x), 2]),
                                    RANDOM.uniform(0, 1, [len(x), 2])], axis=1).astype(np.float32)
            given[one["name"]] = x
            interpreter.set_tensor(one["index"], given[one["name"]])
        interpreter.invoke()
        inputs.append(given)
        details = sorted(interpreter.get_output_details(), key=lambda one: one["name"])
        outputs.append([interpreter.get_tensor(one["index"]).copy() for one in details])
    return inputs, outputs


def ours(tenon, folder, path, inputs, portable):
    plan, out = os.path.join(folder, "model.tenon"), os.path.join(folder, "out")
    subprocess.run([tenon, "convert", path, "-o", plan, "--board", "x86-64", "-q"], check=True)
    command = [tenon, "run", plan, "--output-dir", out]
    steps = len(inputs) > 1
    for name in inputs[0]:
        file = os.path.join(folder, name + ".npy")
        np.save(file, np.stack([given[name] for given in inputs]) if steps else inputs[0][name])
        command += ["--input", f"{name}={file}"]
    command += ["--steps", str(len(inputs))] if steps else []
    subprocess.run(command + (["--portable"] if portable else []), check=True,
                   stdout=subprocess.DEVNULL)
    results = [np.load(os.path.join(out, file)) for file in sorted(os.listdir(out))]
    return [[one[i] for one in results] for i in range(len(inputs))] if steps else [results]


def distance(got, wanted, rows=None):
    """In parts of the largest value; of the first rows."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    if got.shape != wanted.shape:
        return float("inf")
    if rows is not None and wanted.ndim > 1:
        got, wanted = got[:, :rows], wanted[:, :rows]
    return np.abs(got - wanted).max(initial=0) / max(np.abs(wanted).max(initial=0), 1e-9)


def main():
    tenon, failed = sys.argv[1], []
    for label, model, runs in cases():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tflite")
            with open(path, "wb") as file:
                file.write(model.bytes())
            inputs, wanted = reference(path, runs, model)
            rows = int(wanted[0][3][0]) if "detector" in label else None
            for portable in (False, True):
                got = ours(tenon, folder, path, inputs, portable)
                worst = max(distance(a, b, rows) for run, other in zip(got, wanted)
                            for a, b in zip(run, other))
                right = worst <= 1e-5 and all(len(a) == len(b) for a, b in zip(got, wanted))
                print(f"{label}{' portable' if portable else ''}: "
                      f"{'right' if right else 'NOT RIGHT'} ({worst:.1e}"
                      f"{f', {rows} rows' if rows is not None else ''})")
                if not right:
                    failed.append(label)
    if failed:
        print("not right:", ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
