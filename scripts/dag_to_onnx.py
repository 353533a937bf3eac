#!/usr/bin/env python3
"""Turns the description of a convolutional network as a DAG into an ONNX model with random weights.

To see what an order of ops, a split or a board makes of a network, its shape is enough. The
description is JSON, for instance (what --example prints):

@EXAMPLE@

`nodes` maps names, in topological order, to
  type          placeholder, conv, pool, relu or identity
  inputs        a list of terms, which are concatenated along the channels; each term is a list of
                slices [node, first channel, end channel], which are added
  output_shape  [channels, height, width] at batch 1; needed for placeholders, checked for others
  conv:         out_channels, kernel; stride ([1, 1]), padding ([0, 0]), groups (1),
                act (identity or relu)
  pool:         pool_type (max, avg or global_avg), kernel, stride and padding likewise

Sums, concatenations and slices become ops of their own where they do something. A node without
readers is an output of the model. Nothing but the Python standard library is needed:

  python3 scripts/dag_to_onnx.py network.json -o network.onnx
  tenon convert network.onnx -o network.tenon --board x86-64

Weights are windows of a pool of normal values, scaled to keep values in range (He et al., 2015):
right for times, bytes and comparisons of kernels, not for questions about accuracy. They are drawn
from --seed in the order of the nodes, so the same description and seed give the same bytes.
"""

import argparse
import array
import json
import math
import pathlib
import random
import struct
import sys

import onnx_writer as onnx

EXAMPLE = """\
{"name": "two_branches", "nodes": {
  "input": {"type": "placeholder", "output_shape": [3, 32, 32]},
  "wide_a": {"type": "conv", "out_channels": 64, "kernel": [3, 3], "padding": [1, 1],
             "act": "relu", "inputs": [[["input", 0, 3]]]},
  "wide_b": {"type": "conv", "out_channels": 64, "kernel": [5, 5], "padding": [2, 2],
             "act": "relu", "inputs": [[["input", 0, 3]]]},
  "narrow_a": {"type": "conv", "out_channels": 16, "kernel": [1, 1],
               "inputs": [[["wide_a", 0, 64]]]},
  "narrow_b": {"type": "conv", "out_channels": 16, "kernel": [3, 3], "padding": [1, 1],
               "groups": 16, "inputs": [[["wide_b", 0, 64]]]},
  "joined": {"type": "relu", "output_shape": [24, 32, 32],
             "inputs": [[["narrow_a", 0, 16], ["narrow_b", 0, 16]], [["narrow_a", 0, 8]]]},
  "pooled": {"type": "pool", "pool_type": "global_avg", "inputs": [[["joined", 0, 24]]]}
}}"""
DESCRIPTION = __doc__.replace("@EXAMPLE@", EXAMPLE)

TYPES = ("placeholder", "conv", "pool", "relu", "identity")
POOLS = {"max": "MaxPool", "avg": "AveragePool", "global_avg": "GlobalAveragePool"}
POOL_OF_VALUES = 16381


class DescriptionError(Exception):
    """The description contradicts itself or the format."""


def shrunk(size, shrink):
    return max(1, math.ceil(size / shrink))


class ModelBuilder:
    """Collects ONNX nodes and weights. `shape` and `variance` are kept by name of tensor; the
    variance is a rough one: sums add up, convolutions start anew."""

    def __init__(self, seed, shrink):
        self.random = random.Random(seed)
        self.shrink = shrink
        self.values = [self.random.gauss(0.0, 1.0) for _ in range(POOL_OF_VALUES)]
        self.nodes = []
        self.weights = []
        self.full_channels = {}  # by node, as described
        self.shape = {}
        self.variance = {}

    def op(self, kind, inputs, output, shape, **attributes):
        self.nodes.append(onnx.node(kind, inputs, [output], **attributes))
        self.shape[output] = list(shape)
        self.variance.setdefault(output, max(self.variance[i] for i in inputs if i in self.variance))
        return output

    def normal(self, name, shape, scale):
        """A constant of random values; filters are windows of one pool, at random places."""
        per_filter = math.prod(shape[1:])
        pool = array.array("f", [value * scale for value in self.values])
        pool = pool * (per_filter // POOL_OF_VALUES + 2)
        places = [self.random.randrange(POOL_OF_VALUES) for _ in range(shape[0])]
        data = array.array("f")
        for place in places:
            data.extend(pool[place:place + per_filter])
        if sys.byteorder == "big":
            data.byteswap()
        self.weights.append(onnx.tensor(name, shape, data.tobytes()))
        return name

    def slice(self, node, begin, end, output):
        """The channels [begin, end) of a node; its whole tensor where that is all."""
        source = tensor_name(node)
        full = self.full_channels[node]
        channels, *image = self.shape[source]
        if not 0 <= begin < end <= full:
            raise DescriptionError(f"'{node}' has {full} channels, not [{begin}, {end})")
        if (begin, end) == (0, full):
            return source
        begin = begin * channels // full
        end = max(begin + 1, end * channels // full)
        bounds = []
        for name, value in (("starts", begin), ("ends", end), ("axes", 1)):
            bounds.append(f"{output}.{name}")
            self.weights.append(onnx.tensor(bounds[-1], [1], [value], onnx.INT64))
        return self.op("Slice", [source, *bounds], output, [end - begin, *image])

    def sum(self, parts, output):
        shapes = [self.shape[part] for part in parts]
        if any(shape != shapes[0] for shape in shapes):
            raise DescriptionError(f"'{output}' adds tensors of different shapes: {shapes}")
        self.variance[output] = sum(self.variance[part] for part in parts)
        return self.op("Sum", parts, output, shapes[0])

    def concat(self, terms, output):
        images = [self.shape[term][1:] for term in terms]
        if any(image != images[0] for image in images):
            raise DescriptionError(f"'{output}' joins images of different sizes: {images}")
        channels = sum(self.shape[term][0] for term in terms)
        return self.op("Concat", terms, output, [channels, *images[0]], axis=1)

    def operand(self, name, inputs):
        """The concatenation of sums that a node reads."""
        terms = []
        for i, term in enumerate(inputs):
            prefix = tensor_name(name)
            parts = [self.slice(*part, f"{prefix}.slice_{i}_{k}") for k, part in enumerate(term)]
            terms.append(parts[0] if len(parts) == 1 else self.sum(parts, f"{prefix}.sum_{i}"))
        return terms[0] if len(terms) == 1 else self.concat(terms, f"{prefix}.concat")

    def window(self, name, what, source):
        """Attributes of a convolution or pooling, and the size of the image that comes out."""
        kernel, stride = what["kernel"], what.get("stride", [1, 1])
        padding = what.get("padding", [0, 0])
        image = [(size + 2 * pad - k) // s + 1
                 for size, pad, k, s in zip(self.shape[source][1:], padding, kernel, stride)]
        if min(image) < 1:
            raise DescriptionError(f"'{name}': the window {kernel} is larger than the image")
        return {"kernel_shape": kernel, "strides": stride, "pads": padding * 2}, image

    def conv(self, name, what, source):
        channels_in = self.shape[source][0]
        channels_out, groups = what["out_channels"], what.get("groups", 1)
        if self.shrink > 1:  # depthwise stays depthwise
            described = sum(term[0][2] - term[0][1] for term in what["inputs"])
            if groups == described:
                groups, channels_out = channels_in, channels_out // groups * channels_in
            else:
                channels_out = shrunk(channels_out, self.shrink)
                groups = math.gcd(groups, channels_in, channels_out)
        if channels_in % groups or channels_out % groups:
            raise DescriptionError(f"'{name}': {groups} groups do not divide the channels")
        attributes, image = self.window(name, what, source)
        node = tensor_name(name)
        weights = [channels_out, channels_in // groups, *what["kernel"]]
        scale = math.sqrt(2.0 / math.prod(weights[1:]) / self.variance[source])
        operands = [source, self.normal(f"{node}.weight", weights, scale),
                    self.normal(f"{node}.bias", [channels_out], 0.1)]
        act = what.get("act", "identity")
        if act not in ("identity", "relu"):
            raise DescriptionError(f"'{name}': activation '{act}' is not known")
        output = node if act == "identity" else f"{node}.conv"
        self.variance[output] = 1.0
        self.op("Conv", operands, output, [channels_out, *image], group=groups, **attributes)
        if act == "relu":
            self.op("Relu", [output], node, self.shape[output])

    def pool(self, name, what, source):
        if what["pool_type"] not in POOLS:
            raise DescriptionError(f"'{name}': pooling '{what['pool_type']}' is not known")
        attributes, image = {}, [1, 1]
        if what["pool_type"] != "global_avg":
            attributes, image = self.window(name, what, source)
        self.op(POOLS[what["pool_type"]], [source], tensor_name(name),
                [self.shape[source][0], *image], **attributes)

    def add(self, name, what):
        node = tensor_name(name)
        if what["type"] not in TYPES:
            raise DescriptionError(f"'{name}': type '{what['type']}' is not known")
        if what["type"] == "placeholder":
            channels, *image = what["output_shape"]
            self.full_channels[name] = channels
            self.shape[node] = [channels, *(shrunk(size, self.shrink) for size in image)]
            self.variance[node] = 1.0
            return
        source = self.operand(name, what["inputs"])
        if what["type"] == "conv":
            self.full_channels[name] = what["out_channels"]
            self.conv(name, what, source)
        else:
            self.full_channels[name] = sum(term[0][2] - term[0][1] for term in what["inputs"])
            if what["type"] == "pool":
                self.pool(name, what, source)
            else:
                self.op(what["type"].capitalize(), [source], node, self.shape[source])
        described = what.get("output_shape", self.shape[node])
        if self.shrink == 1 and described != self.shape[node]:
            raise DescriptionError(
                f"'{name}' is described as {described}, and its op gives {self.shape[node]}")


def tensor_name(node):
    return f"node_{node}"


def build(dag, seed=1, shrink=1):
    """The model of a description: its ONNX bytes, the inputs' shapes by name, the number of ops.

    Errors: DescriptionError; KeyError where a key is missing or a node is not known yet.
    """
    nodes = dag["nodes"]
    builder = ModelBuilder(seed, shrink)
    for name, what in nodes.items():
        builder.add(name, what)
    read = {part[0] for what in nodes.values() for term in what.get("inputs", []) for part in term}
    shapes = {tensor_name(name): [1, *builder.shape[tensor_name(name)]] for name in nodes}
    inputs = {tensor_name(name): shapes[tensor_name(name)]
              for name, what in nodes.items() if what["type"] == "placeholder"}
    outputs = [tensor_name(name) for name in nodes if name not in read]
    model = onnx.model(builder.nodes, [onnx.value(name, shape) for name, shape in inputs.items()],
                       [onnx.value(name, shapes[name]) for name in outputs], builder.weights)
    return model, inputs, len(builder.nodes)


def write_inputs(inputs, folder, seed):
    """A .npy file of normal values per input."""
    folder.mkdir(parents=True, exist_ok=True)
    source = random.Random(seed + 1)
    for name, shape in inputs.items():
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        values = [source.gauss(0.0, 1.0) for _ in range(math.prod(shape))]
        (folder / f"{name}.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{len(values)}f", *values))


def positive(text):
    if int(text) < 1:
        raise ValueError
    return int(text)


def main():
    parser = argparse.ArgumentParser(
        description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dag", type=pathlib.Path, nargs="?", help="description (.json)")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="model to write (.onnx)")
    parser.add_argument("--example", action="store_true", help="print the example, no more")
    parser.add_argument("--seed", type=int, default=1, help="of weights and inputs (default: 1)")
    parser.add_argument("--shrink", type=positive, default=1, metavar="N",
                        help="divide channels, heights and widths by N, rounding up (default: 1)")
    parser.add_argument("--inputs", type=pathlib.Path, metavar="DIR",
                        help="also write random inputs there, NAME.npy each, for 'tenon run'")
    arguments = parser.parse_args()
    if arguments.example:
        print(EXAMPLE)
        return
    if arguments.dag is None or arguments.output is None:
        parser.error("a description and --output are needed")
    try:
        description = json.loads(arguments.dag.read_text())
        model, inputs, ops = build(description, arguments.seed, arguments.shrink)
        arguments.output.write_bytes(model)
        if arguments.inputs is not None:
            write_inputs(inputs, arguments.inputs, arguments.seed)
    except KeyError as missing:
        sys.exit(f"dag_to_onnx: {arguments.dag}: {missing} is not there")
    except (DescriptionError, OSError, json.JSONDecodeError) as error:
        sys.exit(f"dag_to_onnx: {arguments.dag}: {error}")
    print(f"{arguments.output}: {ops} ops, {len(model)} bytes")


if __name__ == "__main__":
    main()
