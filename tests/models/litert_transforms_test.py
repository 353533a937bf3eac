#!/usr/bin/env python3
"""Compares transforms, the complex numbers behind them, and sparse constants with LiteRT.

Optional: skipped, saying so, where the package ai_edge_litert is missing. Argument: the `tenon`
command. Outputs are within 1e-5 of the largest value; sparse constants are equal.
Exit status 0: right; 1: not; 77: skipped.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter

    from litert_one_op import OneOp
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RANDOM = np.random.default_rng(6)


def transform(shape, length, part):
    """RFFT2D and what reads its result."""
    model = OneOp()
    x = model.input("x", "f32", shape)
    lengths = model.constant("length", "i32", length)
    bins = list(shape[:-2]) + [length[0], length[1] // 2 + 1]
    spectrum = model.tensor("spectrum", "c64", bins)
    y = model.output("y", "f32", bins)
    model.op("RFFT2D", [x, lengths], [spectrum], version=1)
    model.op(part, [spectrum], [y], version=1)
    return model


def frames(count, length):
    """A spectrogram as TensorFlow writes it: the rows' dimension before the transform is new."""
    model = OneOp()
    x = model.input("x", "f32", [count, length])
    axis = model.constant("axis", "i32", -2)
    rows = model.tensor("rows", "f32", [count, 1, length])
    lengths = model.constant("length", "i32", [1, length])
    spectrum = model.tensor("spectrum", "c64", [count, 1, length // 2 + 1])
    dims = model.constant("dims", "i32", [count, length // 2 + 1])
    flat = model.tensor("flat", "c64", [count, length // 2 + 1])
    y = model.output("y", "f32", [count, length // 2 + 1])
    model.op("EXPAND_DIMS", [x, axis], [rows], version=1)
    model.op("RFFT2D", [rows, lengths], [spectrum], version=1)
    model.op("RESHAPE", [spectrum, dims], [flat], version=1)
    model.op("COMPLEX_ABS", [flat], [y], version=1)
    return model


def stored(dense, order, compressed, blocks):
    """Values and levels of a matrix whose dimension order[1] may be compressed."""
    size = [dense.shape[d] // dict(blocks).get(d, 1) for d in order]
    values, segments, indices = [], [0], []
    for first in range(size[0]):
        for second in range(size[1]):
            at = [0, 0]
            at[order[0]], at[order[1]] = first, second
            lengths = [dict(blocks).get(d, 1) for d in (0, 1)]
            begin = [at[d] * lengths[d] for d in (0, 1)]
            block = dense[begin[0]:begin[0] + lengths[0], begin[1]:begin[1] + lengths[1]]
            if compressed and not block.any():
                continue
            indices.append(second)
            values.extend(block.reshape(-1))
        segments.append(len(indices))
    levels = [size[0], (segments, indices) if compressed else size[1]]
    return values, levels + [length for _, length in blocks]


def sparse(order, compressed, blocks):
    dense = RANDOM.standard_normal((8, 12)).astype(np.float32)
    dense[RANDOM.random((8, 12)) < 0.7] = 0
    values, levels = stored(dense, order, compressed, blocks)
    model = OneOp()
    x = model.input("x", "f32", [8, 12])
    constant = model.sparse("w", "f32", [8, 12], values,
                            list(order) + [2 + i for i in range(len(blocks))], levels,
                            [d for d, _ in blocks])
    whole = model.tensor("whole", "f32", [8, 12])
    y = model.output("y", "f32", [8, 12])
    model.op("DENSIFY", [constant], [whole], version=1)
    model.op("ADD", [x, whole], [y], "AddOptions", 1)
    return model


def cases():
    for part in ("REAL", "IMAG", "COMPLEX_ABS"):
        for shape, length in (([1, 8], [1, 8]), ([3, 1, 24], [1, 32]), ([2, 5, 40], [1, 32]),
                              ([8, 16], [8, 16]), ([2, 5, 12], [8, 16]), ([9, 20], [4, 16])):
            yield f"{part} of {shape} by {length}", transform(shape, length, part), 1e-5
    yield "frames of 512", frames(31, 512), 1e-5
    for order in ((0, 1), (1, 0)):
        for compressed in (False, True):
            for blocks in ((), ((1, 4),), ((0, 2), (1, 3))):
                name = f"sparse, order {order}, compressed {compressed}, blocks {blocks}"
                yield name, sparse(order, compressed, blocks), 0


def worst(tenon, folder, model):
    path, plan = os.path.join(folder, "m.tflite"), os.path.join(folder, "m.tenon")
    content = model.bytes()
    with open(path, "wb") as file:
        file.write(content)
    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]
    x = RANDOM.standard_normal(given["shape"]).astype(np.float32)
    interpreter.set_tensor(given["index"], x)
    interpreter.invoke()
    expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.save(os.path.join(folder, "x.npy"), x)
    subprocess.run([tenon, "convert", path, "-o", plan, "--board", "x86-64"], check=True,
                   capture_output=True)
    largest = 0
    for option in ([], ["--portable"]):
        subprocess.run([tenon, "run", plan, "--input", f"x={folder}/x.npy", "--output-dir", folder]
                       + option, check=True, capture_output=True)
        got = np.load(os.path.join(folder, "y.npy"))
        largest = max(largest, np.abs(got - expected).max() / np.abs(expected).max())
    return largest


def refuses_to_grow(tenon, folder):
    """A few bytes that stand for 400 MB count against the limit of memory before they are made."""
    model = OneOp()
    x = model.input("x", "f32", [1, 10000])
    w = model.sparse("w", "f32", [10000, 10000], [1.0], [0, 1],
                     [([0, 1], [7]), ([0, 1], [3])])
    y = model.output("y", "f32", [1, 10000])
    model.op("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions", 1)
    path = os.path.join(folder, "m.tflite")
    with open(path, "wb") as file:
        file.write(model.bytes())
    result = subprocess.run([tenon, "convert", path, "-o", path + ".tenon", "--board", "x86-64",
                             "--max-memory=64M"], capture_output=True, text=True)
    return result.returncode == 4 and "400000000 bytes" in result.stderr


def main():
    failures, compared = 0, {0: [], 1e-5: []}
    with tempfile.TemporaryDirectory() as folder:
        for name, model, bar in cases():
            try:
                difference = worst(sys.argv[1], folder, model)
            except subprocess.CalledProcessError as error:
                print(f"{name}: {error.stderr.decode()}")
                failures += 1
                continue
            compared[bar].append(difference)
            if not difference <= bar:
                print(f"{name}: differs by {difference}")
                failures += 1
        if not refuses_to_grow(sys.argv[1], folder):
            print("a sparse constant of 400 MB went past a limit of 64")
            failures += 1
    print(f"{len(compared[1e-5])} transforms within {max(compared[1e-5], default=0):.1e}, "
          f"{len(compared[0])} sparse constants equal; {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
