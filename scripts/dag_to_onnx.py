#!/usr/bin/env python3
"""Turns the description of a convolutional network as a DAG into an ONNX model with random weights.

The description is JSON: `nodes` maps names to
  type           placeholder, conv, relu, pool, identity
  output_shape   [channels, height, width], batch 1
  inputs         concatenation of terms, each a sum of slices [node, first channel, end channel]
  conv           out_channels, kernel, stride, padding, groups, act (identity or relu)
  pool           pool_type (max, avg, global_avg), kernel, stride, padding

Nodes come in topological order. Sums, concatenations and slices become ONNX ops of their own where
they do something. A node without readers is a graph output. Weights and biases are normal, scaled
to keep values in range (He et al., 2015), drawn in the order of the nodes from one seed, so the
same description and seed give the same model.

Needs numpy and onnx, which are for development only:
  python3 -m venv venv && venv/bin/pip install numpy onnx
  venv/bin/python scripts/dag_to_onnx.py randwire_large.dag.json -o randwire.onnx
  tenon convert randwire.onnx -o randwire.tenon --board x86-64

With --sample DIR it also writes input.npy, and with onnxruntime installed one file per output, for
`tenon run --input ... --expect ...`.
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 13


class ModelBuilder:
    """Collects ONNX nodes and weights."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes = []
        self.weights = []
        self.channels = {}  # by tensor
        self.variance = {}  # by tensor, roughly: sums add up, convolutions start anew

    def op(self, kind, inputs, output, **attributes):
        self.nodes.append(
            helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def slice(self, source, begin, end, output):
        """The channels [begin, end) of a tensor; the tensor itself where that is all."""
        if (begin, end) == (0, self.channels[source]):
            return source
        bounds = [
            self.constant(f"{output}.{name}", np.array([value], np.int64))
            for name, value in (("starts", begin), ("ends", end), ("axes", 1))
        ]
        self.variance[output] = self.variance[source]
        return self.op("Slice", [source, *bounds], output)

    def operand(self, node, inputs):
        """The concatenation of sums that a node reads."""
        terms = []
        for i, term in enumerate(inputs):
            parts = [
                self.slice(tensor_name(source), begin, end, f"{node}.slice_{i}_{k}")
                for k, (source, begin, end) in enumerate(term)
            ]
            if len(parts) > 1:
                total = sum(self.variance[part] for part in parts)
                parts = [self.op("Sum", parts, f"{node}.sum_{i}")]
                self.variance[parts[0]] = total
            terms.append(parts[0])
        if len(terms) == 1:
            return terms[0]
        joined = self.op("Concat", terms, f"{node}.concat", axis=1)
        self.variance[joined] = max(self.variance[term] for term in terms)
        return joined

    def conv(self, node, source, channels_in, what):
        shape = [what["out_channels"], channels_in // what["groups"], *what["kernel"]]
        scale = np.sqrt(2.0 / np.prod(shape[1:]) / self.variance[source])
        weight = (self.random.standard_normal(shape) * scale).astype(np.float32)
        bias = (self.random.standard_normal(shape[0]) * 0.1).astype(np.float32)
        operands = [
            source,
            self.constant(f"{node}.weight", weight),
            self.constant(f"{node}.bias", bias),
        ]
        act = what.get("act", "identity")
        if act not in ("identity", "relu"):
            raise ValueError(f"node {node}: activation {act}")
        output = node if act == "identity" else f"{node}.conv"
        self.op("Conv", operands, output, kernel_shape=what["kernel"], strides=what["stride"],
                pads=what["padding"] * 2, group=what["groups"])
        if act == "relu":
            self.op("Relu", [output], node)

    def pool(self, node, source, what):
        if what["pool_type"] == "global_avg":
            self.op("GlobalAveragePool", [source], node)
            return
        kind = {"max": "MaxPool", "avg": "AveragePool"}[what["pool_type"]]
        self.op(kind, [source], node, kernel_shape=what["kernel"], strides=what["stride"],
                pads=what["padding"] * 2)

    def add(self, name, what):
        """Adds one node of the description; placeholders are left to the caller."""
        node = tensor_name(name)
        self.channels[node] = what["output_shape"][0]
        self.variance[node] = 1.0
        if what["type"] == "placeholder":
            return
        source = self.operand(node, what["inputs"])
        if what["type"] != "conv":
            self.variance[node] = self.variance[source]
        if what["type"] == "conv":
            channels_in = sum(term[0][2] - term[0][1] for term in what["inputs"])
            self.conv(node, source, channels_in, what)
        elif what["type"] == "pool":
            self.pool(node, source, what)
        elif what["type"] == "relu":
            self.op("Relu", [source], node)
        elif what["type"] == "identity":
            self.op("Identity", [source], node)
        else:
            raise ValueError(f"node {name}: type {what['type']}")


def tensor_name(node):
    return f"node_{node}"


def value_info(name, what):
    return helper.make_tensor_value_info(
        tensor_name(name), TensorProto.FLOAT, [1, *what["output_shape"]])


def build(dag, seed):
    """The ONNX model of a description; its shapes are checked against the description's."""
    nodes = dag["nodes"]
    builder = ModelBuilder(seed)
    read = {source for what in nodes.values() for term in what["inputs"] for source, _, _ in term}
    for name, what in nodes.items():
        builder.add(name, what)
    graph = helper.make_graph(
        builder.nodes, dag["name"],
        [value_info(n, w) for n, w in nodes.items() if w["type"] == "placeholder"],
        [value_info(n, w) for n, w in nodes.items() if n not in read],
        initializer=builder.weights,
        value_info=[value_info(n, w) for n, w in nodes.items()
                    if n in read and w["type"] != "placeholder"])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                              producer_name="dag_to_onnx")
    model.ir_version = 8
    onnx.checker.check_model(model)
    # Strict: an error where a node's shape is not what its op makes of its inputs.
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    return model


def write_sample(model, model_file, folder, seed):
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed + 1)
    feeds = {}
    for port in model.graph.input:
        shape = [d.dim_value for d in port.type.tensor_type.shape.dim]
        feeds[port.name] = random.standard_normal(shape).astype(np.float32)
        np.save(folder / f"{port.name}.npy", feeds[port.name])
    try:
        import onnxruntime
    except ImportError:
        print("no onnxruntime: inputs written, outputs not", file=sys.stderr)
        return
    session = onnxruntime.InferenceSession(str(model_file), providers=["CPUExecutionProvider"])
    names = [port.name for port in model.graph.output]
    for name, value in zip(names, session.run(names, feeds)):
        np.save(folder / f"{name}.npy", value)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dag", type=pathlib.Path, help="description (.json)")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="model (.onnx)")
    parser.add_argument("--seed", type=int, default=1, help="of weights and samples (default: 1)")
    parser.add_argument("--sample", type=pathlib.Path, metavar="DIR",
                        help="also write an input and what onnxruntime makes of it")
    arguments = parser.parse_args()
    model = build(json.loads(arguments.dag.read_text()), arguments.seed)
    onnx.save(model, arguments.output)
    if arguments.sample is not None:
        write_sample(model, arguments.output, arguments.sample, arguments.seed)
    print(f"{arguments.output}: {len(model.graph.node)} ops, {model.ByteSize()} bytes")


if __name__ == "__main__":
    main()
