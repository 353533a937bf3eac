"""Inputs of the fuzz target `convert`: models, and options before them."""
import onnx_writer as onnx

INT8 = 3  # of ONNX


def chains():
    """Models of a few ops that passes and options find something in: quantised ones, and with a state."""
    x = onnx.value("x", [1, 4, 8, 8])
    scales = [onnx.tensor("s", [], [0.05]), onnx.tensor("z", [], b"\x00", INT8),
              onnx.tensor("ws", [], [0.02]), onnx.tensor("zw", [], b"\x00", INT8),
              onnx.tensor("w", [8, 4, 3, 3], bytes(i * 7 % 200 for i in range(288)), INT8)]
    quantised = [onnx.node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                 onnx.node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                 onnx.node("DequantizeLinear", ["w", "ws", "zw"], ["wd"]),
                 onnx.node("Conv", ["d", "wd"], ["c"], pads=[1, 1, 1, 1]), onnx.node("Relu", ["c"], ["r"]),
                 onnx.node("QuantizeLinear", ["r", "s", "z"], ["rq"]),
                 onnx.node("DequantizeLinear", ["rq", "s", "z"], ["rd"]),
                 onnx.node("GlobalAveragePool", ["rd"], ["g"]),
                 onnx.node("QuantizeLinear", ["g", "s", "z"], ["gq"]),
                 onnx.node("DequantizeLinear", ["gq", "s", "z"], ["y"])]
    state = [onnx.node("MatMul", ["h", "u"], ["hu"]), onnx.node("Add", ["x", "hu"], ["a"]),
             onnx.node("Tanh", ["a"], ["y"])]
    deep = [onnx.node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
            onnx.node("Clip", ["c", "low", "high"], ["r"]),
            onnx.node("Conv", ["r", "d"], ["e"], pads=[1, 1, 1, 1], group=8),
            onnx.node("HardSwish", ["e"], ["f"]), onnx.node("Conv", ["f", "p"], ["g"]),
            onnx.node("Add", ["g", "r"], ["h"]), onnx.node("Resize", ["h", "", "twice"], ["i"]),
            onnx.node("Concat", ["i", "x"], ["k"], axis=1), onnx.node("MaxPool", ["k"], ["y"], kernel_shape=[3, 3])]
    some = [0.1 * (i % 7 - 3) for i in range(288)]
    attention = [onnx.node("MatMul", ["x", "q"], ["xq"]), onnx.node("MatMul", ["x", "k"], ["xk"]),
                 onnx.node("Transpose", ["xk"], ["t"], perm=[0, 2, 1]), onnx.node("MatMul", ["xq", "t"], ["m"]),
                 onnx.node("Div", ["m", "root"], ["n"]), onnx.node("Softmax", ["n"], ["p"], axis=-1),
                 onnx.node("MatMul", ["p", "x"], ["a"]), onnx.node("Add", ["a", "x"], ["s"]),
                 onnx.node("LayerNormalization", ["s", "g"], ["y"])]
    return {
        "quantised": onnx.model(quantised, [x], [onnx.value("y", [1, 8, 1, 1])], scales),
        "state": onnx.model(state, [onnx.value("h", [1, 6]), onnx.value("x", [1, 6])], [onnx.value("y", [1, 6])],
                            [onnx.tensor("u", [6, 6], some[:36])]),
        "deep": onnx.model(deep, [x], [onnx.value("y", [1, 12, 6, 6])],
                           [onnx.tensor("w", [8, 4, 3, 3], some), onnx.tensor("d", [8, 1, 3, 3], some[:72]),
                            onnx.tensor("p", [8, 8, 1, 1], some[:64]), onnx.tensor("low", [], [0.0]),
                            onnx.tensor("high", [], [6.0]), onnx.tensor("twice", [4], [1.0, 1.0, 2.0, 2.0])], 14),
        "attention": onnx.model(attention, [onnx.value("x", [1, 5, 8])], [onnx.value("y", [1, 5, 8])],
                                [onnx.tensor("q", [8, 8], some[:64]), onnx.tensor("k", [8, 8], some[64:128]),
                                 onnx.tensor("root", [], [2.8]), onnx.tensor("g", [8], [1.0] * 8)], 17),
    }


# Options of the target `convert` (tests/fuzz/targets/convert_options.hpp): the bytes before a model.
CHOICES = {
    "": [0] * 8,
    "m55": [1], "m4": [5], "x86": [2], "rk3588": [6], "npu": [4], "opencl": [7, 0, 0, 8],
    "limit": [1, 0x35, 0, 0, 0, 0, 0, 4], "less": [3, 0x48, 1], "force": [1, 0x35, 0x80, 0, 0, 0, 0, 4],
    "relax": [5, 0x20, 0, 4],
    "memory": [0, 0x41, 1], "throughput": [0, 0, 2, 0, 0x0A], "random": [2, 0, 8, 0x10], "unfused": [0, 0, 0x10],
    "f16": [0, 0, 0, 1], "int8": [0, 0, 0, 2, 0x09], "replicas": [0, 0, 0, 0, 0x2C],
    "frozen": [0, 0, 0, 0, 0, 1], "state": [1, 0, 0, 0, 0, 2], "bytes": [1, 0, 0, 0, 0, 4], "nhwc": [0, 0, 0, 0, 0, 0x18],
    "outside": [1, 0, 0, 0, 0, 0x40], "rows": [1, 0, 1, 0, 0, 0x88], "quantise": [1, 0, 0, 0, 0, 0, 1],
    "quantise_all": [0, 0, 0, 0, 0, 0, 0x0B, 1],
}
MANY = ["net", "pools", "twins", "shuffle", "phases", "last", "rows", "lstm", "dynamic", "one_hot", "loop",
        "volume_pool", "conv", "depthwise", "gemm", "resize"]


def conversions(models):
    """All models with the defaults and for a microcontroller, some with every choice."""
    some = {name: models[name] for name in MANY} | chains()
    made = {}
    for choice, options in CHOICES.items():
        head = bytes(options) + bytes(8 - len(options))
        for name, data in (models | some if choice in ("", "m55") else some).items():
            made[f"{name}.{choice}" if choice else name] = head + data
    return made
