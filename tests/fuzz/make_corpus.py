#!/usr/bin/env python3
"""Makes the small inputs that fuzzing begins with: a folder for each target.

usage: make_corpus.py OUT --tenon TENON [--flatc FLATC]

Plans are made by TENON from models of a few ops, TFLite files by flatc (left out without it, saying
so). The same command makes the same bytes.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import onnx_writer as onnx

import convert_inputs


def single(op, shapes, out, weights=(), gives=onnx.FLOAT, opset=13, **attributes):
    """A model of one node: `shapes` of its inputs, and behind them `weights`: (name, shape), or
    (name, shape, values, type); a name of "" is an input left out."""
    inputs = [f"x{i}" for i in range(len(shapes))]
    made = []
    for name, shape, *rest in weights:
        some = [0.25 * (i % 7 - 3) for i in range(math.prod(shape))]
        if name:
            made.append(onnx.tensor(name, shape, *(rest or [some])))
    return onnx.model([onnx.node(op, inputs + [name for name, *_ in weights], ["y"], **attributes)],
                      [onnx.value(n, s) for n, s in zip(inputs, shapes)],
                      [onnx.value("y", out, gives)], made, opset)


def onnx_models():
    models = {
        "relu": single("Relu", [[1, 4]], [1, 4]),
        "conv": single("Conv", [[1, 3, 6, 6]], [1, 4, 4, 4], [("w", [4, 3, 3, 3]), ("b", [4])]),
        "depthwise": single("Conv", [[1, 4, 6, 6]], [1, 4, 6, 6], [("w", [4, 1, 3, 3])], group=4,
                            pads=[1, 1, 1, 1]),
        "matmul": single("MatMul", [[2, 5]], [2, 3], [("w", [5, 3])]),
        "gemm": single("Gemm", [[2, 5]], [2, 3], [("w", [3, 5]), ("b", [3])], transB=1),
        "add": single("Add", [[1, 4], [1, 4]], [1, 4]),
        "pool": single("MaxPool", [[1, 2, 4, 4]], [1, 2, 2, 2], kernel_shape=[2, 2], strides=[2, 2]),
        "mean": single("AveragePool", [[1, 2, 4, 4]], [1, 2, 3, 3], kernel_shape=[2, 2]),
        "softmax": single("Softmax", [[2, 3]], [2, 3], axis=1),
        "concat": single("Concat", [[1, 2], [1, 3]], [1, 5], axis=1),
        "transpose": single("Transpose", [[1, 2, 3]], [3, 1, 2], perm=[2, 0, 1]),
        "reduce": single("ReduceMean", [[2, 3, 4]], [2, 4], axes=[1], keepdims=0),
        "lrn": single("LRN", [[1, 4, 2, 2]], [1, 4, 2, 2], size=3),
        "deconv": single("ConvTranspose", [[1, 2, 3, 3]], [1, 3, 7, 7], [("w", [2, 3, 3, 3])],
                         strides=[2, 2]),
        "norm": single("InstanceNormalization", [[1, 2, 3]], [1, 2, 3], [("g", [2]), ("b", [2])]),
        "layer_norm": single("LayerNormalization", [[2, 4]], [2, 4], [("g", [4]), ("b", [4])],
                             opset=17),
        "prelu": single("PRelu", [[2, 3]], [2, 3], [("slopes", [3])]),
        "power": single("Pow", [[2, 3], [3]], [2, 3]),
        "less": single("Less", [[2, 3], [3]], [2, 3], gives=onnx.BOOL),
        "lstm": single("LSTM", [[2, 1, 3]], [2, 1, 1, 2], [("w", [1, 8, 3]), ("r", [1, 8, 2])],
                       hidden_size=2),
        "gru": single("GRU", [[2, 1, 3]], [2, 1, 1, 2], [("w", [1, 6, 3]), ("r", [1, 6, 2])],
                      hidden_size=2),
        "resize": single("Resize", [[1, 1, 2, 2]], [1, 1, 4, 4],
                         [("", []), ("scales", [4], [1.0, 1.0, 2.0, 2.0])], mode="linear"),
        "grid": single("GridSample", [[1, 1, 3, 3], [1, 2, 2, 2]], [1, 1, 2, 2], opset=16),
        "erf": single("Erf", [[2, 3]], [2, 3]),
        "depth": single("DepthToSpace", [[1, 4, 2, 2]], [1, 1, 4, 4], blocksize=2),
        "argmax": single("ArgMax", [[2, 3]], [2, 1], gives=onnx.INT64, axis=1),
        "gather": single("GatherElements", [[2, 3]], [2, 2],
                         [("places", [2, 2], [0, 2, 1, 0], onnx.INT64)], axis=1),
        "scatter": single("ScatterND", [[3, 2]], [3, 2],
                          [("places", [1, 1], [2], onnx.INT64), ("values", [1, 2])]),
        "cast": single("Cast", [[2, 3]], [2, 3], gives=onnx.INT32, to=onnx.INT32),
        "pad": single("Pad", [[2, 3]], [3, 4], [("pads", [4], [1, 0, 0, 1], onnx.INT64)]),
        "sums": single("CumSum", [[2, 3]], [2, 3], [("axis", [], [1], onnx.INT64)]),
        "einsum": single("Einsum", [[2, 3], [3, 2]], [2, 2], equation="ij,jk->ik"),
        "suppress": single("NonMaxSuppression", [[1, 3, 4], [1, 1, 3]], [2, 3],
                           [("most", [1], [2], onnx.INT64), ("overlap", [1], [0.5]),
                            ("score", [1], [0.1])], gives=onnx.INT64),
    }
    shape = onnx.tensor("shape", [2], [3, 2], onnx.INT64)
    models["reshape"] = onnx.model([onnx.node("Reshape", ["x", "shape"], ["y"])],
                                   [onnx.value("x", [2, 3])], [onnx.value("y", [3, 2])], [shape])
    begins = onnx.tensor("begins", [1], [1], onnx.INT64)
    ends = onnx.tensor("ends", [1], [3], onnx.INT64)
    models["slice"] = onnx.model([onnx.node("Slice", ["x", "begins", "ends"], ["y"])],
                                 [onnx.value("x", [4, 2])], [onnx.value("y", [2, 2])], [begins, ends])
    body = onnx.graph([onnx.node("Add", ["carried", "carried"], ["sum"]),
                       onnx.node("Identity", ["go"], ["again"])],
                      [onnx.value("i", [], onnx.INT64), onnx.value("go", [], onnx.BOOL),
                       onnx.value("carried", [2])],
                      [onnx.value("again", [], onnx.BOOL), onnx.value("sum", [2])])
    trips = onnx.tensor("trips", [], [3], onnx.INT64)
    models["loop"] = onnx.model([onnx.node("Loop", ["trips", "", "x"], ["y"], body=body)],
                                [onnx.value("x", [2])], [onnx.value("y", [2])], [trips])
    chain = [onnx.node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), onnx.node("Relu", ["c"], ["r"]),
             onnx.node("Add", ["r", "x"], ["s"]), onnx.node("GlobalAveragePool", ["s"], ["g"]),
             onnx.node("Flatten", ["g"], ["f"]), onnx.node("MatMul", ["f", "m"], ["y"])]
    models["net"] = onnx.model(chain, [onnx.value("x", [1, 4, 5, 5])], [onnx.value("y", [1, 3])],
                               [onnx.tensor("w", [4, 4, 3, 3], [0.1] * 144),
                                onnx.tensor("m", [4, 3], [0.2] * 12)])
    twins = [onnx.node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), onnx.node("Sigmoid", ["a"], ["s"]),
             onnx.node("Conv", ["x", "w"], ["b"], pads=[1, 1, 1, 1]), onnx.node("Tanh", ["b"], ["t"]),
             onnx.node("Add", ["s", "t"], ["y"])]
    models["twins"] = onnx.model(twins, [onnx.value("x", [1, 8, 48, 48])], [onnx.value("y", [1, 8, 48, 48])],
                                 [onnx.tensor("w", [8, 8, 3, 3], [0.1] * 576)])
    pools = [onnx.node("Conv", ["x", "w"], ["c"]), onnx.node("MaxPool", ["c"], ["m"], kernel_shape=[2, 2]),
             onnx.node("AveragePool", ["m"], ["a"], kernel_shape=[2, 2]), onnx.node("Sigmoid", ["a"], ["s"]),
             onnx.node("Mul", ["s", "a"], ["p"]), onnx.node("Concat", ["p", "a"], ["k"], axis=1),
             onnx.node("ReduceMean", ["k"], ["r"], axes=[2, 3], keepdims=0),
             onnx.node("Gemm", ["r", "g"], ["f"]), onnx.node("Softmax", ["f"], ["y"], axis=1)]
    models["pools"] = onnx.model(pools, [onnx.value("x", [1, 2, 6, 6])], [onnx.value("y", [1, 3])],
                                 [onnx.tensor("w", [4, 2, 3, 3], [0.1, -0.2] * 36),
                                  onnx.tensor("g", [8, 3], [0.2, -0.1] * 12)])
    return models | block_models() | moved_models()


UINT8, INT8, INT4, INT2 = 2, convert_inputs.INT8, 22, 26  # of ONNX


def block_models():
    """Integers with scales for blocks, of a few bits, and products with ranges of run time."""
    x = onnx.value("x", [2, 8])
    y = onnx.value("y", [2, 3])
    scales = onnx.tensor("s", [2, 3], [0.5, 0.25, 1.0, 2.0, 0.125, 0.75])
    unpack = onnx.node("DequantizeLinear", ["w", "s"], ["u"], axis=0, block_size=4)
    product = onnx.node("MatMul", ["x", "u"], ["y"])
    models = {}
    of_microsoft = onnx.block(8, onnx.block(1, "com.microsoft") + onnx.number(2, 1))
    for name, dtype, data in [("int4", INT4, bytes(range(0, 240, 20))), ("int2", INT2, b"\x1b\xe4" * 3)]:
        models[f"blocks_{name}"] = onnx.model([unpack, product], [x], [y],
                                              [onnx.tensor("w", [8, 3], data, dtype), scales], 25)
        narrow = onnx.node("QuantizeLinear", ["x", "s"], ["q"], axis=1, block_size=4, output_dtype=dtype)
        back = onnx.node("DequantizeLinear", ["q", "s"], ["y"], axis=1, block_size=4)
        models[f"narrow_{name}"] = onnx.model([narrow, back], [x], [onnx.value("y", [2, 8])],
                                              [onnx.tensor("s", [2, 2], [0.5, 0.25, 1.0, 2.0])], 25)
    models["blocks_run"] = onnx.model([unpack, product], [x, onnx.value("w", [8, 3], UINT8)], [y],
                                      [scales], 21)
    packed = onnx.node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", N=3, K=16, bits=4,
                       block_size=16)
    models["packed"] = onnx.model([packed], [onnx.value("x", [2, 16])], [y],
                                  [onnx.tensor("w", [3, 1, 8], bytes(range(24)), UINT8),
                                   onnx.tensor("s", [3], [0.5, 0.25, 1.0])]) + of_microsoft
    weights = onnx.tensor("w", [8, 3], bytes(range(24)), INT8)
    dynamic = [onnx.node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
               onnx.node("MatMulInteger", ["q", "w", "zero"], ["i"]),
               onnx.node("Cast", ["i"], ["f"], to=onnx.FLOAT),
               onnx.node("Mul", ["scale", "s"], ["both"]), onnx.node("Mul", ["f", "both"], ["m"]),
               onnx.node("Add", ["m", "b"], ["y"])]
    models["dynamic"] = onnx.model(dynamic, [x], [y], [weights, onnx.tensor("s", [3], [0.5, 0.25, 1.0]),
                                                       onnx.tensor("b", [3], [1.0, 2.0, 3.0])])
    whole = onnx.node("DynamicQuantizeMatMul", ["x", "w", "s", "", "b"], ["y"], domain="com.microsoft")
    models["dynamic_whole"] = onnx.model([whole], [x], [y], [weights, onnx.tensor("s", [1], [0.5]),
                                                             onnx.tensor("b", [3], [1.0, 2.0, 3.0])])
    models["dynamic_whole"] += of_microsoft
    return models


def moved_models():
    """Images that are moved between convolutions, in the ways that passes look for."""
    shape = [1, 8, 6, 6]
    x = onnx.value("x", shape)
    kernel = onnx.tensor("w", [8, 8, 1, 1], [0.1 * (i % 7 - 3) for i in range(64)])
    first = onnx.node("Conv", ["x", "w"], ["c"])
    models = {}

    def add(name, moves, out, weights, *constants):
        last = onnx.node("Conv", ["m", "v"], ["y"])
        content = [0.05 * (i % 5 - 2) for i in range(math.prod(weights))]
        models[name] = onnx.model([first, *moves, last], [x], [onnx.value("y", out)],
                                  [kernel, onnx.tensor("v", weights, content), *constants])

    split = onnx.tensor("split", [5], [1, 2, 4, 6, 6], onnx.INT64)
    joined = onnx.tensor("joined", [4], shape, onnx.INT64)
    add("shuffle", [onnx.node("Reshape", ["c", "split"], ["p"]),
                    onnx.node("Transpose", ["p"], ["t"], perm=[0, 2, 1, 3, 4]),
                    onnx.node("Reshape", ["t", "joined"], ["m"])], shape, [8, 8, 1, 1], split, joined)
    add("to_space", [onnx.node("DepthToSpace", ["c"], ["d"], blocksize=2), onnx.node("Relu", ["d"], ["m"])],
        [1, 2, 12, 12], [2, 2, 1, 1])
    add("phases", [onnx.node("ConvTranspose", ["c", "u"], ["d"], strides=[2, 2]),
                   onnx.node("Tanh", ["d"], ["m"])], [1, 3, 12, 12], [3, 4, 1, 1],
        onnx.tensor("u", [8, 4, 2, 2], [0.1, -0.2, 0.3, 0.05] * 32))
    add("last", [onnx.node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]),
                 onnx.node("Softmax", ["t"], ["p"], axis=3),
                 onnx.node("Transpose", ["p"], ["m"], perm=[0, 3, 1, 2])], shape, [8, 8, 1, 1])
    row_kernel = onnx.tensor("w", [8, 8, 3], [0.1 * (i % 7 - 3) for i in range(192)])
    rows = [onnx.node("Conv", ["x", "w"], ["c"], pads=[1, 1]), onnx.node("Sigmoid", ["c"], ["s"]),
            onnx.node("Mul", ["c", "s"], ["m"]), onnx.node("Conv", ["m", "w"], ["y"], pads=[1, 1])]
    models["rows"] = onnx.model(rows, [onnx.value("x", [1, 8, 20])], [onnx.value("y", [1, 8, 20])], [row_kernel])
    models["volume"] = single("Conv", [[1, 2, 4, 4, 4]], [1, 3, 3, 3, 3], [("w", [3, 2, 2, 2, 2])])
    models["volume_pool"] = single("MaxPool", [[1, 2, 5, 5, 5]], [1, 2, 3, 3, 3], kernel_shape=[2, 2, 2],
                                   strides=[2, 2, 2], ceil_mode=1)
    hot = [onnx.node("OneHot", ["x", "depth", "values"], ["h"]), onnx.node("MatMul", ["h", "w"], ["y"])]
    models["one_hot"] = onnx.model(hot, [onnx.value("x", [3], onnx.INT64)], [onnx.value("y", [3, 2])],
                                   [onnx.tensor("depth", [], [4], onnx.INT64),
                                    onnx.tensor("values", [2], [0.0, 1.0]),
                                    onnx.tensor("w", [4, 2], [0.1 * i for i in range(8)])])
    return models


def npy(shape, descr, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def floats(field, values):
    return onnx.block(field, struct.pack(f"<{len(values)}f", *values))


def caffe_layer(name, arrays):
    """A layer of a .caffemodel (field 100 of the network), with its arrays (dims, values)."""
    message = onnx.block(1, name)
    for dims, values in arrays:
        shape = onnx.block(1, b"".join(onnx.varint(d) for d in dims))
        message += onnx.block(7, onnx.block(7, shape) + floats(5, values))
    return onnx.block(100, message)


def caffe_nets():
    text = """name: "net"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 6 dim: 6 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 2 kernel_size: 3 } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc" inner_product_param { num_output: 2 } }
layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" }
"""
    weights = caffe_layer("conv", [([2, 3, 3, 3], [0.1] * 54), ([2], [0.0] * 2)])
    weights += caffe_layer("fc", [([2, 8], [0.1] * 16), ([2], [0.0] * 2)])
    small = """input: "x" input_dim: 1 input_dim: 2 input_dim: 4 input_dim: 4
layer { name: "a" type: "TanH" bottom: "x" top: "y" }
"""
    line = b"\n--------\n"
    return {"net": text.encode() + line + weights,
            "small": small.encode() + line + caffe_layer("a", [([1], [0.0])])}


def tflite_models():
    """As JSON for flatc: one node of each of a few operators."""
    def model(code, taken, given, tensors, buffers=(), **node):
        return {"version": 3, "operator_codes": [{"builtin_code": code, "deprecated_builtin_code": code,
                                                  "version": 1}],
                "subgraphs": [{"tensors": tensors, "inputs": taken, "outputs": given,
                               "operators": [{"opcode_index": 0, **node}], "name": "main"}],
                "buffers": [{}] + [{"data": list(b)} for b in buffers]}

    def tensor(name, shape, buffer=0, type_=0, scale=None):
        quantization = {} if scale is None else {"quantization": {"scale": [scale], "zero_point": [0]}}
        return {"shape": shape, "type": type_, "buffer": buffer, "name": name, **quantization}

    def dense(x_type, w_type, w_bytes, x_scale, w_scale):
        return model(9, [0], [2], [tensor("x", [1, 4], 0, x_type, x_scale), tensor("w", [3, 4], 1, w_type, w_scale),
                                   tensor("y", [1, 3], 0, x_type, x_scale)],
                     [w_bytes], inputs=[0, 1, -1], outputs=[2], builtin_options_type="FullyConnectedOptions",
                     builtin_options={})
    return {
        "dense_int4": dense(9, 17, bytes(range(0, 240, 40)), 0.5, 0.25),
        "dense_int8": dense(9, 9, bytes(range(12)), 0.5, 0.25),
        "dense_dynamic": dense(0, 9, bytes(range(12)), None, 0.25),
        "relu": model(19, [0], [1], [tensor("x", [1, 4]), tensor("y", [1, 4])], inputs=[0], outputs=[1]),
        "add": model(0, [0], [2], [tensor("x", [1, 4]), tensor("c", [1, 4], 1), tensor("y", [1, 4])],
                     [struct.pack("<4f", 1, 2, 3, 4)], inputs=[0, 1], outputs=[2],
                     builtin_options_type="AddOptions", builtin_options={}),
        "dense": model(9, [0], [2], [tensor("x", [1, 2]), tensor("w", [3, 2], 1), tensor("y", [1, 3])],
                       [struct.pack("<6f", *range(6))], inputs=[0, 1, -1], outputs=[2],
                       builtin_options_type="FullyConnectedOptions", builtin_options={}),
        "softmax": model(25, [0], [1], [tensor("x", [1, 4]), tensor("y", [1, 4])], inputs=[0],
                         outputs=[1], builtin_options_type="SoftmaxOptions",
                         builtin_options={"beta": 1.0}),
    }


def small_profile():
    times = {"runs": 3, "min_ms": 0.1, "mean_ms": 0.2, "spread": 0.1}
    terms = {"model": "m", "amounts": {"macs": 10.0}}
    entry = {"signature": "relu f32[4]", "unit": "cpu", "kernel": "cpu.unary.generic", "places": 1,
             "durations": times, "kernel_terms": terms, "kind_terms": terms}
    model = {"name": "net", "sweep": False, "latency": times, "network_bytes": 16.0, "entries": [0],
             "mean_ms": [0.2]}
    fitted = {"model": "m", "samples": 3, "error": 0.1, "ms_per_unit": {"macs": 0.001}}
    tuned = {"op": "conv", "unit": "gpu", "kernel": "opencl.conv.tile", "variant": "7x16", "ms": 0.1,
             "default_ms": 0.2}
    return {"tenon_profile": 1, "board": "x86-64", "threads": 1,
            "machine": {"processor": "p", "processors": 2, "vector_lanes": 8,
                        "cache_bytes": [32768, 524288, 4194304]},
            "entries": [entry], "models": [model], "calibration": [fitted], "priorities": [],
            "tuning": [tuned]}


def write_all(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


# How else some of the models become plans: their names, the board, the options.
WAYS = {
    "int8": (["conv", "depthwise", "matmul", "gemm", "net", "pools"], "x86-64",
             ["--quantize", "int8", "--calibration", "MEASURED"]),
    "f16": (["conv", "matmul"], "x86-64", ["--weights", "f16"]),
    "vectors": (["shuffle", "to_space", "phases", "last", "rows", "dynamic"], "x86-64-avx2", []),
    "threads": (["twins"], "x86-64", ["--threads", "2", "--parallel", "inter"]),
    "pipeline": (["net"], "x86-64", ["--threads", "2", "--parallel", "pipeline"]),
    "state": (["relu", "add"], "x86-64", ["--state", "y=x0"]),
    "fallback": (["conv", "net"], "x86-64-opencl", ["--fallback", "--time-limit", "1"]),
    "split": (["net"], "cortex-m55", ["--memory-limit", "dtcm=600", "--relax-limit"]),
}
# Shapes of the input of those that are quantized.
MEASURED = {"conv": [1, 3, 6, 6], "depthwise": [1, 4, 6, 6], "matmul": [2, 5], "gemm": [2, 5],
            "net": [1, 4, 5, 5], "pools": [1, 2, 6, 6]}


def make_plan(tenon, out, name, data, board, options):
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.onnx"
        model.write_bytes(data)
        (pathlib.Path(folder) / "MEASURED").mkdir()
        shape = MEASURED.get(name.split(".")[0], [])
        values = struct.pack(f"<{math.prod(shape)}f", *(i % 5 - 2 for i in range(math.prod(shape))))
        (pathlib.Path(folder) / "MEASURED/x.npy").write_bytes(npy(f"{tuple(shape)}", "<f4", values))
        done = subprocess.run([tenon, "convert", model, "-o", out / name, "--board", board, "-q", *options],
                              cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"no plan {name}: {done.stderr.splitlines()[0]}")


def make_plans(tenon, out, models):
    out.mkdir(parents=True, exist_ok=True)
    for name, data in models.items():
        for board in ["x86-64", "cortex-m55"]:
            make_plan(tenon, out, f"{name}.{board}", data, board, [])
    for way, (names, board, options) in WAYS.items():
        for name in names:
            make_plan(tenon, out, f"{name}.{way}", models[name], board, options)
    if not any(out.iterdir()):
        raise SystemExit(f"{tenon} has made no plan: plans would be fuzzed from nothing")


def make_tflite(flatc, out):
    out.mkdir(parents=True, exist_ok=True)
    if not flatc:
        print("no TFLite files: flatc is not given")
        return
    schema = ROOT / "converter/import/tflite/tflite_subset.fbs"
    with tempfile.TemporaryDirectory() as folder:
        for name, model in tflite_models().items():
            path = pathlib.Path(folder) / f"{name}.json"
            path.write_text(json.dumps(model))
            subprocess.run([flatc, "-b", "-o", folder, schema, path], check=True)
            made = next(p for p in pathlib.Path(folder).glob(f"{name}.*") if p.suffix != ".json")
            (out / name).write_bytes(made.read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--flatc")
    arguments = parser.parse_args()
    out = arguments.out.resolve()  # TENON runs in folders of its own
    models = onnx_models()
    write_all(out / "onnx", models)
    write_all(out / "convert", convert_inputs.conversions(models))
    write_all(out / "caffe", caffe_nets())
    write_all(out / "npy", {"f4": npy("(2, 3)", "<f4", bytes(24)), "u1": npy("(4,)", "|u1", bytes(4)),
                            "scalar": npy("()", "<i8", bytes(8))})
    write_all(out / "kernel_cache", {"file": b"\x00TENOCLB2" + bytes(24), "key": b"\x01" + bytes(16)})
    boards = ROOT / "sdk/boards"
    write_all(out / "board", {p.stem: p.read_bytes() for p in sorted(boards.glob("*.json"))
                              if not p.name.endswith(".schema.json")})
    write_all(out / "profile", {"small": json.dumps(small_profile()).encode()})
    make_plans(pathlib.Path(arguments.tenon).resolve(), out / "plan", models)
    for target in ["firmware_plan", "inspect"]:
        write_all(out / target, {p.name: p.read_bytes() for p in (out / "plan").iterdir()})
    make_tflite(arguments.flatc, out / "tflite")


if __name__ == "__main__":
    main()
