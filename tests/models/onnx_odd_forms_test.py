#!/usr/bin/env python3
"""Converts operators in forms that exporters seldom write, and compares with ONNX Runtime or ONNX's evaluator.

Mostly attentions, of com.microsoft and of ONNX: masks that hide everything, sinks, soft caps, odd
shapes of masks, heads that share keys. Optional: skipped, saying so, where a package is missing.
Argument: the `tenon` command. Exit status 0: all agree; 1: not; 77: skipped.
"""
import os
import subprocess
import sys
import tempfile

try:
    import ml_dtypes
    import numpy as np
    import onnx.reference
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RANDOM = np.random.default_rng(1)
NOTHING = np.float32(-np.inf)
# Of operators that stand in chains, the attributes that they have.
ATTRIBUTES = {"Transpose": []}
BATCHES, HEADS, WORDS, SIZE = 2, 2, 3, 8


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int32)


def expected(model, inputs, outputs):
    """The outputs by ONNX Runtime, or by ONNX's own evaluator where that one does not run the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    onnxruntime.set_default_logger_severity(4)
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(outputs, inputs)
    except Exception:  # its errors have no class of their own
        return onnx.reference.ReferenceEvaluator(model).run(outputs, inputs)


class Forms:
    """Compares one node after another."""

    def __init__(self, tenon):
        self.tenon, self.wrong = tenon, 0

    def run(self, folder, inputs, names):
        done = subprocess.run([self.tenon, "convert", folder + "/m.onnx", "-o", folder + "/m.tenon", "--board", "x86-64"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr
        command = [self.tenon, "run", folder + "/m.tenon", "--output-dir", folder + "/out"]
        os.makedirs(folder + "/out")
        for name, x in inputs.items():
            np.save(f"{folder}/{name}.npy", x)
            command += ["--input", f"{name}={folder}/{name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr if done.returncode != 0 else [np.load(f"{folder}/out/{name}.npy") for name in names]

    def check(self, what, kind, inputs, constants=None, outputs=("y",), domain="", opset=17, places=None, outputs_at=None,
              **attributes):
        """`places`: names of the node's operands in order, else inputs and then constants; `outputs_at`: which of its outputs are meant.

        `kind`: an operator, or several with the names of what each takes and its output; attributes go to those that have them.
        """
        constants = constants or {}
        inputs = {name: np.asarray(x) for name, x in inputs.items()}
        made = list(outputs) if outputs_at is None else [dict(zip(outputs_at, outputs)).get(i, "") for i in range(max(outputs_at) + 1)]
        nodes = [(kind, places or [*inputs, *constants], made)] if isinstance(kind, str) else kind
        known = {name: {a: x for a, x in attributes.items() if a in ATTRIBUTES.get(name, attributes)} for name, *_ in nodes}
        nodes = [helper.make_node(name, ins, [outs] if isinstance(outs, str) else list(outs), domain=domain, **known[name])
                 for name, ins, outs in nodes]
        values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                  for name, x in inputs.items()]
        graph = helper.make_graph(nodes, "form", values, [helper.make_empty_tensor_value_info(y) for y in outputs],
                                  [numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items()])
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=(11 if opset > 23 else 10) if opset > 17 else 8)
        wanted = expected(model, inputs, list(outputs))
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, folder + "/m.onnx")
            found = self.run(folder, inputs, outputs)
        good = not isinstance(found, str) and all(
            x.shape == y.shape and np.allclose(x.astype(np.float64), y.astype(np.float64), rtol=1e-4, atol=1e-5, equal_nan=True)
            for x, y in zip(found, wanted))
        self.wrong += not good
        print(f"{'ok' if good else 'WRONG'} {kind if isinstance(kind, str) else kind[0][0]}: {what}{': ' + found if isinstance(found, str) else ''}")


def microsoft_attentions(forms):
    x = {"x": normal(BATCHES, WORDS, HEADS * SIZE), "w": normal(HEADS * SIZE, 3 * HEADS * SIZE), "b": normal(3 * HEADS * SIZE)}
    masks = {"a column": np.zeros((BATCHES, 1), np.int32), "one number": np.zeros((1, 1), np.int32), "lengths": ints(2, 3),
             "lengths and starts": ints(2, 3, 0, 3, 6, 0, 2, 5), "no key": np.zeros((BATCHES, WORDS), np.int32)}
    for what, mask in masks.items():
        forms.check(f"a mask of {what}", "Attention", {**x, "m": mask}, domain="com.microsoft", num_heads=HEADS)
    hidden = np.zeros((1, 1, WORDS, WORDS), np.float32)
    hidden[0, 0, 1] = NOTHING
    forms.check("a bias that hides all of a query", "Attention", {**x, "a": hidden}, places=["x", "w", "b", "", "", "a"],
                domain="com.microsoft", num_heads=HEADS)
    q, k, v = (normal(BATCHES, WORDS, HEADS * SIZE) for _ in range(3))
    heads = [y.reshape(BATCHES, WORDS, HEADS, SIZE).transpose(0, 2, 1, 3).copy() for y in (k, v)]
    own = {"domain": "com.microsoft", "num_heads": HEADS}
    forms.check("keys by head and a bias", "MultiHeadAttention", {"q": q, "k": heads[0], "v": heads[1], "b": x["b"]}, **own)
    forms.check("lengths below 0 and above the keys", "MultiHeadAttention", {"q": q, "k": k, "v": v, "m": ints(-2, 9)},
                places=["q", "k", "v", "", "m"], **own)
    forms.check("fewer keys than queries", "MultiHeadAttention", {"q": q, "k": k[:, :2].copy(), "v": v[:, :2].copy()},
                unidirectional=1, **own)
    forms.check("one query", "MultiHeadAttention", {"q": q[:, :1].copy(), "k": k, "v": v}, unidirectional=1, **own)
    for scale in [0.0, 0.5]:
        forms.check(f"scale {scale}", "RotaryEmbedding", {"x": q}, {"p": np.array([1]), "c": normal(9, 4), "s": normal(9, 4)},
                    domain="com.microsoft", scale=scale)


def grouped_attentions(forms):
    groups = {"q": normal(BATCHES, WORDS, HEADS * SIZE), "k": normal(BATCHES, WORDS, SIZE), "v": normal(BATCHES, WORDS, SIZE)}
    prompt = {"last": ints(2, 2), "total": np.int32(3)}
    operands = ["q", "k", "v", "", "", "last", "total", "", "", ""]

    def check(what, inputs, constants, places, **attributes):
        forms.check(what, "GroupQueryAttention", inputs, constants, ("y", "nk", "nv"), "com.microsoft", places=places,
                    num_heads=HEADS, kv_num_heads=1, **attributes)
    for what, bias in {"a bias by head": normal(BATCHES, HEADS, WORDS, WORDS),
                       "a bias that hides what it likes": np.where(normal(BATCHES, HEADS, WORDS, WORDS) > 0, 0, NOTHING)}.items():
        bias = bias.astype(np.float32)
        check(what, {**groups, "b": bias}, prompt, [*operands, "b"])
        if not np.isinf(bias).any():  # where nothing is left beside a cap, ONNX Runtime gives NaN, and 0 without one
            check(what + ", a soft cap", {**groups, "b": bias}, prompt, [*operands, "b"], softcap=0.7)
    check("smooth", groups, prompt, operands[:7], smooth_softmax=1)
    check("a sink", {**groups, "s": normal(HEADS)}, prompt, [*operands, "", "s"])
    buffer = {"q": normal(BATCHES, 1, HEADS * SIZE), "k": normal(BATCHES, 1, SIZE), "v": normal(BATCHES, 1, SIZE),
              "pk": normal(BATCHES, 1, 6, SIZE), "pv": normal(BATCHES, 1, 6, SIZE)}
    word = {"last": ints(3, 2), "total": np.int32(4)}
    operands[3:5] = ["pk", "pv"]
    for what, bias in {"words": normal(1, HEADS, 1, 4), "nothing": np.full((1, 1, 1, 4), NOTHING)}.items():
        check(f"a bias over {what} beside a longer buffer", {**buffer, "b": bias}, word, [*operands, "b"])
    check("a window and a soft cap", buffer, word, operands[:7], softcap=2.0, local_window_size=2)


def onnx_attentions(forms):
    q, k, v = normal(BATCHES, HEADS, WORDS, SIZE), normal(BATCHES, HEADS, 4, SIZE), normal(BATCHES, HEADS, 4, 5)
    own = {"opset": 23}
    for causal in [0, 1]:
        forms.check(f"plain, causal {causal}", "Attention", {"q": q, "k": k, "v": v}, is_causal=causal, softcap=0.5, **own)
        for mask in [normal(3, 4), normal(BATCHES, 1, 3, 4), normal(3, 4) > 0.3, normal(BATCHES, HEADS, 3, 4) > 0.3,
                     np.where(normal(BATCHES, HEADS, 3, 4) > 0.3, 0, NOTHING).astype(np.float32)]:
            forms.check(f"mask {mask.dtype} {mask.shape}, causal {causal}", "Attention", {"q": q, "k": k, "v": v, "m": mask},
                        is_causal=causal, **own)
    forms.check("shared keys, a mask by head", "Attention", {"q": normal(BATCHES, 4, 3, SIZE), "k": k, "v": v,
                                                            "m": np.where(normal(BATCHES, 4, 3, 4) > 0.5, 0, NOTHING).astype(np.float32)}, **own)
    past = {"q": q, "k": k[:, :, :3].copy(), "v": v[:, :, :3].copy(), "pk": normal(BATCHES, HEADS, 2, SIZE), "pv": normal(BATCHES, HEADS, 2, 5)}
    forms.check("a past", "Attention", past, outputs=("y", "nk", "nv"), places=["q", "k", "v", "", "pk", "pv"], is_causal=1, **own)
    forms.check("heads side by side", "Attention", {"q": normal(BATCHES, WORDS, 32), "k": normal(BATCHES, 4, 16), "v": normal(BATCHES, 4, 6)},
                q_num_heads=4, kv_num_heads=2, **own)
    rows = np.array([[0, 1, 2], [3, 4, 5]])
    for flags in [{}, {"interleaved": 1}]:
        forms.check(f"positions {flags}", "RotaryEmbedding", {"x": q, "c": normal(9, 4), "s": normal(9, 4), "p": rows}, **flags, **own)
    forms.check("no positions, a part", "RotaryEmbedding", {"x": normal(BATCHES, WORDS, 16), "c": normal(BATCHES, WORDS, 2), "s": normal(BATCHES, WORDS, 2)},
                num_heads=2, rotary_embedding_dim=4, **own)
    for axis in [-1, 1]:
        x = normal(2, 3, 4)
        forms.check(f"axis {axis}", "RMSNormalization", {"x": x, "s": normal(*x.shape[axis:])}, axis=axis, epsilon=0.1, **own)


def newer_attentions(forms):
    """Operator sets 24 and 25: lengths, windows, shorter masks; and scores as an output."""
    x = {"q": normal(BATCHES, 4, 3, SIZE), "k": normal(BATCHES, HEADS, 5, SIZE), "v": normal(BATCHES, HEADS, 5, 4)}
    hidden = np.where(normal(3, 5) > 0, 0, NOTHING).astype(np.float32)
    hidden[1] = NOTHING
    for mode in range(4):
        for what, more, flags in [("", {}, {}), ("a soft cap", {}, {"softcap": 0.7}), ("a mask", {"m": hidden}, {}), ("causal", {}, {"is_causal": 1})]:
            forms.check(f"scores {mode} {what}", "Attention", {**x, **more}, outputs=("y", "z"), places=["q", "k", "v", *more], outputs_at=[0, 3],
                        opset=25, qk_matmul_output_mode=mode, **flags)
    for lengths in [(3, 5), (5, 5), (0, 1)]:
        known = {**x, "l": np.array(lengths)}
        for causal in [0, 1]:
            forms.check(f"lengths {lengths}, causal {causal}", "Attention", known, places=["q", "k", "v", "", "", "", "l"], opset=24, is_causal=causal)
            forms.check(f"lengths {lengths} and a mask, causal {causal}", "Attention", {**known, "m": normal(3, 5)},
                        places=["q", "k", "v", "m", "", "", "l"], opset=24, is_causal=causal)
    for mask in [normal(3, 2), normal(1, 1, 3, 4) > 0]:
        forms.check(f"a shorter mask {mask.dtype}", "Attention", {**x, "m": mask}, opset=24)
    for left, right, causal in [(1, -1, 0), (-1, 0, 0), (1, 1, 0), (0, 0, 0), (1, -1, 1), (2**40, 2**40, 0)]:
        forms.check(f"a window {left} {right}, causal {causal}", "Attention", x, opset=25, left_window_size=left, right_window_size=right,
                    is_causal=causal)
        forms.check(f"a window {left} {right} behind lengths", "Attention", {**x, "l": np.array([3, 5])}, places=["q", "k", "v", "", "", "", "l"],
                    opset=25, left_window_size=left, right_window_size=right, is_causal=causal)
    own = {"domain": "com.microsoft", "num_heads": HEADS, "unidirectional": 1}
    for queries, keys in [(3, 5), (2, 5)]:
        q, k, v = (normal(BATCHES, length, HEADS * SIZE) for length in (queries, keys, keys))
        forms.check(f"{queries} queries, {keys} keys", "MultiHeadAttention", {"q": q, "k": k, "v": v}, **own)
        past = {"pk": normal(BATCHES, HEADS, 2, SIZE), "pv": normal(BATCHES, HEADS, 2, SIZE)}
        forms.check(f"{queries} queries, {keys} keys, a past", "MultiHeadAttention", {"q": q, "k": k, "v": v, **past}, outputs=("y", "nk", "nv"),
                    places=["q", "k", "v", "", "", "", "pk", "pv"], **own)


def newer_operators(forms):
    """What operator sets 24 to 28 brought."""
    for alpha in [{}, {"alpha": 1.7}]:
        forms.check(f"{alpha}", "Swish", {"x": normal(3, 4)}, opset=24, **alpha)
        forms.check(f"{alpha}", "SwiGLU", {"a": normal(3, 4), "b": normal(3, 4)}, opset=28, **alpha)
    for mode in ["DCR", "CRD"]:
        forms.check(mode, "SpaceToDepth", {"x": normal(2, 3, 4, 6)}, opset=28, mode=mode, blocksize=2)
    for axis, cache, update in [(-2, (2, 3, 6, 4), (2, 3, 2, 4)), (1, (2, 6), (2, 1)), (1, (2, 6, 3), (2, 6, 3)), (-1, (2, 3, 5), (2, 3, 2))]:
        most = cache[axis] - update[axis]
        for mode, begins in [("linear", (most, 0)), ("circular", (cache[axis] + 1, cache[axis] - 1))]:
            forms.check(f"axis {axis}, {mode}", "TensorScatter", {"x": normal(*cache), "u": normal(*update), "w": np.array(begins)}, opset=24,
                        axis=axis, mode=mode)
        forms.check(f"axis {axis}, at the start", "TensorScatter", {"x": normal(*cache), "u": normal(*update)}, opset=24, axis=axis)
    forms.check("of integers", "TensorScatter", {"x": np.arange(12).reshape(2, 3, 2), "u": -np.ones((2, 1, 2), np.int64), "w": np.array([2, 1])}, opset=24)
    forms.check("of halves", "Range", {}, {"a": np.float16(1), "b": np.float16(4), "c": np.float16(0.5)}, opset=27)


def quantisations(forms):
    """Scales for blocks along an axis, and numbers of four and two bits."""
    narrow = {name: getattr(ml_dtypes, name) for name in ["int4", "uint4"]}
    for name, dtype in {"int8": np.int8, "uint8": np.uint8, **narrow}.items():
        least, most = (-8, 8) if name == "int4" else (0, 16) if name == "uint4" else (np.iinfo(dtype).min, np.iinfo(dtype).max + 1)
        numbers = RANDOM.integers(least, most, (7, 6)).astype(dtype)
        for axis, block, shape in [(0, 3, (3, 6)), (0, 7, (1, 6)), (1, 2, (7, 3)), (-1, 4, (7, 2))]:
            zeros = np.asarray(RANDOM.integers(least, most, shape)).astype(dtype)
            for scales in [normal(*shape), normal(*shape).astype(np.float16)]:
                forms.check(f"{name} {scales.dtype} axis {axis}, blocks of {block}", "DequantizeLinear", {"s": scales},
                            {"x": numbers, "z": zeros}, places=["x", "s", "z"], opset=21, axis=axis, block_size=block)
            forms.check(f"constants, {name} axis {axis}", "DequantizeLinear", {}, {"x": numbers, "s": normal(*shape)}, opset=21, axis=axis,
                        block_size=block)
            chain = [("QuantizeLinear", ["x", "s", "z"], "q"), ("DequantizeLinear", ["q", "s", "z"], "y")]
            far = {"x": normal(7, 6) * 20, "s": np.abs(normal(*shape)) + np.float32(0.5)}
            forms.check(f"and back, {name} axis {axis}", chain, far, {"z": zeros}, opset=21, axis=axis, block_size=block)
        for shape, axis in [((), 1), ((6,), -1), ((7,), 0)]:
            far = {"x": normal(7, 6) * 20, "s": np.abs(normal(*shape)).astype(np.float32) + np.float32(0.5)}
            forms.check(f"and back, {name} scales {shape}", [("QuantizeLinear", ["x", "s", "z"], "q"), ("DequantizeLinear", ["q", "s", "z"], "y")],
                        far, {"z": np.asarray(RANDOM.integers(least, most, shape)).astype(dtype)}, opset=21, axis=axis)
        forms.check(f"{name} moved", [("Transpose", ["x"], "t"), ("DequantizeLinear", ["t", "s"], "y")], {"s": normal(7)}, {"x": numbers}, opset=21)


def others(forms):
    own = {"domain": "com.microsoft"}
    weights = {"b": RANDOM.integers(0, 256, (4, 2, 8)).astype(np.uint8), "s": normal(8), "g": RANDOM.integers(0, 2, 32).astype(np.int32)}
    forms.check("g_idx", "MatMulNBits", {"a": normal(3, 32)}, weights, places=["a", "b", "s", "", "g"], K=32, N=4, bits=4, block_size=16, **own)
    forms.check("a mean", "SkipSimplifiedLayerNormalization", {"x": normal(2, 3, 8), "s": normal(2, 3, 8)}, {"g": normal(8)}, ("y", "m", "i", "t"), **own)
    forms.check("bytes", "NhwcMaxPool", {"x": RANDOM.integers(-99, 99, (1, 7, 6, 3)).astype(np.int8)}, kernel_shape=[3, 2], strides=[2, 2], **own)
    for mode in ["constant", "reflect", "edge"]:
        forms.check(mode, "Pad", {"x": normal(3, 4)}, {"p": np.array([1, 2, 0, 1]), "v": np.float32(7)}, mode=mode, **own)
    for kernel, flags in [([2, 2], {"p": 1}), ([3, 3], {"p": 3, "pads": [1, 0, 1, 1]}), ([3, 3], {"strides": [2, 3], "auto_pad": "SAME_LOWER"}),
                          ([3, 3], {"strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}), ([2, 2], {"dilations": [2, 2]})]:
        forms.check(f"{kernel} {flags}", "LpPool", {"x": normal(1, 2, 7, 8)}, opset=18, kernel_shape=kernel, **flags)
    forms.check("a volume", "LpPool", {"x": normal(1, 2, 5, 5, 5)}, opset=18, kernel_shape=[2, 3, 2], ceil_mode=1, strides=[2, 1, 2])
    for order in [1, 2, 3]:
        forms.check(f"p {order}", "GlobalLpPool", {"x": normal(1, 2, 4, 5)}, p=order)
    far = np.array([0, 1e-45, 3e38, -3e38, 1e34, -1e34, -100, -88.5, 100, np.nan, np.inf], np.float32)
    forms.check("numbers that are large", "QuickGelu", {"x": far}, **own)


def main():
    forms = Forms(sys.argv[1])
    for family in [microsoft_attentions, grouped_attentions, onnx_attentions, newer_attentions, newer_operators, quantisations, others]:
        family(forms)
    return 1 if forms.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
