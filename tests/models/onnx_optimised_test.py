#!/usr/bin/env python3
"""Converts models that ONNX Runtime has optimised and saved, and compares with the original.

Small networks (an encoder as BERT, a decoder as GPT-2, one for images, a convolutional one) are
saved by ONNX Runtime at its levels, by its transformer optimiser and quantised dynamically.
Optional: skipped, saying so, where a package is missing. Argument: the `tenon` command. Exit status
0: all agree; 1: not; 77: skipped.
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
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions
    import sympy  # noqa: F401, which the transformer optimiser asks for when it runs
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

LEVELS = onnxruntime.GraphOptimizationLevel
HIDDEN, HEADS, LAYERS, WORDS = 32, 4, 2, 40


class Net:
    """A model under construction; methods add nodes and return the name of what they make."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, values, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def weights(self, *shape, size=0.3):
        return self.constant(self.random.standard_normal(shape) * size)

    def ints(self, *values):
        return self.constant(values, np.int64)

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **attributes))
        return name

    def linear(self, x, rows, columns):
        return self.op("Add", self.op("MatMul", x, self.weights(rows, columns, size=rows**-0.5)), self.weights(columns))

    def norm(self, x):
        """Layer normalisation as exporters write it out."""
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centred, self.constant(2.0)), axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", variance, self.constant(1e-12)))
        scaled = self.op("Mul", self.op("Div", centred, deviation), self.weights(HIDDEN, size=1))
        return self.op("Add", scaled, self.weights(HIDDEN))

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.constant(2**0.5)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.constant(1.0))), self.constant(0.5))

    def gelu_tanh(self, x):
        cube = self.op("Mul", self.op("Pow", x, self.constant(3.0)), self.constant(0.044715))
        tanh = self.op("Tanh", self.op("Mul", self.op("Add", x, cube), self.constant((2 / np.pi)**0.5)))
        return self.op("Mul", self.op("Mul", x, self.constant(0.5)), self.op("Add", tanh, self.constant(1.0)))

    def attention(self, x, mask):
        size = HIDDEN // HEADS
        q, k, v = (self.op("Transpose", self.op("Reshape", self.linear(x, HIDDEN, HIDDEN), self.ints(0, -1, HEADS, size)),
                           perm=order) for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.op("Div", self.op("MatMul", q, k), self.constant(size**0.5))
        if mask:
            scores = self.op("Add", scores, mask)
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        y = self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]), self.ints(0, -1, HIDDEN))
        return self.linear(y, HIDDEN, HIDDEN)

    def wide(self, x, function):
        return self.linear(function(self.linear(x, HIDDEN, 4 * HIDDEN)), 4 * HIDDEN, HIDDEN)

    def save(self, path, inputs, outputs):
        values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                  for name, x in inputs.items()]
        graph = helper.make_graph(self.nodes, "net", values, [helper.make_empty_tensor_value_info(y) for y in outputs],
                                  self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
        return inputs


def encoder(path):
    net, batch, length = Net(1), 2, 16
    mask = net.op("Cast", net.op("Unsqueeze", net.op("Unsqueeze", "mask", net.ints(1)), net.ints(2)), to=TensorProto.FLOAT)
    mask = net.op("Mul", net.op("Sub", net.constant(1.0), mask), net.constant(-10000.0))
    rows = net.op("Add", net.op("Gather", net.weights(WORDS, HIDDEN), "ids"),
                  net.op("Gather", net.weights(2, HIDDEN), "kinds"))
    places = net.op("Gather", net.weights(length, HIDDEN), net.constant([np.arange(length)], np.int64))
    x = net.norm(net.op("Add", rows, places))
    for _ in range(LAYERS):
        x = net.norm(net.op("Add", net.attention(x, mask), x))
        x = net.norm(net.op("Add", net.wide(x, net.gelu), x))
    first = net.op("Gather", x, net.constant(0, np.int64), axis=1)
    kept = np.ones((batch, length), np.int64)
    kept[1, 9:] = 0
    inputs = {"ids": net.random.integers(0, WORDS, (batch, length)), "mask": kept,
              "kinds": net.random.integers(0, 2, (batch, length))}
    return net.save(path, inputs, [x, net.op("Tanh", net.linear(first, HIDDEN, HIDDEN))])


def decoder(path):
    net, length = Net(2), 12
    places = net.op("Gather", net.weights(length, HIDDEN), net.constant([np.arange(length)], np.int64))
    x = net.op("Add", net.op("Gather", net.weights(WORDS, HIDDEN), "ids"), places)
    mask = net.constant(np.triu(np.full((1, 1, length, length), -10000.0), 1))
    for _ in range(LAYERS):
        x = net.op("Add", x, net.attention(net.norm(x), mask))
        x = net.op("Add", x, net.wide(net.norm(x), net.gelu_tanh))
    return net.save(path, {"ids": net.random.integers(0, WORDS, (1, length))}, [net.norm(x)])


def patches(path):
    net = Net(3)
    y = net.op("Conv", "image", net.weights(HIDDEN, 3, 4, 4), net.weights(HIDDEN), strides=[4, 4])
    y = net.op("Transpose", net.op("Reshape", y, net.ints(0, HIDDEN, -1)), perm=[0, 2, 1])
    x = net.op("Add", net.op("Concat", net.weights(1, 1, HIDDEN), y, axis=1), net.weights(1, 17, HIDDEN))
    for _ in range(LAYERS):
        x = net.op("Add", net.attention(net.norm(x), None), x)
        x = net.op("Add", net.wide(net.norm(x), net.gelu), x)
    y = net.op("Gather", net.norm(x), net.constant(0, np.int64), axis=1)
    image = net.random.standard_normal((1, 3, 16, 16)).astype(np.float32)
    return net.save(path, {"image": image}, [net.linear(y, HIDDEN, 10)])


def convolutions(path):
    net = Net(4)
    around = {"pads": [1, 1, 1, 1]}
    skip = x = net.op("Relu", net.op("Conv", "image", net.weights(8, 3, 3, 3), net.weights(8), **around))
    for function in ["Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"]:
        x = net.op(function, net.op("Conv", x, net.weights(8, 8, 3, 3, size=0.15), net.weights(8), **around))
    x = net.op("Clip", net.op("Conv", x, net.weights(8, 8, 1, 1), net.weights(8)), net.constant(0.0), net.constant(6.0))
    x = net.op("Conv", x, net.weights(8, 8, 3, 3, size=0.15), net.weights(8), **around)
    x = net.op("Relu", net.op("Add", x, skip))
    x = net.op("Flatten", net.op("GlobalAveragePool", net.op("Mul", x, net.op("Sigmoid", x))))
    x = net.op("Relu", net.op("Gemm", x, net.weights(16, 8), net.weights(16), transB=1))
    x = net.op("LeakyRelu", net.op("Gemm", x, net.weights(8, 16), net.weights(8), transB=1), alpha=0.2)
    return net.save(path, {"image": net.random.standard_normal((1, 3, 12, 12)).astype(np.float32)}, [x])


def session(path, level, saved=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    # Else its products of bytes saturate on processors without VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    if saved:
        options.optimized_model_filepath = saved
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def at_level(path, level, name):
    saved = f"{path}.{name}.onnx"
    session(path, level, saved)
    return saved


def by_transformers(path, kind, multi_head):
    options = FusionOptions(kind)
    options.use_multi_head_attention = multi_head
    model = optimizer.optimize_model(path, kind, num_heads=HEADS, hidden_size=HIDDEN, opt_level=0,
                                     optimization_options=options)
    saved = f"{path}.{kind}.{multi_head}.onnx"
    model.save_model_to_file(saved)
    return saved


def dynamic(path):
    saved = f"{path}.dynamic.onnx"
    quantize_dynamic(path, saved)
    return at_level(saved, LEVELS.ORT_ENABLE_EXTENDED, "extended")


def fused_ops(path):
    nodes = onnx.load(path, load_external_data=False).graph.node
    return sorted({n.op_type for n in nodes if n.domain == "com.microsoft"})


def difference(tenon, path, inputs, wanted):
    """The largest difference relative to the largest value; text: what went wrong."""
    folder = path + ".out"
    os.makedirs(folder)
    plan = path + ".tenon"
    done = subprocess.run([tenon, "convert", path, "-o", plan, "--board", "x86-64"], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    command = [tenon, "run", plan, "--output-dir", folder]
    for name, x in inputs.items():
        np.save(f"{folder}/in_{name}.npy", x)
        command += ["--input", f"{name}={folder}/in_{name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    return max(float(np.abs(np.load(f"{folder}/{name}.npy") - y).max() / np.abs(y).max()) for name, y in wanted.items())


def outputs_of(path, inputs):
    opened = session(path, LEVELS.ORT_DISABLE_ALL)
    return dict(zip([y.name for y in opened.get_outputs()], opened.run(None, inputs)))


def compare(tenon, name, path, inputs, wanted, tolerance):
    found = difference(tenon, path, inputs, wanted)
    good = not isinstance(found, str) and found <= tolerance
    print(f"{'ok' if good else 'WRONG'} {name}: {found if isinstance(found, str) else f'{found:.1e}'}"
          f" ({', '.join(fused_ops(path))})")
    return good


def refused_with_advice(tenon, name, path):
    """True if the file has nothing of one processor's layout, or is refused with what to do."""
    if "com.microsoft.nchwc" not in {n.domain for n in onnx.load(path).graph.node}:
        return True
    done = subprocess.run([tenon, "convert", path, "-o", path + ".tenon", "--board", "x86-64"], capture_output=True, text=True)
    good = done.returncode == 3 and "ORT_ENABLE_EXTENDED" in done.stderr
    print(f"{'ok' if good else 'WRONG'} {name}: {'refused' if good else done.stderr}")
    return good


def check(tenon, folder, make, kind):
    path = f"{folder}/{make.__name__}.onnx"
    inputs = make(path)
    wanted = outputs_of(path, inputs)
    saved = {"basic": at_level(path, LEVELS.ORT_ENABLE_BASIC, "basic"),
             "extended": at_level(path, LEVELS.ORT_ENABLE_EXTENDED, "extended")}
    if kind:
        saved[kind] = by_transformers(path, kind, False)
        saved[kind + ", multi-head"] = by_transformers(path, kind, True)
    results = [compare(tenon, f"{make.__name__}, {how}", file, inputs, wanted, 3e-4) for how, file in saved.items()]
    file = dynamic(saved[kind] if kind else path)
    results.append(compare(tenon, f"{make.__name__}, dynamic", file, inputs, outputs_of(file, inputs), 0.02))
    file = at_level(path, LEVELS.ORT_ENABLE_ALL, "all")
    results.append(refused_with_advice(tenon, f"{make.__name__}, all", file))
    return all(results)


def main():
    tenon = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        nets = [(encoder, "bert"), (decoder, "gpt2"), (patches, "vit"), (convolutions, None)]
        results = [check(tenon, folder, make, kind) for make, kind in nets]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
