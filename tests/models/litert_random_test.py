#!/usr/bin/env python3
"""Compares random TFLite networks of up to eight operators with LiteRT's reference kernels.

Optional: skipped, saying so, where the package ai_edge_litert is missing. Arguments: the `tenon`
command; then how many networks (default 60) and the first seed. Each is converted for x86-64, run
with and without vector kernels, and for a microcontroller. A network that is refused is counted,
one that gives another result fails the test. Exit status 0: equal; 1: not; 77: skipped.
"""
import collections
import os
import pickle
import signal
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from ai_edge_litert.interpreter import OpResolverType

    import litert_random_layers as layers
    import litert_random_moves as moves
    from litert_random_net import Net
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

KINDS = [layers.function] * 3 + [layers.conv] * 3 + [layers.binary] * 3 + [
    layers.rows, layers.comparison, layers.logic, layers.select, layers.transpose_conv,
    layers.fully_connected, layers.fully_connected, layers.matmul, layers.pool, layers.pool,
    layers.reduce, layers.reduce, layers.resize, layers.resize, layers.prelu, moves.extremum,
    moves.reshape, moves.reshape, moves.transpose, moves.reverse, moves.concat, moves.concat,
    moves.split, moves.pack, moves.slices, moves.slices, moves.pad, moves.pad, moves.tile,
    moves.gather, moves.blocks, moves.cast, moves.cast, moves.topk, moves.odd, moves.odd, moves.odd]
BOARDS = ["cortex-m4", "cortex-m55", "cortex-m0plus", "x86-64-avx2"]

# What is known of an output: its values by LiteRT, how far these move when the inputs do by a few
# units in the last place, and how many steps an integer may be off.
Expected = collections.namedtuple("Expected", "name values optimised wobble steps")


def grow(seed, most=8):
    net = Net(seed)
    wanted = min(most, net.pick(1, 1, 2, 3, 5, 8))
    for _ in range(4 * wanted):
        if len(net.names) >= wanted:
            break
        net.pick(*KINDS)(net)
    return net if net.names and net.finish() else None


def moved(random, array):
    if array.dtype != np.float32:
        return array
    return (array * (1 + 1e-6 * random.standard_normal(array.shape))).astype(np.float32)


def wobble(array, others):
    with np.errstate(all="ignore"):
        return max(float(np.nanmax(np.abs(array.astype(np.float64) - other.astype(np.float64)),
                                   initial=0)) for other in others)


def grown(seed):
    """The network's file, inputs, operators' names and outputs; nothing where LiteRT cannot run it."""
    net, random = grow(seed), np.random.default_rng(seed)
    if net is None:
        return None
    numbers = [value.number for value in net.outputs]
    arrays = net.run(numbers)
    optimised = net.run(numbers, kernels=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    others = [net.run(numbers, {name: moved(random, array) for name, array in net.feeds.items()})
              for _ in range(2)]
    if any(found is None for found in (arrays, optimised, *others)):
        return None
    expected = [Expected(net.name(value), array, optimised[i],
                         wobble(array, [other[i] for other in others]), steps(value))
                for i, (value, array) in enumerate(zip(net.outputs, arrays))]
    return net.model.bytes(), net.feeds, net.names, expected


def steps(value):
    """What is computed in floats may be a few steps off; what reads it is not compared."""
    if not value.comparable:
        return None
    return 0 if value.exact else 64 if value.dtype == "i16" else 4


def apart(seed):
    """The same by another process, as LiteRT ends where it thinks that it cannot go on."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(60)
        with os.fdopen(writer, "wb") as file:
            pickle.dump(grown(seed), file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        data = file.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(data) if status == 0 and data else None


def problem(wanted, got, expected):
    """What differs, in words; empty where nothing does."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{got.shape} instead of {wanted.dtype}{wanted.shape}"
    if expected.steps is None:
        return ""
    if not np.issubdtype(wanted.dtype, np.floating):
        if expected.wobble > 0:
            return ""
        distance = np.abs(got.astype(np.float64) - wanted.astype(np.float64)).max(initial=0)
        return f"differs by {distance:g}" if distance > expected.steps else ""
    if wanted.dtype == np.float32:  # LiteRT's functions of two tensors stop at the largest float
        most = np.finfo(np.float32).max
        wanted, got = np.clip(wanted, -most, most), np.clip(got, -most, most)
    finite = np.abs(wanted[np.isfinite(wanted)]).astype(np.float64)
    bound = 1e-5 + 1e-4 * finite.max(initial=0)
    bound += min(20 * expected.wobble, 1e300) if np.isfinite(expected.wobble) else 0
    close = np.isclose(wanted, got, rtol=0, atol=bound, equal_nan=True)
    return "" if close.all() else f"{got[~close][0]} instead of {wanted[~close][0]}"


def run_plan(tenon, folder, feeds, expected, options):
    """What differs from LiteRT's reference kernels and from its optimised ones."""
    out = tempfile.mkdtemp(dir=folder)
    command = [tenon, "run", os.path.join(folder, "model.tenon"), "--output-dir", out, *options]
    for name, array in feeds.items():
        np.save(os.path.join(folder, f"{name}.npy"), array)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for one in expected:
        got = np.load(os.path.join(out, f"{one.name}.npy"))
        difference = problem(one.values, got, one)
        if difference and problem(one.optimised, got, one):
            yield f"{one.name}: {difference}"


def compare(tenon, folder, board, feeds, expected):
    """What is wrong, and why the network is refused."""
    converted = subprocess.run([tenon, "convert", os.path.join(folder, "model.tflite"), "-o",
                                os.path.join(folder, "model.tenon"), "--board", board, "-q"],
                               capture_output=True, text=True)
    if converted.returncode == 4 and not board.startswith("x86"):
        return [], ""  # too large for a microcontroller
    if converted.returncode == 3:
        return [], converted.stderr.splitlines()[0]
    if converted.returncode != 0:
        return [converted.stderr], ""
    wrong = []
    for options in ([], ["--portable"]) if board.startswith("x86") else ([],):
        wrong += run_plan(tenon, folder, feeds, expected, options)
    return wrong, ""


def main():
    tenon = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    compared = failed = refused = 0
    for seed in range(first, first + count):
        network = apart(seed)
        if network is None:
            continue
        data, feeds, names, expected = network
        why = ""
        wrong = []
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "model.tflite"), "wb") as file:
                file.write(data)
            for board in ("x86-64", BOARDS[seed % len(BOARDS)]):
                if not why:
                    found, why = compare(tenon, folder, board, feeds, expected)
                    wrong += [f"{board}: {one}" for one in found]
        if why:
            print(f"seed {seed} is refused: {why}", flush=True)
        for one in wrong[:3]:
            print(f"seed {seed} {names}, {one}", flush=True)
        refused += 1 if why else 0
        failed += 1 if wrong else 0
        compared += 0 if why else 1
    print(f"{compared} networks compared, {failed} wrong, {refused} refused")
    sys.exit(1 if failed or not compared else 0)


if __name__ == "__main__":
    main()
