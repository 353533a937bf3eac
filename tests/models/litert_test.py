#!/usr/bin/env python3
"""Compares converted TFLite models bit for bit with TFLite's reference kernels.

Optional: skipped, saying so, where the package ai_edge_litert is missing. Arguments: the `tenon`
command, and the folder of shared models ("" for none). Models of one operator each are made here.
Exit status 0: equal; 1: not; 77: skipped.
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

RANDOM = np.random.default_rng(1)
INTEGER_MODELS = ["mlperf_kws_dscnn/kws_int8.tflite", "mlperf_resnet8_cifar10/resnet8_int8.tflite",
                  "mlperf_ad01_autoencoder/ad01_int8.tflite",
                  "mobilenet_v2_224/model_ptq_uint8io.tflite"]


def values(details):
    dtype, shape = details["dtype"], details["shape"]
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        array = RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)
        if array.size >= 256 and info.bits == 8:  # every value at least once
            array.reshape(-1)[:256] = np.arange(256).astype(dtype)
        return array
    return RANDOM.standard_normal(shape).astype(dtype)


def reference(path):
    """Inputs by name and the reference kernels' outputs."""
    interpreter = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    inputs = [(details["name"], details["index"], values(details))
              for details in interpreter.get_input_details()]
    for _, index, array in inputs:
        interpreter.set_tensor(index, array)
    interpreter.invoke()
    outputs = {details["name"]: interpreter.get_tensor(details["index"])
               for details in interpreter.get_output_details()}
    return {name: array for name, _, array in inputs}, outputs


def ours(tenon, path, inputs, portable):
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "model.tenon")
        subprocess.run([tenon, "convert", path, "-o", plan, "--board", "x86-64", "-q"], check=True)
        command = [tenon, "run", plan, "--output-dir", os.path.join(folder, "out")]
        if portable:
            command.append("--portable")
        for i, (name, array) in enumerate(inputs.items()):
            file = os.path.join(folder, f"input{i}.npy")
            np.save(file, array)
            command += ["--input", f"{name}={file}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        out = os.path.join(folder, "out")
        return [np.load(os.path.join(out, file)) for file in sorted(os.listdir(out))]


def differences(tenon, path, portable):
    """Elements that differ, elements, and the largest difference, over all outputs."""
    inputs, expected = reference(path)
    got = ours(tenon, path, inputs, portable)
    wanted = [expected[name] for name in sorted(expected)]
    assert len(got) == len(wanted)
    unequal = total = worst = 0
    for a, b in zip(got, wanted):
        assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
        distance = np.abs(a.astype(np.float64) - b.astype(np.float64))
        unequal += int(np.count_nonzero(distance))
        total += distance.size
        worst = max(worst, float(distance.max(initial=0)))
    return unequal, total, worst


# --- models of one operator -----------------------------------------------------------------------

def zero(dtype):
    return 0 if dtype == "i8" else 128


def weights(model, dtype, shape, axis, scales):
    if dtype == "i8":
        return model.constant("w", "i8", RANDOM.integers(-127, 128, shape), scale=scales, axis=axis)
    return model.constant("w", "u8", RANDOM.integers(0, 256, shape), scale=[0.013], zero_point=131)


def conv(dtype, depthwise, padding, stride, activation):
    model, channels = OneOp(), 16
    outputs = channels if depthwise else 24
    x = model.input("x", dtype, [1, 33, 31, channels], scale=0.037, zero_point=5 + zero(dtype))
    scales = RANDOM.uniform(0.001, 0.02, outputs) if dtype == "i8" else [0.013]
    shape = [1, 3, 3, channels] if depthwise else [outputs, 3, 3, channels]
    w = weights(model, dtype, shape, 3 if depthwise else 0, scales)
    b = model.constant("b", "i32", RANDOM.integers(-4000, 4000, [outputs]),
                       scale=np.float32(scales) * np.float32(0.037))
    size = [-(-n // stride) if padding == 0 else (n - 3) // stride + 1 for n in (33, 31)]
    y = model.output("y", dtype, [1, *size, outputs], scale=0.11 if depthwise else 0.31,
                     zero_point=zero(dtype) - 3)
    options = dict(padding=padding, strideH=stride, strideW=stride, dilationHFactor=1,
                   dilationWFactor=1, fusedActivationFunction=activation)
    if depthwise:
        model.op("DEPTHWISE_CONV_2D", [x, w, b], [y], "DepthwiseConv2DOptions", 3,
                 depthMultiplier=1, **options)
    else:
        model.op("CONV_2D", [x, w, b], [y], "Conv2DOptions", 3, **options)
    return model


def fully_connected(dtype, per_channel, activation):
    model = OneOp()
    x = model.input("x", dtype, [64, 128], scale=0.037, zero_point=5 + zero(dtype))
    scales = RANDOM.uniform(0.005, 0.02, 96) if per_channel else [0.013]
    w = weights(model, dtype, [96, 128], 0, scales)
    b = model.constant("b", "i32", RANDOM.integers(-4000, 4000, [96]),
                       scale=np.float32(scales) * np.float32(0.037))
    y = model.output("y", dtype, [64, 96], scale=0.11, zero_point=zero(dtype) - 3)
    model.op("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions",
             5 if per_channel else 4 if dtype == "i8" else 1, fusedActivationFunction=activation)
    return model


def batch_matmul():
    model = OneOp()
    x = model.input("x", "i8", [2, 40, 64], scale=0.037, zero_point=5)
    y = model.input("y", "i8", [2, 64, 50], scale=0.02, zero_point=-3)
    z = model.output("z", "i8", [2, 40, 50], scale=0.31, zero_point=-3)
    model.op("BATCH_MATMUL", [x, y], [z], "BatchMatMulOptions")
    return model


def binary(name, options, dtype, second=(0.0331, -7), result=(0.047, 3), activation=None):
    model, base = OneOp(), zero(dtype)
    x = model.input("x", dtype, [1, 32, 32, 32], scale=0.021, zero_point=4 + base)
    y = model.input("y", dtype, [1, 32, 32, 32], scale=second[0], zero_point=second[1] + base)
    z = model.output("z", dtype, [1, 32, 32, 32], scale=result[0], zero_point=result[1] + base)
    fused = {} if activation is None else dict(fusedActivationFunction=activation)
    model.op(name, [x, y], [z], options, **fused)
    return model


def mean(dtype, axes, keep):
    model = OneOp()
    x = model.input("x", dtype, [16, 7, 7, 256], scale=0.021, zero_point=4 + zero(dtype))
    a = model.constant("axes", "i32", axes)
    dims = [1 if i in axes else d for i, d in enumerate([16, 7, 7, 256]) if keep or i not in axes]
    y = model.output("y", dtype, dims, scale=0.0031, zero_point=3 + zero(dtype))
    model.op("MEAN", [x, a], [y], "ReducerOptions", keepDims=keep)
    return model


def pool(name, dtype, padding, activation):
    model = OneOp()
    numbers = dict(scale=0.037, zero_point=5 + zero(dtype))
    x = model.input("x", dtype, [1, 15, 16, 32], **numbers)
    y = model.output("y", dtype, [1, 8, 8, 32] if padding == 0 else [1, 7, 7, 32], **numbers)
    model.op(name, [x], [y], "Pool2DOptions", padding=padding, strideH=2, strideW=2,
             filterHeight=3, filterWidth=3, fusedActivationFunction=activation)
    return model


def prelu(slopes):
    model = OneOp()
    x = model.input("x", "i8", [1, 16, 16, 32], scale=0.037, zero_point=5)
    a = model.constant("a", "i8", RANDOM.integers(-128, 128, [1, 1, slopes]), scale=0.011,
                       zero_point=7)
    y = model.output("y", "i8", [1, 16, 16, 32], scale=0.05, zero_point=-3)
    model.op("PRELU", [x, a], [y], version=1)
    return model


def function(name, x_numbers, y_numbers, options=None, version=1, dtype="i8", **fields):
    model = OneOp()
    x = model.input("x", dtype, [1, 8, 8, 16], scale=x_numbers[0], zero_point=x_numbers[1])
    y = model.output("y", dtype, [1, 8, 8, 16], scale=y_numbers[0], zero_point=y_numbers[1])
    model.op(name, [x], [y], options, version, **fields)
    return model


def resize(name, options, half_pixel, align):
    model = OneOp()
    x = model.input("x", "i8", [1, 8, 9, 16], scale=0.037, zero_point=5)
    size = model.constant("size", "i32", [13, 20])
    y = model.output("y", "i8", [1, 13, 20, 16], scale=0.037, zero_point=5)
    model.op(name, [x, size], [y], options, 3, alignCorners=align, halfPixelCenters=half_pixel)
    return model


def exact_models():
    for dtype in ("i8", "u8"):
        for depthwise in (False, True):
            yield f"conv {dtype} {depthwise}", conv(dtype, depthwise, 0, 1, 0)
            yield f"conv {dtype} {depthwise} stride 2", conv(dtype, depthwise, 1, 2, 3)
        yield f"fully connected {dtype}", fully_connected(dtype, False, 1)
        yield f"add {dtype}", binary("ADD", "AddOptions", dtype, activation=1)
        yield f"sub {dtype}", binary("SUB", "SubOptions", dtype)
        yield f"mul {dtype}", binary("MUL", "MulOptions", dtype, result=(0.03, 3))
        yield f"mean {dtype}", mean(dtype, [1, 2], True)
        for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            for padding in (0, 1):
                yield f"{name} {dtype} {padding}", pool(name, dtype, padding, padding)
    yield "fully connected per channel", fully_connected("i8", True, 0)
    yield "batch matmul", batch_matmul()
    yield "mean without dims", mean("i8", [1, 2], False)
    yield "mean of channels", mean("i8", [3], True)
    for name in ("MAXIMUM", "MINIMUM"):
        yield name, binary(name, "MaximumMinimumOptions", "i8", (0.021, 4), (0.021, 4))
    yield "prelu", prelu(32)
    yield "prelu, one slope", prelu(1)
    i8, u8 = (0.05, 3), (0.05, 130)
    yield "LOGISTIC", function("LOGISTIC", i8, (1 / 256, -128), version=2)
    yield "LOGISTIC u8", function("LOGISTIC", u8, (1 / 256, 0), dtype="u8")
    yield "TANH", function("TANH", i8, (1 / 128, 0), version=2)
    yield "TANH u8", function("TANH", u8, (1 / 128, 128), dtype="u8")
    yield "RELU", function("RELU", i8, (0.03, -128), version=2)
    yield "RELU6", function("RELU6", (0.1, 3), (6 / 255, -128), version=2)
    yield "RELU_N1_TO_1", function("RELU_N1_TO_1", (0.1, 3), (0.01, -2))
    yield "HARD_SWISH", function("HARD_SWISH", (0.06, 2), (0.03, -115), "HardSwishOptions")
    yield "HARD_SWISH u8", function("HARD_SWISH", (0.06, 130), (0.03, 13), "HardSwishOptions",
                                    dtype="u8")
    yield "LEAKY_RELU", function("LEAKY_RELU", i8, (0.06, -20), "LeakyReluOptions", 2, alpha=0.13)
    yield "EXP", function("EXP", (0.02, 3), (0.1, -120), "ExpOptions", 2)
    yield "LOG", function("LOG", (0.02, -128), (0.05, 20), version=2)
    for approximate in (False, True):
        yield f"GELU {approximate}", function("GELU", i8, (0.04, -90), "GeluOptions", 2,
                                              approximate=approximate)
    yield "ABS", function("ABS", i8, (0.03, -128), "AbsOptions", 2)
    yield "QUANTIZE", function("QUANTIZE", i8, (0.06, -20), "QuantizeOptions", 2)
    for beta in (1.0, 0.7):
        yield f"SOFTMAX {beta}", function("SOFTMAX", (0.1, 3), (1 / 256, -128), "SoftmaxOptions", 2,
                                          beta=beta)
    yield "SOFTMAX u8", function("SOFTMAX", u8, (1 / 256, 0), "SoftmaxOptions", dtype="u8",
                                 beta=1.0)
    for half_pixel, align in ((False, False), (True, False), (False, True)):
        yield f"nearest {half_pixel} {align}", resize(
            "RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions", half_pixel, align)


def near_models():
    """Computed in floats here: within one step."""
    for half_pixel, align in ((False, False), (True, False), (False, True)):
        yield f"bilinear {half_pixel} {align}", resize(
            "RESIZE_BILINEAR", "ResizeBilinearOptions", half_pixel, align)
    yield "SQUARED_DIFFERENCE", binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", "i8",
                                       (0.02, -3), (0.2, -128))
    yield "LOG_SOFTMAX", function("LOG_SOFTMAX", (0.1, 3), (16 / 256, 127), "LogSoftmaxOptions", 2)
    yield "L2_NORMALIZATION", function("L2_NORMALIZATION", (0.1, 3), (1 / 128, 0), "L2NormOptions",
                                       2)
    yield "RSQRT", function("RSQRT", (0.05, -128), (0.02, -128), version=2)


def main():
    tenon, shared = sys.argv[1], sys.argv[2]
    failed = []

    def check(label, path, most):
        for portable in (False, True):
            unequal, total, worst = differences(tenon, path, portable)
            print(f"{label}{' portable' if portable else ''}: {unequal} of {total} differ, "
                  f"by {worst:g} at most")
            if worst > most:
                failed.append(label)

    with tempfile.TemporaryDirectory() as folder:
        for most, models in ((0, exact_models()), (1, near_models())):
            for label, model in models:
                path = os.path.join(folder, "model.tflite")
                with open(path, "wb") as file:
                    file.write(model.bytes())
                check(label, path, most)
    for name in INTEGER_MODELS:
        path = os.path.join(shared, "models", name)
        if shared and os.path.exists(path):
            check(name, path, 0)
        else:
            print(f"skipped: no {name} in the shared folder")
    if failed:
        print("not equal:", ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
