#!/usr/bin/env python3
"""Gives operators integers of run time that steer what they read and write, at their worst.

Indices, positions, labels and lengths far outside, one past the end, and so large that a product
with a size wraps. What ONNX Runtime refuses must end in an error of the run, and what it computes
must be computed alike; nothing may crash. Optional: skipped, saying so, where a package is missing.
Argument: the `tenon` command. Exit status 0: all as wanted; 1: not; 77: skipped.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RANDOM = np.random.default_rng(1)
MICROSOFT = {"domain": "com.microsoft"}


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def zeros(dtype, *shape):
    return np.zeros(shape, dtype)


def hostile(dtype, size):
    """Numbers around the ends of `size` elements, and far away from them."""
    info = np.iinfo(dtype)
    values = {-size - 1, -size, -1, 0, size - 1, size, size + 1, 2**16, 2**24, 2**31 - 1, -2**31}
    if dtype == np.int64:
        values |= {info.min + 1, -2**32, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**62, 2**63 // size, -(2**63 // size), 2**61}
    return sorted(values | {info.min, info.max})


class Sweep:
    """Runs one operator after another at hostile numbers."""

    def __init__(self, tenon):
        self.tenon, self.wrong = tenon, 0

    def run(self, folder, inputs, names):
        """The outputs, or what was said."""
        command = [self.tenon, "run", folder + "/m.tenon", "--output-dir", folder]
        for name, x in inputs.items():
            np.save(f"{folder}/{name}.npy", x)
            command += ["--input", f"{name}={folder}/{name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode < 0 or done.returncode > 5:
            return f"a crash, {done.returncode}"
        return done.stderr if done.returncode != 0 else [np.load(f"{folder}/{name}.npy") for name in names]

    def is_good(self, found, wanted):
        """Whether `found` is `wanted`, or an error of the run where that is a refusal (None)."""
        if isinstance(found, str):
            return wanted is None and "is outside" in found
        return wanted is not None and all(
            x.shape == y.shape and np.allclose(x.astype(np.float64), y.astype(np.float64), rtol=1e-4, atol=1e-5)
            for x, y in zip(found, wanted))

    def check(self, kind, inputs, steering, size, constants=None, outputs=("y",), domain="", opset=17, places=None, **attributes):
        """`steering`: the input of which one element after another is spoilt; it has `size` elements to steer among."""
        constants = constants or {}
        node = helper.make_node(kind, places or [*inputs, *constants], list(outputs), domain=domain, **attributes)
        values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                  for name, x in inputs.items()]
        graph = helper.make_graph([node], "sweep", values, [helper.make_empty_tensor_value_info(y) for y in outputs],
                                  [numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items()])
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=10 if opset > 17 else 8)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        onnxruntime.set_default_logger_severity(4)
        bad = []
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, folder + "/m.onnx")
            done = subprocess.run([self.tenon, "convert", folder + "/m.onnx", "-o", folder + "/m.tenon", "--board", "x86-64"],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                bad.append(done.stderr)
            for number in hostile(inputs[steering].dtype, size) if not bad else []:
                spoilt = {name: x.copy() for name, x in inputs.items()}
                spoilt[steering].flat[-1] = number
                try:
                    wanted = session.run(list(outputs), spoilt)
                except Exception:  # the classes of its errors have no other parent
                    wanted = None
                found = self.run(folder, spoilt, outputs)
                if not self.is_good(found, wanted):
                    bad.append(f"{number}: {found if isinstance(found, str) else 'computed'}, {'refused' if wanted is None else 'computed'} there")
        self.wrong += len(bad) > 0
        print(f"{'ok' if not bad else 'WRONG'} {kind} {steering} {inputs[steering].dtype}: {'; '.join(bad)}")


def gathers(sweep):
    for dtype in [np.int32, np.int64]:
        sweep.check("Gather", {"x": normal(4, 3), "i": zeros(dtype, 2)}, "i", 4)
        sweep.check("Gather", {"x": normal(2, 5, 3), "i": zeros(dtype, 2, 2)}, "i", 5, axis=1)
        sweep.check("Gather", {"x": np.arange(5, dtype=np.uint8), "i": zeros(dtype)}, "i", 5)
        sweep.check("GatherElements", {"x": normal(4, 3), "i": zeros(dtype, 4, 2)}, "i", 3, axis=1)
        sweep.check("NegativeLogLikelihoodLoss", {"x": normal(3, 4), "i": zeros(dtype, 3)}, "i", 4)
        sweep.check("SoftmaxCrossEntropyLoss", {"x": normal(3, 4), "i": zeros(dtype, 3)}, "i", 4)
    sweep.check("GatherND", {"x": normal(4, 3), "i": zeros(np.int64, 2, 2)}, "i", 3)
    sweep.check("GatherND", {"x": normal(4, 3), "i": zeros(np.int64, 4, 1)}, "i", 3, batch_dims=1)
    sweep.check("OneHot", {"i": zeros(np.int64, 3)}, "i", 4, {"d": np.int64(4), "v": np.array([1, 5], np.float32)})


def scatters(sweep):
    for dtype in [np.int32, np.int64]:
        for reduction in ["none", "add"]:
            sweep.check("ScatterElements", {"x": normal(4, 3), "i": zeros(dtype, 1, 3), "u": normal(1, 3)}, "i", 4, reduction=reduction)
    sweep.check("ScatterND", {"x": normal(4, 3), "i": zeros(np.int64, 2, 2), "u": normal(2)}, "i", 3)
    sweep.check("ScatterND", {"x": normal(4, 3), "i": zeros(np.int64, 2, 1), "u": normal(2, 3)}, "i", 4, reduction="add")
    for mode in ["linear", "circular"]:
        sweep.check("TensorScatter", {"x": normal(2, 3, 6, 4), "u": normal(2, 3, 2, 4), "w": zeros(np.int64, 2)}, "w", 5, opset=24, mode=mode)
    sweep.check("MaxUnpool", {"x": normal(1, 1, 2, 2), "i": zeros(np.int64, 1, 1, 2, 2)}, "i", 16, kernel_shape=[2, 2], strides=[2, 2])


def positions(sweep):
    caches = {"c": normal(9, 8), "s": normal(9, 8)}
    sweep.check("RotaryEmbedding", {"x": normal(1, 2, 3, 16), **caches, "p": zeros(np.int64, 1, 3)}, "p", 9, opset=23)
    for shape in [(1, 3), (1,)]:
        sweep.check("RotaryEmbedding", {"x": normal(1, 3, 32), "p": zeros(np.int64, *shape), **caches}, "p", 9, num_heads=2, **MICROSOFT)
    tables = {"i": zeros(np.int32, 2, 3), "j": zeros(np.int32, 2, 3), "w": normal(5, 8), "p": normal(6, 8), "s": normal(4, 8),
              "g": normal(8), "e": normal(8), "m": zeros(np.int32, 2, 3), "k": zeros(np.int32, 2, 3)}
    for steering, size in [("i", 5), ("j", 4), ("k", 6), ("m", 2)]:
        sweep.check("EmbedLayerNormalization", tables, steering, size, outputs=("y", "n"), **MICROSOFT)


def lengths(sweep):
    x = {"x": normal(2, 3, 16), "w": normal(16, 48), "b": normal(48)}
    for mask in [zeros(np.int32, 2), zeros(np.int32, 4), zeros(np.int32, 8), zeros(np.int32, 2, 3)]:
        sweep.check("Attention", {**x, "m": mask}, "m", 3, num_heads=2, **MICROSOFT)
    sweep.check("MultiHeadAttention", {"q": normal(2, 3, 16), "k": normal(2, 3, 16), "v": normal(2, 3, 16), "m": zeros(np.int32, 2)},
                "m", 3, places=["q", "k", "v", "", "m"], num_heads=2, **MICROSOFT)
    keys = {"q": normal(2, 2, 2, 8), "k": normal(2, 2, 4, 8), "v": normal(2, 2, 4, 5), "l": zeros(np.int64, 2)}
    for causal in [0, 1]:
        sweep.check("Attention", keys, "l", 5, places=["q", "k", "v", "", "", "", "l"], opset=24, is_causal=causal)
    own = {"outputs": ("y", "nk", "nv"), "num_heads": 2, "kv_num_heads": 1, **MICROSOFT}
    word = {"q": normal(2, 1, 32), "k": normal(2, 1, 16), "v": normal(2, 1, 16), "pk": normal(2, 1, 6, 16), "pv": normal(2, 1, 6, 16),
            "l": zeros(np.int32, 2)}
    sweep.check("GroupQueryAttention", word, "l", 6, {"t": np.int32(4)}, **own)
    sweep.check("GroupQueryAttention", word, "l", 6, {"t": np.int32(4), "c": normal(8, 8), "s": normal(8, 8)}, do_rotary=1, **own)
    prompt = {"q": normal(2, 3, 32), "k": normal(2, 3, 16), "v": normal(2, 3, 16), "l": zeros(np.int32, 2)}
    for window in [-1, 1, 2]:
        sweep.check("GroupQueryAttention", prompt, "l", 3, {"t": np.int32(3)}, places=["q", "k", "v", "", "", "l", "t"],
                    local_window_size=window, **own)
    buffer = {**prompt, "pk": normal(2, 1, 6, 16), "pv": normal(2, 1, 6, 16)}
    sweep.check("GroupQueryAttention", buffer, "l", 6, {"t": np.int32(3)}, places=["q", "k", "v", "pk", "pv", "l", "t"], **own)


def main():
    sweep = Sweep(sys.argv[1])
    for family in [gathers, scatters, positions, lengths]:
        family(sweep)
    return 1 if sweep.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
