#!/usr/bin/env python3
"""Compares random ONNX models of a few operators each with ONNX Runtime.

Optional: skipped, saying so, where the packages onnx and onnxruntime are missing. Arguments: the
`tenon` command; then how many models (default 60) and the first seed. A model that is refused is
counted, one that gives another result fails the test. Exit status 0: equal; 1: not; 77: skipped.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ELEMENT = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
           np.dtype(np.bool_): TensorProto.BOOL, np.dtype(np.int32): TensorProto.INT32}


class Model:
    """One random model: a main operator, what feeds it, and a function after it."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.inputs, self.constants, self.nodes, self.outputs = {}, [], [], []
        self.opset, self.options = 17, []

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def below(self, end, begin=1):
        return int(self.random.integers(begin, end))

    def floats(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def input(self, array):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = array
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def operand(self, array):
        """A constant or an input."""
        return self.constant(array) if self.random.integers(2) else self.input(array)

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"{op}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names

    def save(self, path):
        values = [helper.make_tensor_value_info(name, ELEMENT[array.dtype], array.shape)
                  for name, array in self.inputs.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "random", values, outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        # Output types are ONNX's own inference's.
        inferred = onnx.shape_inference.infer_shapes(model)
        known = {v.name: v for v in inferred.graph.output}
        for output in model.graph.output:
            output.CopyFrom(known[output.name])
            if not output.HasField("type"):  # ONNX's inference knows no other domains
                output.type.tensor_type.elem_type = TensorProto.FLOAT
        onnx.save(model, path)


def recurrent(m):
    op = m.pick("LSTM", "GRU", "RNN")
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    direction = m.pick("forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    steps, batch, size, hidden = m.below(6), m.below(4), m.below(9), m.below(9)
    inputs = [m.input(m.floats(steps, batch, size)),
              m.constant(m.floats(ways, gates * hidden, size)),
              m.constant(m.floats(ways, gates * hidden, hidden)),
              m.constant(m.floats(ways, 2 * gates * hidden)) if m.below(3) == 1 else "",
              m.constant(m.random.integers(1, steps + 1, batch).astype(np.int32))
              if m.below(3) == 1 else "",
              m.operand(m.floats(ways, batch, hidden)) if m.below(3) == 1 else ""]
    outputs = 2
    attributes = {"direction": direction, "hidden_size": hidden}
    if op == "LSTM":
        outputs = 3
        inputs.append(m.operand(m.floats(ways, batch, hidden)) if m.below(3) == 1 else "")
        inputs.append(m.constant(m.floats(ways, 3 * hidden)) if m.below(3) == 1 else "")
    if op == "GRU":
        attributes["linear_before_reset"] = m.below(2, 0)
    if m.below(4) == 1:
        attributes["clip"] = 0.7
    m.outputs += m.node(op, inputs, outputs, **attributes)


def conv_transpose(m):
    rank = m.pick(1, 2)
    group = m.pick(1, 1, 2, 3)
    channels, outputs = group * m.below(4), m.below(4)
    kernel = [m.below(5) for _ in range(rank)]
    strides = [m.below(4) for _ in range(rank)]
    dilations = [m.below(3) for _ in range(rank)]
    pads = [m.below(max(2, (k - 1) * d + 1), 0) for k, d in zip(kernel * 2, dilations * 2)]
    added = [m.below(max(s, d), 0) for s, d in zip(strides, dilations)]
    size = [m.below(7, 2) + 3 for _ in range(rank)]
    inputs = [m.input(m.floats(m.below(3), channels, *size)),
              m.operand(m.floats(channels, outputs, *kernel))]
    if m.below(3) == 1:
        inputs.append(m.constant(m.floats(group * outputs)))
    attributes = dict(kernel_shape=kernel, strides=strides, dilations=dilations, group=group)
    kind = m.below(4)
    # Where windows leave gaps, ONNX's text has SAME fill the last one, ONNX Runtime cuts it off.
    gaps = any((k - 1) * d + 1 < s for k, d, s in zip(kernel, dilations, strides))
    if kind == 1 and not gaps:
        attributes["auto_pad"] = m.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    else:
        attributes.update(pads=pads, output_padding=added)
    m.outputs += m.node("ConvTranspose", inputs, **attributes)


def einsum(m):
    equation = m.pick("bij,bjk->bik", "ij,jk", "bhid,bhjd->bhij", "...ij,...kj->...ik", "i,j->ij",
                      "ij->ji", "ii->i", "bii->b", "ij,ij->", "abc,cd,de->abe", "ij,i->j")
    sizes = {}
    inputs = []
    for term in equation.split("->")[0].split(","):
        dims = []
        for label in term.replace("...", "#$"):
            dims.append(sizes.setdefault(label, m.below(6)))
        inputs.append(m.input(m.floats(*dims)))
    m.outputs += m.node("Einsum", inputs, equation=equation)


def indices(m, size, shape):
    return m.random.integers(-size, size, shape).astype(np.int64)


def gather(m):
    shape = [m.below(6) for _ in range(m.below(5))]
    axis = m.below(len(shape), 0)
    taken = [m.below(d + 1) if i != axis else m.below(7) for i, d in enumerate(shape)]
    m.outputs += m.node("GatherElements", [m.input(m.floats(*shape)),
                                           m.operand(indices(m, shape[axis], taken))], axis=axis)
    depth = m.below(len(shape) + 1)
    count = [m.below(4) for _ in range(m.below(3))]
    places = np.stack([indices(m, shape[k], count) for k in range(depth)], axis=-1)
    m.outputs += m.node("GatherND", [m.input(m.floats(*shape)), m.operand(places)])


def scatter(m):
    shape = [m.below(6) for _ in range(m.below(4))]
    axis = m.below(len(shape), 0)
    # Without a reduction no element may be updated twice.
    order = m.random.permutation(shape[axis])[:m.below(shape[axis] + 1)].astype(np.int64)
    dims = [1] * len(shape)
    dims[axis] = len(order)
    taken = list(shape)
    taken[axis] = len(order)
    places = np.broadcast_to(order.reshape(dims), taken).copy()
    m.outputs += m.node("ScatterElements", [m.input(m.floats(*shape)), m.operand(places),
                                            m.input(m.floats(*taken))], axis=axis)
    rows = m.random.integers(0, shape[0], (m.below(5), 1)).astype(np.int64)
    m.outputs += m.node("ScatterND", [m.input(m.floats(*shape)), m.operand(rows),
                                      m.input(m.floats(len(rows), *shape[1:]))],
                        reduction=m.pick("add", "mul"))


def sorting(m):
    shape = [m.below(9) for _ in range(m.below(5))]
    axis = m.below(len(shape), 0)
    values = m.floats(*shape)
    if m.below(3) == 1:
        values = np.round(values)  # ties: the lower index first
    count = m.below(shape[axis] + 1)
    m.outputs += m.node("TopK", [m.input(values), m.constant(np.int64([count]))], 2, axis=axis,
                        largest=m.below(2, 0))


def unpooling(m):
    size = [m.below(9, 3), m.below(9, 3)]
    kernel = [m.below(4), m.below(4)]
    strides = kernel if m.below(3) == 1 else [m.below(4), m.below(4)]
    pads = [m.below(k, 0) for k in kernel] * 2
    x = m.input(m.floats(m.below(3), m.below(4), *size))
    pooled = m.node("MaxPool", [x], 2, kernel_shape=kernel, strides=strides, pads=pads,
                    storage_order=m.below(2, 0))
    m.outputs += pooled


def suppression(m):
    images, classes, boxes = m.below(3), m.below(4), m.below(30)
    corners = np.abs(m.floats(images, boxes, 4))
    inputs = [m.input(corners), m.input(m.random.random((images, classes, boxes)).astype(np.float32)),
              m.constant(np.int64([m.below(boxes + 3)])), m.constant(np.float32([m.random.random()]))]
    if m.below(3) > 1:
        inputs.append(m.constant(np.float32([m.random.random()])))
    m.outputs += m.node("NonMaxSuppression", inputs, center_point_box=m.below(2, 0))


def extremes(m):
    shape = [m.below(6) for _ in range(m.below(5))]
    axis = m.below(len(shape), 0)
    values = m.random.integers(-3, 3, shape).astype(np.float32)  # ties matter
    m.outputs += m.node(m.pick("ArgMax", "ArgMin"), [m.input(values)], axis=axis,
                        keepdims=m.below(2, 0), select_last_index=m.below(2, 0))
    m.outputs += m.node("Hardmax", [m.input(m.floats(*shape))], axis=axis)
    m.outputs += m.node("OneHot", [m.input(indices(m, 7, [m.below(5)])),
                                   m.constant(np.int64(5)),
                                   m.constant(np.float32([-1, 2]))], axis=m.pick(-1, 0))


def triangles(m):
    x = m.input(m.floats(m.below(3), m.below(7), m.below(7)))
    m.outputs += m.node("Trilu", [x, m.constant(np.int64(m.below(5, -4)))], upper=m.below(2, 0))
    function = m.pick("Asin", "Acos", "Atanh", "Asinh", "Tan", "Sinh", "Cosh", "Shrink", "Atan")
    m.outputs += m.node(function, [m.input(np.clip(m.floats(3, 7) / 3, -0.99, 0.99))])
    m.outputs += m.node("Acosh", [m.input(1 + np.abs(m.floats(5)))])


def spectrum(m):
    length, parts = m.below(20, 2), m.pick(1, 2)
    x = m.input(m.floats(m.below(3), length, parts))
    one_sided = 1 if parts == 1 and m.below(3) == 1 else 0
    m.outputs += m.node("DFT", [x], axis=1, onesided=one_sided)
    frame = m.below(length + 1, 2)
    m.outputs += m.node("STFT", [m.input(m.floats(2, length, 1)), m.constant(np.int64(m.below(4))),
                                 m.constant(m.floats(frame))], onesided=1)


def losses(m):
    classes, batch, rest = m.below(6, 2), m.below(4), [m.below(4) for _ in range(m.below(3, 0))]
    target = m.random.integers(0, classes, [batch, *rest]).astype(np.int64)
    inputs = [m.input(m.floats(batch, classes, *rest)), m.operand(target)]
    if m.below(3) == 1:
        inputs.append(m.constant(np.abs(m.floats(classes)) + np.float32(0.1)))
    reduction = m.pick("none", "sum", "mean")
    attributes = {"ignore_index": 0} if m.below(3) == 1 and reduction != "mean" else {}
    m.outputs += m.node("SoftmaxCrossEntropyLoss", inputs, reduction=reduction, **attributes)


def dynamic(m):
    """Products of integers with scales of run time, as dynamic quantization makes them."""
    # Weights of 7 bits: ONNX Runtime's sums of pairs saturate with larger ones on some processors.
    def weights(*shape):
        return m.constant(m.random.integers(-63, 64, shape).astype(np.int8))

    size, columns, each = m.below(40), m.below(30), m.below(2, 0)
    scale = m.constant(np.abs(m.floats(columns if each else 1)) * np.float32(0.02) + np.float32(1e-3))
    zero = m.constant(np.zeros(columns if each else 1, np.int8))
    kind = m.pick("MatMulInteger", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM")
    x = m.input(m.floats(m.below(5), size))
    if kind == "MatMulInteger":
        integers, _, zero_point = m.node("DynamicQuantizeLinear", [x], 3)
        m.outputs += m.node(kind, [integers, weights(size, columns), zero_point])
    elif kind == "DynamicQuantizeMatMul":
        bias = m.constant(m.floats(columns)) if m.below(2, 0) else ""
        m.outputs += m.node(kind, [x, weights(size, columns), scale, zero, bias],
                            domain="com.microsoft")
    else:
        steps, hidden, ways = m.below(5), m.below(20), m.pick(1, 2)
        m.inputs[x] = m.floats(steps, 1, size)
        scales = [m.constant(np.abs(m.floats(ways)) * np.float32(0.02) + np.float32(1e-3))
                  for _ in range(2)]
        zeros = [m.constant(np.zeros(ways, np.int8)) for _ in range(2)]
        bias = m.constant(m.floats(ways, 8 * hidden)) if m.below(2, 0) else ""
        m.outputs += m.node(
            kind, [x, weights(ways, size, 4 * hidden), weights(ways, hidden, 4 * hidden), bias, "",
                   "", "", "", scales[0], zeros[0], scales[1], zeros[1]], 3,
            domain="com.microsoft", hidden_size=hidden,
            direction="forward" if ways == 1 else "bidirectional")


def resize(m):
    """By scales, most of which give no whole size, as ONNX Runtime has them."""
    m.opset, m.options = 19, ["--align-corners=sizes"]
    mode = m.pick("nearest", "linear", "cubic")
    coordinates = m.pick("align_corners", "half_pixel_symmetric", "half_pixel", "asymmetric",
                         "tf_crop_and_resize")
    x = m.floats(m.below(3), m.below(4), m.below(9, 3), m.below(9, 3))
    scales = m.random.uniform(0.4, 2.6, 2)
    while any(int(size * scale) == size for size, scale in zip(x.shape[2:], scales)):
        scales = m.random.uniform(0.4, 2.6, 2)  # what keeps its size ONNX Runtime copies
    inputs = [m.input(x), "", m.constant(np.float32([1, 1, *scales]))]
    attributes = dict(mode=mode, coordinate_transformation_mode=coordinates)
    if mode == "nearest":
        attributes["nearest_mode"] = m.pick("floor", "ceil", "round_prefer_floor")
    if coordinates == "tf_crop_and_resize":
        if mode == "cubic":
            attributes["mode"] = "linear"
        begins, ends = m.random.uniform(-0.3, 0.4, 2), m.random.uniform(0.8, 1.4, 2)
        inputs[1] = m.constant(np.float32([0, 0, *begins, 1, 1, *ends]))
        inputs[2] = ""
        # A dimension that keeps its size ONNX Runtime takes whole, whatever its region.
        sizes = [m.pick(*(i for i in range(1, 9) if i != size)) for size in x.shape[2:]]
        inputs.append(m.constant(np.array([*x.shape[:2], *sizes], np.int64)))
        attributes["extrapolation_value"] = 0.5
    m.outputs += m.node("Resize", inputs, **attributes)


def conv_integer(m):
    """Its zero point is made when it runs."""
    group = m.pick(1, 1, 2)
    channels = group * m.below(4)
    kernel = [m.below(4), m.below(4)]
    quantized, _, zero = m.node("DynamicQuantizeLinear",
                                [m.input(m.floats(m.below(3), channels, m.below(9, 4), 7))], 3)
    weights = m.random.integers(-128, 128, (group * m.below(5), channels // group, *kernel))
    inputs = [quantized, m.constant(weights.astype(np.int8)), zero]
    if m.below(3) == 1:
        inputs.append(m.constant(np.int8(m.below(9, -9))))
    sums, = m.node("ConvInteger", inputs, kernel_shape=kernel, group=group,
                   strides=[m.below(3), m.below(3)], dilations=[m.below(3), 1],
                   pads=[m.below(3, 0) for _ in range(4)])
    m.outputs += m.node("Cast", [sums], to=TensorProto.INT64)


KINDS = [recurrent, recurrent, conv_transpose, conv_transpose, einsum, gather, scatter, extremes,
         triangles, spectrum, losses, sorting, unpooling, suppression, dynamic, resize, conv_integer]


def run_ours(tenon, folder, model):
    """Outputs by name; nothing where the model is refused."""
    plan = os.path.join(folder, "model.tenon")
    converted = subprocess.run([tenon, "convert", os.path.join(folder, "model.onnx"), "-o", plan,
                                "--board", "x86-64", "-q", *model.options], capture_output=True, text=True)
    if converted.returncode == 3:
        return None, converted.stderr
    if converted.returncode != 0:
        raise RuntimeError(converted.stderr)
    out = os.path.join(folder, "out")
    command = [tenon, "run", plan, "--output-dir", out]
    for name, array in model.inputs.items():
        file = os.path.join(folder, f"{name}.npy")
        np.save(file, array)
        command += ["--input", f"{name}={file}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {name: np.load(os.path.join(out, f"{name}.npy")) for name in model.outputs}, ""


def problem(expected, got):
    """What differs, in words; empty where nothing does."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return f"{got.dtype}{got.shape} instead of {expected.dtype}{expected.shape}"
    if not np.issubdtype(expected.dtype, np.floating):
        return "" if np.array_equal(expected, got) else "integers differ"
    finite = np.abs(expected[np.isfinite(expected)])
    bound = 1e-5 + 1e-4 * finite.max(initial=0)
    close = np.isclose(expected, got, rtol=0, atol=bound, equal_nan=True)
    return "" if close.all() else f"differs by {np.abs(expected - got)[~close].max()}"


def compare_runs(make, reference, ours, parts):
    """Compares random models that are run several times with ONNX Runtime, and ends the program. Arguments:
    the `tenon` command; then how many models (default 40) and the first seed. `make(seed)` gives a model and
    its runs, `reference(session, model, runs)` the outputs of each run, `ours(tenon, folder, model, runs)`
    each output of all runs, or None and why; `parts(model)` counts what the models are about."""
    tenon = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    right = wrong = refused = unknown = tried = 0
    for seed in range(first, first + count):
        model, runs = make(seed)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            model.save(path)
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            options.intra_op_num_threads = 1
            try:
                expected = reference(onnxruntime.InferenceSession(path, options), model, runs)
            except Exception:  # it refuses the model: nothing to compare
                unknown += 1
                continue
            got, why = ours(tenon, folder, model, runs)
        if got is None:
            print(f"seed {seed} is refused: {why.splitlines()[0]}")
            refused += 1
            continue
        found = [f"output {name}, run {run}: {difference}"
                 for k, name in enumerate(model.outputs) for run in range(len(runs))
                 if (difference := problem(expected[run][k], got[k][run]))]
        if found:
            print(f"seed {seed}: {found[0]}")
        wrong += bool(found)
        right += not found
        tried += parts(model)
    print(f"{right} models with {tried} of these parts equal, {wrong} not, {refused} refused, {unknown} without an "
          "answer of ONNX Runtime")
    sys.exit(1 if wrong or refused or not right else 0)


def main():
    tenon = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    wrong = refused = right = 0
    for seed in range(first, first + count):
        model = Model(seed)
        kind = KINDS[seed % len(KINDS)]
        kind(model)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            model.save(path)
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            # Else its products of bytes saturate on processors without VNNI.
            options.add_session_config_entry("session.x64quantprecision", "1")
            try:
                session = onnxruntime.InferenceSession(path, options)
                expected = session.run(model.outputs, model.inputs)
            except Exception:  # ONNX Runtime has no kernel or refuses the model: nothing to compare
                continue
            got, why = run_ours(tenon, folder, model)
        if got is None:
            print(f"seed {seed} ({kind.__name__}) is refused: {why.splitlines()[0]}")
            refused += 1
            continue
        for name, wanted in zip(model.outputs, expected):
            if name.startswith("NonMaxSuppression"):  # as many rows as could be taken, unused ones -1
                unused = got[name][len(wanted):]
                got[name] = got[name][:len(wanted)] if (unused == -1).all() else got[name]
            difference = problem(wanted, got[name])
            if difference:
                print(f"seed {seed} ({kind.__name__}), output {name}: {difference}")
                wrong += 1
        right += 1
    print(f"{right} models compared, {wrong} outputs wrong, {refused} refused")
    sys.exit(1 if wrong or refused or not right else 0)


if __name__ == "__main__":
    main()
