"""Random operators that compute: each function adds one to a network, or does not where it cannot."""
import numpy as np

from litert_random_net import ACTIVATIONS, F32, NONE, RANGE, near, out

FUNCTIONS = [("ABS", None), ("NEG", None), ("EXP", None), ("LOG", None), ("SQRT", None),
             ("RSQRT", None), ("SIN", None), ("COS", None), ("FLOOR", None), ("CEIL", None),
             ("ROUND", None), ("SQUARE", None), ("TANH", None), ("LOGISTIC", None), ("RELU", None),
             ("RELU6", None), ("RELU_N1_TO_1", None), ("RELU_0_TO_1", None), ("ELU", None),
             ("GELU", "GeluOptions"), ("LEAKY_RELU", "LeakyReluOptions"), ("HARD_SWISH", None),
             ("SIGN", None), ("ZEROS_LIKE", None)]


def function(net):
    name, options = net.pick(*FUNCTIONS)
    x = net.value("f32", "f32", "i8", "u8", "i16", "i32", scaled=True)
    fields = {}
    if name == "GELU":
        fields = {"approximate": net.chance(0.5)}
    if name == "LEAKY_RELU":
        fields = {"alpha": float(net.pick(0.1, 0.0, 1.0, 1.7, -0.3, 0.013))}
    numbers = near(net, x)
    if x.dtype == "i16" and name in ("EXP", "LOG", "RSQRT"):  # LiteRT interpolates in tables
        return False
    if name in ("LOGISTIC", "TANH"):
        one = {"LOGISTIC": {"i8": (1 / 256, -128), "u8": (1 / 256, 0), "i16": (1 / 32768, 0)},
               "TANH": {"i8": (1 / 128, 0), "u8": (1 / 128, 128), "i16": (1 / 32768, 0)}}[name]
        numbers = one.get(x.dtype, NONE)
    if name in ("ZEROS_LIKE", "SIGN") and net.chance(0.7) or name in ("FLOOR", "CEIL", "ROUND"):
        numbers = x.numbers
    exact = name in ("ABS", "EXP", "LOG", "TANH", "LOGISTIC", "RELU", "RELU6", "RELU_N1_TO_1",
                     "RELU_0_TO_1", "ELU", "GELU", "LEAKY_RELU", "HARD_SWISH") and x.dtype != "i16"
    return net.op(name, [x], [out(net, x, numbers)], options, exact=exact, **fields)


def rows(net):
    """Functions of a row."""
    name = net.pick("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION")
    x = net.value("f32", "f32", "i8", "u8", "i16", scaled=True)
    if name == "SOFTMAX":
        numbers = {"i8": (1 / 256, -128), "u8": (1 / 256, 0), "i16": (1 / 32768, 0)}
        if x.dtype == "i16" and x.numbers[0] > 0.002:  # LiteRT's overflows
            return False
        to = x.dtype if x.dtype != "i8" or net.chance(0.8) else "i16"
        numbers = numbers.get(to, NONE) if to == x.dtype else (1 / 65536, -32768)
        return net.op(name, [x], [(to, numbers)], "SoftmaxOptions",
                      exact=x.dtype != "i16", beta=float(net.pick(1.0, 1.0, 0.7, 3.3, 0.01)))
    if name == "LOG_SOFTMAX":
        numbers = {"i8": (16 / 256, 127), "u8": (16 / 256, 255)}.get(x.dtype, NONE)
        return net.op(name, [x], [(x.dtype, numbers)], "LogSoftmaxOptions", exact=False)
    if name == "L2_NORMALIZATION":
        numbers = {"i8": (1 / 128, 0), "u8": (1 / 128, 128)}.get(x.dtype, NONE)
        return net.op(name, [x], [(x.dtype, numbers)], "L2NormOptions", exact=False,
                      fusedActivationFunction=0)
    x = net.value("f32", rank=(4,))
    return net.op(name, [x], [F32], "LocalResponseNormalizationOptions", radius=net.below(6),
                  bias=float(net.pick(1.0, 0.5, 2.0)), alpha=float(net.pick(0.1, 1.0, 0.001)),
                  beta=float(net.pick(0.5, 0.75, 1.0)))


def broadcast(net, shape):
    """A shape that broadcasts with this one."""
    kind = net.below(6)
    if kind < 2:
        return shape
    if kind == 2:
        return []
    cut = shape[net.below(len(shape) + 1):] if kind > 3 else shape
    return [d if net.chance(0.6) else 1 for d in cut]


BINARY = [("ADD", "AddOptions", True), ("ADD", "AddOptions", True), ("SUB", "SubOptions", True),
          ("MUL", "MulOptions", True), ("MUL", "MulOptions", True), ("DIV", "DivOptions", False),
          ("MAXIMUM", "MaximumMinimumOptions", True), ("MINIMUM", "MaximumMinimumOptions", True),
          ("POW", "PowOptions", False), ("SQUARED_DIFFERENCE", None, False),
          ("FLOOR_DIV", "FloorDivOptions", False), ("FLOOR_MOD", "FloorModOptions", False),
          ("ATAN2", None, False)]


def binary(net):
    name, options, exact = net.pick(*BINARY)
    x = net.value("f32", "f32", "i8", "i8", "u8", "i16", "i32", "i64", scaled=True)
    if name == "DIV" and x.dtype in RANGE:  # LiteRT's gives -128 for small numerators
        return False
    numbers = x.numbers if name in ("MAXIMUM", "MINIMUM") or net.chance(0.1) else None
    # LiteRT's ATAN2 reads what is not there where it should broadcast.
    y = net.like(x, x.shape if name == "ATAN2" else broadcast(net, x.shape), numbers)
    if name == "ATAN2" and ((x.array == 0) & (y.array == 0)).any():  # there LiteRT looks at signs
        return False
    inputs = [x, y] if net.chance(0.7) else [y, x]
    fields = {}
    if name in ("MUL", "SQUARED_DIFFERENCE") and x.dtype == "i16":
        numbers = float(np.float32(x.numbers[0] * y.numbers[0] * net.pick(8e3, 3e4, 1e5))), 0
    if name in ("ADD", "SUB", "MUL", "DIV"):
        fields["fusedActivationFunction"] = net.pick(*ACTIVATIONS)
    return net.op(name, inputs, [out(net, x, numbers)], options, exact=exact and x.dtype != "i16",
                  **fields)


def comparison(net):
    name = net.pick("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
    x = net.value("f32", "i8", "u8", "i32", "i64", "bool")
    y = net.like(x, broadcast(net, x.shape))
    if any((v.numbers[0] or 0) >= 1 for v in (x, y)):  # LiteRT's compare these wrongly
        return False
    return net.op(name, [x, y], [("bool", NONE)], exact=x.numbers == y.numbers)


def logic(net):
    name = net.pick("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT")
    x = net.value("bool")
    inputs = [x] if name == "LOGICAL_NOT" else [x, net.like(x, broadcast(net, x.shape))]
    return net.op(name, inputs, [("bool", NONE)])


def select(net):
    x = net.value("f32", "i8", "i16", "i32", "i64", "bool")
    y = net.like(x, broadcast(net, x.shape), x.numbers)
    name = net.pick("SELECT", "SELECT_V2")
    if max(x.array.size, y.array.size) == 1:  # LiteRT makes a scalar of one element
        return False
    c = net.value("bool", shape=net.pick(x.shape, broadcast(net, x.shape), x.shape[:1]))
    return net.op(name, [c, *([x, y] if net.chance(0.5) else [y, x])], [out(net, x, x.numbers)])


def window(net, x):
    return dict(padding=net.below(2), strideH=net.pick(1, 1, 2, 3), strideW=net.pick(1, 1, 2, 5))


def weights(net, x, shape, axis):
    """Weights and a bias for it, and how good the sums are."""
    channels = shape[axis]
    if x.dtype == "f32":
        w = net.constant("f32", net.array("f32", shape))
        return w, (net.constant("f32", net.array("f32", [channels])) if net.chance(0.7) else None)
    if x.dtype == "u8":
        numbers = (net.scale(), net.pick(0, 255, 128, net.below(256)))
        w = net.constant("u8", net.array("u8", shape), numbers)
        scales = x.numbers[0] * np.float32([numbers[0]])
    else:
        each = net.chance(0.6)
        scales = np.float32(net.scale()) * np.exp(net.random.standard_normal(
            channels if each else 1) * net.pick(0.3, 0.3, 3)).astype(np.float32)
        low = -127 if net.chance(0.9) else -128
        w = net.constant("i8", net.random.integers(low, 128, shape), (scales, 0), axis)
        scales = np.float32(x.numbers[0]) * scales
    if not net.chance(0.7):
        return w, None
    most = net.pick(100, 4000, 4000, 2 ** 20)
    values = net.random.integers(-most, most + 1, channels)
    return w, net.constant("i32" if x.dtype != "i16" else "i64", values, (scales, 0))


def sum_numbers(net, x, w, count):
    if x.dtype == "f32":
        return NONE
    if net.chance(0.15) and x.dtype != "i16":
        return net.numbers(x.dtype)
    low, high = RANGE[x.dtype]
    wide = x.numbers[0] * float(np.mean(w.numbers[0])) * np.sqrt(count) * 60
    wide *= 1 if x.dtype == "i16" else 60 / 128
    zero = 0 if x.dtype == "i16" else net.pick(low, high, net.below(high + 1, low))
    return float(np.float32(wide * net.pick(0.3, 1, 1, 1.3, 4))), zero


def conv(net):
    x = net.value("f32", "f32", "i8", "i8", "u8", "i16", rank=(4,), scaled=True)
    size = [net.pick(1, 1, 2, 3, 3, 5), net.pick(1, 1, 2, 3, 3, 4)]
    options = window(net, x)
    options.update(dilationHFactor=net.pick(1, 1, 2, 3), dilationWFactor=net.pick(1, 1, 1, 2),
                   fusedActivationFunction=net.pick(*ACTIVATIONS))
    channels = x.shape[3]
    if net.chance(0.4):
        multiplier = net.pick(1, 1, 1, 2, 3)
        w, b = weights(net, x, [1, *size, channels * multiplier], 3)
        numbers = sum_numbers(net, x, w, size[0] * size[1])
        return net.op("DEPTHWISE_CONV_2D", [x, w, b], [(x.dtype, numbers)],
                      "DepthwiseConv2DOptions", exact=x.dtype != "i16",
                      depthMultiplier=multiplier, **options)
    groups = net.pick(1, 1, 1, channels, 2) if channels % 2 == 0 else 1
    outputs = groups * net.pick(1, 2, 3, 8, 16, 17)
    w, b = weights(net, x, [outputs, *size, channels // groups], 0)
    numbers = sum_numbers(net, x, w, size[0] * size[1] * channels // groups)
    return net.op("CONV_2D", [x, w, b], [(x.dtype, numbers)], "Conv2DOptions",
                  exact=x.dtype != "i16", **options)


def transpose_conv(net):
    x = net.value("f32", "f32", "i8", "u8", "i16", rank=(4,), scaled=True)
    size = [net.pick(1, 2, 3, 4), net.pick(1, 2, 3, 5)]
    outputs = net.pick(1, 2, 3, 8, 17)
    options = window(net, x)
    w, b = weights(net, x, [outputs, *size, x.shape[3]], 0)
    same = options["padding"] == 0
    image = []
    for length, s, k in zip(x.shape[1:3], (options["strideH"], options["strideW"]), size):
        image.append(length * s - (net.below(s) if same else 0) if same
                     else (length - 1) * s + k + net.below(s))
    dims = net.constant("i32", [x.shape[0], *image, outputs])
    numbers = sum_numbers(net, x, w, x.shape[3] * 2)
    return net.op("TRANSPOSE_CONV", [dims, w, x, b], [(x.dtype, numbers)], "TransposeConvOptions",
                  version=net.pick(3, 4), exact=x.dtype == "i8" or x.dtype == "f32",
                  fusedActivationFunction=net.pick(0, 0, 1, 3), **options)


def fully_connected(net):
    x = net.value("f32", "f32", "i8", "i8", "u8", "i16", scaled=True)
    if x.rank == 0:
        return False
    depth = x.shape[-1] if net.chance(0.8) else int(np.prod(x.shape[-2:]))
    outputs = net.pick(1, 2, 3, 8, 17, 32)
    w, b = weights(net, x, [outputs, depth], 0)
    return net.op("FULLY_CONNECTED", [x, w, b], [(x.dtype, sum_numbers(net, x, w, depth))],
                  "FullyConnectedOptions", exact=x.dtype != "i16",
                  keepNumDims=net.chance(0.5) and depth == x.shape[-1],
                  fusedActivationFunction=net.pick(*ACTIVATIONS))


def matmul(net):
    x = net.value("f32", "f32", "i8", "i16", rank=(2, 3, 4), scaled=True)
    adj_x, adj_y = net.chance(0.4), net.chance(0.4)
    depth, columns = x.shape[-2 if adj_x else -1], net.pick(1, 2, 5, 8, 17)
    batch = [d if net.chance(0.6) else 1 for d in x.shape[:-2]]
    if net.chance(0.2):
        batch = batch[1:]
    y = net.like(x, batch + ([columns, depth] if adj_y else [depth, columns]),
                 (net.scale(), 0) if x.dtype == "i16" else None)
    return net.op("BATCH_MATMUL", [x, y], [(x.dtype, sum_numbers(net, x, y, depth))],
                  "BatchMatMulOptions", exact=x.dtype != "i16", adjX=adj_x, adjY=adj_y,
                  asymmetricQuantizeInputs=net.chance(0.3))


def pool(net):
    x = net.value("f32", "f32", "i8", "u8", "i16", rank=(4,), scaled=True)
    name = net.pick("AVERAGE_POOL_2D", "MAX_POOL_2D")
    return net.op(name, [x], [(x.dtype, x.numbers)], "Pool2DOptions", exact=x.dtype != "i16",
                  filterHeight=net.pick(1, 2, 3, 4, 7), filterWidth=net.pick(1, 2, 3, 5),
                  fusedActivationFunction=net.pick(*ACTIVATIONS), **window(net, x))


def reduce(net):
    name = net.pick("MEAN", "MEAN", "SUM", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD",
                    "REDUCE_ANY", "REDUCE_ALL")
    boolean = name in ("REDUCE_ANY", "REDUCE_ALL")
    x = net.value("bool") if boolean else net.value("f32", "f32", "i8", "u8", "i16", "i32", "i64", scaled=True)
    if x.rank == 0:
        return False
    axes = [net.below(x.rank, -x.rank) for _ in range(net.pick(1, 1, 2, 2, 3))]
    numbers = x.numbers if name in ("REDUCE_MAX", "REDUCE_MIN") or net.chance(0.3) else None
    if name == "REDUCE_PROD" and x.dtype in RANGE:
        return False
    if name == "SUM" and x.dtype in RANGE:  # LiteRT's does not saturate
        count = int(np.prod([x.shape[i] for i in set(a % x.rank for a in axes)]))
        numbers = x.numbers[0] * count, x.numbers[1]
    axis = net.constant("i32", axes if net.chance(0.9) or len(axes) > 1 else axes[0])
    return net.op(name, [x, axis], [out(net, x, numbers)], "ReducerOptions",
                  exact=x.dtype != "i16" and name not in ("REDUCE_PROD",) and
                  (name != "SUM" or x.dtype not in RANGE), keepDims=net.chance(0.5))


def resize(net):
    x = net.value("f32", "f32", "i8", "u8", "i16", rank=(4,), scaled=True)
    align = net.chance(0.4)
    half = net.chance(0.5) and not align
    size = net.constant("i32", [net.size(), net.size()])
    if net.chance(0.5) and x.dtype != "i16":  # TFLite rounds positions to 1/1024 of a pixel
        return net.op("RESIZE_BILINEAR", [x, size], [(x.dtype, x.numbers)], "ResizeBilinearOptions",
                      exact=x.dtype == "f32", alignCorners=align, halfPixelCenters=half)
    return net.op("RESIZE_NEAREST_NEIGHBOR", [x, size], [(x.dtype, x.numbers)],
                  "ResizeNearestNeighborOptions", alignCorners=align, halfPixelCenters=half)


def prelu(net):
    x = net.value("f32", "i8", "u8", rank=(4,), scaled=True)
    shape = [d if net.chance(0.6) else 1 for d in x.shape[1:]]
    slope = net.constant(x.dtype, net.array(x.dtype, shape), net.numbers(x.dtype))
    return net.op("PRELU", [x, slope], [out(net, x)])
