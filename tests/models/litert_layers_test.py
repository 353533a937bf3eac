#!/usr/bin/env python3
"""Compares LSTM layers with LiteRT, and the last operator of SSD detectors, which LiteRT's Python
package lacks, with what its source says, written down here in NumPy.

Optional: skipped, saying so, where the package ai_edge_litert is missing. Argument: the `tenon`
command. An LSTM runs for several inferences, whose state both keep; outputs are within 1e-5 of the
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
