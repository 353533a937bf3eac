#!/usr/bin/env python3
"""Writes nets with parallel branches as ONNX, with random weights, for timing.

  branch_models.py nasnet|lstm|transformer FILE.onnx
  branch_models.py dag GRAPH.json FILE.onnx     a graph as the inter-operator scheduler's export has it
"""
import json
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx  # noqa: E402


class Network:
    def __init__(self):
        source = random.Random(1)
        self.noise = struct.pack("<4099f", *(source.uniform(-1, 1) for _ in range(4099)))
        self.scaled = {}
        self.nodes, self.weights, self.used = [], [], 0

    def name(self, stem):
        self.used += 1
        return f"{stem}{self.used}"

    def weight(self, shape, fan_in, stem="w"):
        """Pseudo-random values whose sums stay near 1."""
        count = 1
        for extent in shape:
            count *= extent
        if fan_in not in self.scaled:
            scale = (3 / max(fan_in, 1)) ** 0.5
            self.scaled[fan_in] = struct.pack("<4099f", *(scale * v for v in struct.unpack("<4099f", self.noise)))
        name = self.name(stem)
        start = 4 * (self.used * 37 % 4099)  # no two weights are equal: equal ones are stored once
        raw = (self.scaled[fan_in] * (count // 4099 + 2))[start : start + 4 * count]
        self.weights.append(onnx.tensor(name, shape, raw))
        return name

    def add(self, op, inputs, stem=None, **attributes):
        output = self.name(stem or op.lower())
        self.nodes.append(onnx.node(op, inputs, [output], **attributes))
        return output

    def conv(self, x, inputs, outputs, kernel, stride=1, groups=1, pads=None, strides=None):
        kernel = kernel if isinstance(kernel, (list, tuple)) else (kernel, kernel)
        strides = list(strides or (stride, stride))
        pads = list(pads or (kernel[0] // 2, kernel[1] // 2))
        fan_in = inputs // groups * kernel[0] * kernel[1]
        operands = [x, self.weight([outputs, inputs // groups, *kernel], fan_in), self.weight([outputs], 16, "b")]
        return self.add("Conv", operands, kernel_shape=list(kernel), strides=strides, pads=pads * 2, group=groups)

    def relu(self, x):
        return self.add("Relu", [x])

    def constant(self, values, shape):
        name = self.name("c")
        self.weights.append(onnx.tensor(name, shape, values))
        return name

    def model(self, inputs, outputs):
        return onnx.model(self.nodes, [onnx.value(n, s) for n, s in inputs], [onnx.value(n, s) for n, s in outputs],
                          self.weights)


def separable(net, x, channels, kernel, stride=1):
    """NASNet's: twice relu, depthwise and pointwise; normalisation is folded into the convolutions."""
    for step in (stride, 1):
        x = net.relu(x)
        x = net.conv(x, channels, channels, kernel, step, groups=channels)
        x = net.conv(x, channels, channels, 1)
    return x


def normal_cell(net, h, p, in_h, in_p, f):
    h = net.conv(net.relu(h), in_h, f, 1)
    p = net.conv(net.relu(p), in_p, f, 1)
    pool = lambda x: net.add("AveragePool", [x], kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])  # noqa: E731
    parts = [p,
             net.add("Add", [separable(net, h, f, 3), h]),
             net.add("Add", [separable(net, p, f, 3), separable(net, h, f, 5)]),
             net.add("Add", [pool(h), p]),
             net.add("Add", [pool(p), pool(p)]),
             net.add("Add", [separable(net, p, f, 5), separable(net, p, f, 3)])]
    return net.add("Concat", parts, axis=1)


def reduction_cell(net, h, p, in_h, in_p, f):
    h = net.conv(net.relu(h), in_h, f, 1)
    p = net.conv(net.relu(p), in_p, f, 1)

    def pool(op, x, stride):
        return net.add(op, [x], kernel_shape=[3, 3], strides=[stride, stride], pads=[1, 1, 1, 1])

    first = net.add("Add", [separable(net, h, f, 5, 2), separable(net, p, f, 7, 2)])
    second = net.add("Add", [pool("MaxPool", h, 2), separable(net, p, f, 7, 2)])
    third = net.add("Add", [pool("AveragePool", h, 2), separable(net, p, f, 5, 2)])
    fourth = net.add("Add", [pool("MaxPool", h, 2), separable(net, first, f, 3)])
    fifth = net.add("Add", [pool("AveragePool", first, 1), second])
    return net.add("Concat", [second, third, fourth, fifth], axis=1)


def nasnet():
    """Two normal cells and a reduction cell of NASNet-A (4 @ 1056): Zoph et al. 2018, figure 4."""
    net, f = Network(), 44
    a = normal_cell(net, "h", "p", 6 * f, 6 * f, f)
    b = normal_cell(net, a, "h", 6 * f, 6 * f, f)
    y = reduction_cell(net, b, a, 6 * f, 6 * f, 2 * f)
    return net.model([("h", [1, 6 * f, 28, 28]), ("p", [1, 6 * f, 28, 28])], [(y, [1, 8 * f, 14, 14])])


def lstm(size=256):
    """One step of an LSTM, gate by gate: Hochreiter and Schmidhuber 1997, with a forget gate."""
    net = Network()

    def gate(function):
        x = net.add("MatMul", ["x", net.weight([size, size], size)])
        h = net.add("MatMul", ["h", net.weight([size, size], size)])
        s = net.add("Add", [net.add("Add", [x, h]), net.weight([size], 16, "b")])
        return net.add(function, [s])

    i, f, o, g = gate("Sigmoid"), gate("Sigmoid"), gate("Sigmoid"), gate("Tanh")
    c = net.add("Add", [net.add("Mul", [f, "c"]), net.add("Mul", [i, g])])
    h = net.add("Mul", [o, net.add("Tanh", [c])])
    return net.model([(n, [1, size]) for n in "xhc"], [(h, [1, size]), (c, [1, size])])


def transformer(tokens=64, width=256, heads=4):
    """An encoder block, one head at a time, normalisation written out: Vaswani et al. 2017."""
    net = Network()

    def norm(x):
        d = net.add("Sub", [x, net.add("ReduceMean", [x], axes=[1])])
        v = net.add("ReduceMean", [net.add("Mul", [d, d])], axes=[1])
        s = net.add("Sqrt", [net.add("Add", [v, net.constant([1e-5], [1])])])
        y = net.add("Mul", [net.add("Div", [d, s]), net.weight([width], 16)])
        return net.add("Add", [y, net.weight([width], 16, "b")])

    def dense(x, inputs, outputs):
        y = net.add("MatMul", [x, net.weight([inputs, outputs], inputs)])
        return net.add("Add", [y, net.weight([outputs], 16, "b")])

    y, parts = norm("x"), []
    for _ in range(heads):
        q, k, v = (dense(y, width, width // heads) for _ in range(3))
        s = net.add("MatMul", [q, net.add("Transpose", [k], perm=[1, 0])])
        s = net.add("Softmax", [net.add("Mul", [s, net.constant([(width / heads) ** -0.5], [1])])], axis=1)
        parts.append(net.add("MatMul", [s, v]))
    z = net.add("Add", ["x", dense(net.add("Concat", parts, axis=1), width, width)])
    f = net.relu(dense(norm(z), width, 4 * width))
    out = net.add("Add", [z, dense(f, 4 * width, width)])
    return net.model([("x", [tokens, width])], [(out, [tokens, width])])


def from_dag(path):
    """Inputs are terms to concatenate, each a list of channel ranges to add up."""
    net, made, nodes = Network(), {}, json.loads(pathlib.Path(path).read_text())["nodes"]
    inputs, read = [], set()

    def part(reference):
        source, begin, end = reference
        read.add(source)
        name, channels = made[source][0], made[source][1][0]
        if (begin, end) == (0, channels):
            return name
        bounds = [net.name("i") for _ in range(3)]
        for bound, number in zip(bounds, (begin, end, 1)):
            net.weights.append(onnx.tensor(bound, [1], [number], onnx.INT64))
        return net.add("Slice", [name, bounds[0], bounds[1], bounds[2]])

    def operand(terms):
        parts = []
        for term in terms:
            total = part(term[0])
            for more in term[1:]:
                total = net.add("Add", [total, part(more)])
            parts.append(total)
        channels = sum(term[0][2] - term[0][1] for term in terms)
        return (parts[0] if len(parts) == 1 else net.add("Concat", parts, axis=1)), channels

    for key, node in nodes.items():
        shape = node["output_shape"]
        if node["type"] == "placeholder":
            inputs.append((f"input{key}", [1, *shape]))
            made[key] = (f"input{key}", shape)
            continue
        x, channels = operand(node["inputs"])
        if node["type"] == "conv":
            y = net.conv(x, channels, node["out_channels"], node["kernel"], groups=node["groups"],
                         pads=node["padding"], strides=node["stride"])
            y = net.relu(y) if node["act"] == "relu" else y
        elif node["type"] == "relu":
            y = net.relu(x)
        elif node["type"] == "pool":
            y = pool_of(net, node, x)
        else:
            y = x
        made[key] = (y, shape)
    outputs = [(made[key][0], [1, *node["output_shape"]]) for key, node in nodes.items() if key not in read]
    return net.model(inputs, outputs)


def pool_of(net, node, x):
    if "global" in node["pool_type"]:
        return net.add("GlobalAveragePool", [x])
    op = "MaxPool" if node["pool_type"].startswith("max") else "AveragePool"
    return net.add(op, [x], kernel_shape=node["kernel"], strides=node["stride"], pads=node["padding"] * 2)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "dag":
        pathlib.Path(sys.argv[3]).write_bytes(from_dag(sys.argv[2]))
    elif len(sys.argv) == 3 and sys.argv[1] in ("nasnet", "lstm", "transformer"):
        pathlib.Path(sys.argv[2]).write_bytes(globals()[sys.argv[1]]())
    else:
        sys.exit(__doc__)
