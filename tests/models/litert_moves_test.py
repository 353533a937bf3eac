#!/usr/bin/env python3
"""Compares operators that choose, move and spread elements with TFLite's reference kernels.

Optional: skipped, saying so, where the package ai_edge_litert is missing. Argument: the `tenon`
command. Models of one operator each are made here, in floats and in int8. Elements that are moved
or compared are equal bit for bit, and so are transposed convolutions of integers; those of floats
are within 1e-5 of the largest value.
Exit status 0: right; 1: not; 77: skipped.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    from litert_one_op import OneOp
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RANDOM = np.random.default_rng(3)
INT8 = dict(scale=0.037, zero_point=5)


def numbers(dtype):
    return INT8 if dtype == "i8" else {}


def moved(name, dtype, shape, result, operands, options=None, version=1, **fields):
    """x and constant operands of i32, and one output of the same type."""
    model = OneOp()
    x = model.input("x", dtype, shape, **numbers(dtype))
    constants = [model.constant(f"c{i}", "i32", data) for i, data in enumerate(operands)]
    y = model.output("y", dtype, result, **numbers(dtype))
    model.op(name, [x] + constants, [y], options, version, **fields)
    return model


def arg_extremum(name, dtype, axis, result):
    model = OneOp()
    x = model.input("x", dtype, [2, 5, 6, 7], **numbers(dtype))
    a = model.constant("axis", "i32", axis)
    y = model.output("y", "i32", result)
    options = "ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions"
    model.op(name, [x, a], [y], options, 1, outputType=2)
    return model


def top_k(dtype):
    model = OneOp()
    x = model.input("x", dtype, [3, 4, 33], **numbers(dtype))
    k = model.constant("k", "i32", 9)
    values = model.output("a_values", dtype, [3, 4, 9], **numbers(dtype))
    places = model.output("b_places", "i32", [3, 4, 9])
    model.op("TOPK_V2", [x, k], [values, places], "TopKV2Options", 2)
    return model


def transpose_conv(dtype, padding, stride, kernel, size, bias):
    model, channels, outputs = OneOp(), 5, 7
    grown = [s * stride if padding == 0 else (s - 1) * stride + max(kernel, stride) for s in size]
    shape = model.constant("shape", "i32", [1, *grown, outputs])
    weights = RANDOM.integers(-127, 128, [outputs, kernel, kernel, channels])
    if dtype == "i8":
        scales = RANDOM.uniform(0.001, 0.02, outputs)
        w = model.constant("w", "i8", weights, scale=scales, axis=0)
        b_numbers = dict(scale=np.float32(scales) * np.float32(0.037))
        b_data, b_type = RANDOM.integers(-4000, 4000, [outputs]), "i32"
    else:
        w = model.constant("w", "f32", weights / 100)
        b_numbers, b_data, b_type = {}, RANDOM.standard_normal(outputs), "f32"
    x = model.input("x", dtype, [1, *size, channels], **numbers(dtype))
    inputs = [shape, w, x]
    if bias:
        inputs.append(model.constant("b", b_type, b_data, **b_numbers))
    y_numbers = dict(scale=0.2, zero_point=-3) if dtype == "i8" else {}
    y = model.output("y", dtype, [1, *grown, outputs], **y_numbers)
    model.op("TRANSPOSE_CONV", inputs, [y], "TransposeConvOptions", 3, padding=padding,
             strideH=stride, strideW=stride)
    return model


def scattered():
    model = OneOp()
    indices = model.constant("indices", "i32", [[1, 2], [0, 0], [1, 2]])
    x = model.input("x", "f32", [3, 4])
    shape = model.constant("shape", "i32", [2, 3, 4])
    y = model.output("y", "f32", [2, 3, 4])
    model.op("SCATTER_ND", [indices, x, shape], [y], "ScatterNdOptions", 1)
    return model


def moves():
    yield "SCATTER_ND", scattered()
    for dtype in ("f32", "i8"):
        yield f"GATHER_ND {dtype}", moved("GATHER_ND", dtype, [3, 4, 5], [2, 2, 5],
                                          [[[[0, 1], [2, 3]], [[1, 0], [2, 2]]]],
                                          "GatherNdOptions", 2)
        for name in ("ARG_MAX", "ARG_MIN"):
            yield f"{name} {dtype} last", arg_extremum(name, dtype, -1, [2, 5, 6])
            yield f"{name} {dtype} rows", arg_extremum(name, dtype, 1, [2, 6, 7])
        yield f"TOPK_V2 {dtype}", top_k(dtype)
        yield f"SPACE_TO_BATCH_ND {dtype}", moved(
            "SPACE_TO_BATCH_ND", dtype, [2, 5, 6, 3], [12, 3, 3, 3],
            [[2, 3], [[0, 1], [1, 2]]], "SpaceToBatchNDOptions", 2)
        yield f"BATCH_TO_SPACE_ND {dtype}", moved(
            "BATCH_TO_SPACE_ND", dtype, [12, 3, 3, 3], [2, 5, 6, 3],
            [[2, 3], [[0, 1], [1, 2]]], "BatchToSpaceNDOptions", 2)
        if dtype == "f32":  # LiteRT has these in floats and i32 only, or wider
            yield "REVERSE_V2", moved("REVERSE_V2", dtype, [2, 5, 6], [2, 5, 6], [[1]],
                                      "ReverseV2Options")
            for exclusive in (False, True):
                for reverse in (False, True):
                    yield f"CUMSUM {exclusive} {reverse}", moved(
                        "CUMSUM", dtype, [3, 4, 5], [3, 4, 5], [1], "CumsumOptions", 1,
                        exclusive=exclusive, reverse=reverse)


def spreads():
    for dtype in ("f32", "i8"):
        for padding in (0, 1):
            for stride, kernel in ((1, 3), (2, 3), (2, 2), (3, 2), (2, 5)):
                yield (f"TRANSPOSE_CONV {dtype} {padding} {stride} {kernel}",
                       transpose_conv(dtype, padding, stride, kernel, [6, 5], stride == 2))


def reference(path):
    interpreter = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()[0]
    x = RANDOM.integers(-128, 128, details["shape"]).astype(details["dtype"])
    interpreter.set_tensor(details["index"], x)
    interpreter.invoke()
    outputs = sorted(interpreter.get_output_details(), key=lambda one: one["name"])
    return x, [interpreter.get_tensor(one["index"]) for one in outputs]


def ours(tenon, path, x, portable):
    with tempfile.TemporaryDirectory() as folder:
        plan, out = os.path.join(folder, "model.tenon"), os.path.join(folder, "out")
        subprocess.run([tenon, "convert", path, "-o", plan, "--board", "x86-64", "-q"], check=True)
        np.save(os.path.join(folder, "x.npy"), x)
        command = [tenon, "run", plan, "--input", f"x={folder}/x.npy", "--output-dir", out]
        subprocess.run(command + (["--portable"] if portable else []), check=True,
                       stdout=subprocess.DEVNULL)
        return [np.load(os.path.join(out, file)) for file in sorted(os.listdir(out))]


def is_right(got, wanted, spread):
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    distance = np.abs(got.astype(np.float64) - wanted.astype(np.float64)).max()
    exact = not spread or wanted.dtype == np.int8
    return distance == 0 if exact else distance <= 1e-5 * np.abs(wanted).max()


def main():
    tenon, failed = sys.argv[1], []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.tflite")
        for spread, models in ((False, moves()), (True, spreads())):
            for label, model in models:
                with open(path, "wb") as file:
                    file.write(model.bytes())
                x, wanted = reference(path)
                for portable in (False, True):
                    got = ours(tenon, path, x, portable)
                    right = len(got) == len(wanted) and all(
                        is_right(a, b, spread) for a, b in zip(got, wanted))
                    print(f"{label}{' portable' if portable else ''}: "
                          f"{'right' if right else 'NOT RIGHT'}")
                    if not right:
                        failed.append(label)
    if failed:
        print("not right:", ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
