"""Random operators that choose, move and convert elements; see litert_random_layers."""
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from litert_one_op import NUMPY
from litert_random_net import F32, NONE, RANGE, out


MOVED = ("f32", "f32", "i8", "u8", "i16", "i32", "i64", "bool")


def reshape(net):
    x = net.value(*MOVED)
    kind = net.below(3)
    if kind == 0:
        dims = list(net.random.permutation(x.shape)) if net.chance(0.5) else [x.array.size]
        while net.chance(0.5) and len(dims) < 5:
            dims.insert(net.below(len(dims) + 1), 1)
        if dims and net.chance(0.3):
            dims[net.below(len(dims))] = -1
        return net.op("RESHAPE", [x, net.constant("i32", dims)], [out(net, x, x.numbers)])
    if kind == 1:
        return net.op("EXPAND_DIMS", [x, net.constant("i32", net.below(x.rank + 1, -x.rank - 1))],
                      [out(net, x, x.numbers)])
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    taken = [i - (x.rank if net.chance(0.3) else 0) for i in ones if net.chance(0.6)]
    return net.op("SQUEEZE", [x], [out(net, x, x.numbers)], "SqueezeOptions", squeezeDims=taken)


def transpose(net):
    x = net.value(*MOVED)
    order = net.random.permutation(x.rank)
    return net.op("TRANSPOSE", [x, net.constant("i32", order)], [out(net, x, x.numbers)])


def reverse(net):
    x = net.value(*MOVED)
    if x.rank == 0:
        return False
    if net.chance(0.5):
        axes = net.constant("i32", [net.below(x.rank, -x.rank)])
        return net.op("REVERSE_V2", [x, axes], [out(net, x, x.numbers)])
    if x.rank < 2:
        return False
    batch, sequence = net.random.permutation(x.rank)[:2]
    lengths = net.constant(net.pick("i32", "i64"),
                           net.random.integers(0, x.shape[sequence] + 1, x.shape[batch]))
    return net.op("REVERSE_SEQUENCE", [x, lengths], [out(net, x, x.numbers)],
                  "ReverseSequenceOptions", seqDim=int(sequence), batchDim=int(batch))


def concat(net):
    x = net.value("f32", "f32", "i8", "u8", "i16", "i32", "i64", "bool")
    if x.rank == 0:
        return False
    axis, values = net.below(x.rank), [x]
    same = x.numbers if net.chance(0.6) or x.dtype not in ("i8", "u8") else None
    while len(values) < 5 and net.chance(0.6):
        shape = x.shape
        shape[axis] = net.pick(shape[axis], net.size())
        values.append(x if net.chance(0.1) else net.like(x, shape, same))
    order = [values[i] for i in net.random.permutation(len(values))]
    return net.op("CONCATENATION", order, [out(net, x, same)], "ConcatenationOptions",
                  axis=axis - (x.rank if net.chance(0.4) else 0),
                  fusedActivationFunction=net.pick(0, 0, 0, 1, 3))


def split(net):
    x = net.value(*MOVED)
    if x.rank == 0:
        return False
    axis = net.below(x.rank, -x.rank)
    length = x.shape[axis]
    kind = net.below(3)
    if kind == 0:
        parts = net.pick(*(i for i in range(1, length + 1) if length % i == 0))
        if parts > 8:
            return False
        return net.op("SPLIT", [net.constant("i32", axis), x], [out(net, x, x.numbers)] * parts,
                      "SplitOptions", numSplits=parts)
    if kind == 1:
        sizes, left = [], length
        while left and len(sizes) < 5:
            sizes.append(net.below(left + 1, 1) if len(sizes) < 4 else left)
            left -= sizes[-1]
        if net.chance(0.3):
            sizes[net.below(len(sizes))] = -1
        return net.op("SPLIT_V", [x, net.constant("i32", sizes), net.constant("i32", axis)],
                      [out(net, x, x.numbers)] * len(sizes), "SplitVOptions", numSplits=len(sizes))
    if length > 6:
        return False
    return net.op("UNPACK", [x], [out(net, x, x.numbers)] * length, "UnpackOptions", num=length,
                  axis=axis)


def pack(net):
    x = net.value(*MOVED)
    values = [x] + [net.like(x, None, x.numbers) for _ in range(net.below(4))]
    return net.op("PACK", values, [out(net, x, x.numbers)], "PackOptions", valuesCount=len(values),
                  axis=net.below(x.rank + 1, -x.rank - 1))


def slices(net):
    x = net.value(*MOVED)
    if net.chance(0.4):
        begin = [net.below(d) for d in x.shape]
        size = [-1 if net.chance(0.3) else net.below(d - b + 1, 1)
                for d, b in zip(x.shape, begin)]
        dtype = net.pick("i32", "i64")
        return net.op("SLICE", [x, net.constant(dtype, begin), net.constant(dtype, size)],
                      [out(net, x, x.numbers)])
    count = net.below(x.rank + 2)
    begin = [net.below(9, -9) for _ in range(count)]
    end = [net.below(20, -20) for _ in range(count)]
    strides = [net.pick(1, 1, 1, 2, -1, -2, 3) for _ in range(count)]

    def mask():
        return sum(1 << i for i in range(count) if net.chance(0.3))
    if count > x.rank:
        return False
    shrunk = mask() if net.chance(0.3) else 0
    begin = [min(max(b, -d), d - 1) if shrunk >> i & 1 else b
             for i, (b, d) in enumerate(zip(begin, x.shape + [1]))]
    fields = dict(beginMask=mask(), endMask=mask(), shrinkAxisMask=shrunk,
                  newAxisMask=mask() if net.chance(0.2) else 0,
                  ellipsisMask=1 << net.below(count) if count and net.chance(0.2) else 0)
    operands = [net.constant("i32", v) for v in (begin, end, strides)]
    return net.op("STRIDED_SLICE", [x, *operands], [out(net, x, x.numbers)], "StridedSliceOptions",
                  **fields)


def pad(net):
    x = net.value("f32", "f32", "i8", "u8", "i16", "i32", "i64")
    name = net.pick("PAD", "PADV2", "MIRROR_PAD")
    amounts = [[net.pick(0, 0, 1, 2, 3), net.pick(0, 0, 1, 2)] for _ in x.shape]
    inputs = [x, net.constant(net.pick("i32", "i32", "i64"), amounts)]
    if name == "PADV2":
        inputs.append(net.constant(x.dtype, net.array(x.dtype, []), x.numbers))
    if name == "MIRROR_PAD":
        return net.op(name, inputs, [out(net, x, x.numbers)], "MirrorPadOptions", mode=net.below(2))
    return net.op(name, inputs, [out(net, x, x.numbers)])


def tile(net):
    x = net.value(*MOVED)
    if x.array.size > 3000:
        return False
    if net.chance(0.5):
        times = net.constant(net.pick("i32", "i64"), [net.pick(1, 1, 2, 3) for _ in x.shape])
        return net.op("TILE", [x, times], [out(net, x, x.numbers)])
    dims = [net.size() if d == 1 and net.chance(0.5) else d for d in x.shape]
    dims = [net.size() for _ in range(net.below(2))] + dims
    return net.op("BROADCAST_TO", [x, net.constant(net.pick("i32", "i64"), dims)],
                  [out(net, x, x.numbers)])


def gather(net):
    x = net.value(*MOVED)
    if x.rank == 0:
        return False
    if net.chance(0.3):
        depth = net.below(x.rank + 1, 1)
        count = [net.below(5, 1) for _ in range(net.below(3, 1))]
        places = np.stack([net.random.integers(0, x.shape[k], count) for k in range(depth)], -1)
        dtype = net.pick("i32", "i64")
        places = net.constant(dtype, places) if net.chance(0.5) else \
            net.input(dtype, None, NONE, places.astype(NUMPY[dtype]))
        return net.op("GATHER_ND", [x, places], [out(net, x, x.numbers)])
    axis = net.below(x.rank)
    batch = net.below(axis + 1) if net.chance(0.3) else 0
    shape = x.shape[:batch] + [net.size() for _ in range(net.below(3))]
    dtype = net.pick("i32", "i64")
    places = net.random.integers(0, x.shape[axis], shape).astype(NUMPY[dtype])
    places = net.constant(dtype, places) if net.chance(0.5) else net.input(dtype, None, NONE, places)
    return net.op("GATHER", [x, places], [out(net, x, x.numbers)], "GatherOptions",
                  axis=axis - (x.rank if net.chance(0.2) else 0), batchDims=batch)


def blocks(net):
    x = net.value("f32", "i8", "u8", "i16", "i32", rank=(3, 4))
    name = net.pick("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
    block = net.pick(1, 2, 2, 3, 4)
    if name in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"):
        options = "SpaceToDepthOptions" if name == "SPACE_TO_DEPTH" else "DepthToSpaceOptions"
        return net.op(name, [x], [out(net, x, x.numbers)], options, blockSize=block)
    count = x.rank - 2
    sizes = [net.pick(1, 2, 2, 3) for _ in range(count)]
    if name == "SPACE_TO_BATCH_ND":
        edges = []
        for length, size in zip(x.shape[1:], sizes):
            before = net.below(3)
            edges.append([before, -(length + before) % size + size * net.pick(0, 0, 0, 1)])
    else:
        edges = [[net.pick(0, 0, 1), net.pick(0, 0, 1)] for _ in range(count)]
    return net.op(name, [x, net.constant("i32", sizes), net.constant("i32", edges)],
                  [out(net, x, x.numbers)])


def cast(net):
    x = net.value(*MOVED)
    kind = net.below(4)
    if x.dtype in RANGE and x.numbers[0] is None:
        kind = 3
    if kind == 0 and x.dtype in RANGE:
        return net.op("DEQUANTIZE", [x], [F32])
    if kind < 3 and x.dtype in ("f32", "i8", "u8", "i16"):
        to = net.pick("i8", "u8", "i16")
        numbers = net.numbers(to)
        return net.op("QUANTIZE", [x], [(to, numbers if to in RANGE else NONE)],
                      exact=x.dtype == "f32" or "i16" not in (x.dtype, to))
    to = net.pick("f32", "i8", "u8", "i16", "i32", "i64", "bool")
    return net.op("CAST", [x], [(to, NONE)], "CastOptions")


def extremum(net):
    x = net.value("f32", "i8", "u8", "i32")
    if x.rank == 0:
        return False
    name, to = net.pick("ARG_MAX", "ARG_MIN"), net.pick("i32", "i64")
    options = "ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions"
    kind = getattr(schema.TensorType, "INT32" if to == "i32" else "INT64")
    return net.op(name, [x, net.constant("i32", net.below(x.rank, -x.rank))], [(to, NONE)], options,
                  outputType=kind)


def topk(net):
    x = net.value("f32", "i8", "u8", "i32", "i64")
    if x.rank == 0:
        return False
    k = net.constant("i32", net.below(x.shape[-1] + 1, 1))
    return net.op("TOPK_V2", [x, k], [out(net, x, x.numbers), ("i32", NONE)])


def odd(net):
    name = net.pick("CUMSUM", "ADD_N", "ONE_HOT", "MATRIX_DIAG", "MATRIX_SET_DIAG", "BUCKETIZE",
                    "SHAPE", "RANK", "FILL", "EMBEDDING_LOOKUP", "SCATTER_ND", "RANGE",
                    "DYNAMIC_UPDATE_SLICE", "SEGMENT_SUM", "UNSORTED_SEGMENT")
    if name == "CUMSUM":
        x = net.value("f32", "i32", "i64")
        if x.rank == 0:
            return False
        return net.op(name, [x, net.constant("i32", net.below(x.rank, -x.rank))], [(x.dtype, NONE)],
                      "CumsumOptions", exclusive=net.chance(0.5), reverse=net.chance(0.5))
    if name == "ADD_N":
        x = net.value("f32", "i32")
        values = [x] + [net.like(x) for _ in range(net.below(4, 1))]
        return net.op(name, values, [(x.dtype, NONE)])
    if name == "ONE_HOT":
        dtype = net.pick("i32", "i64")
        x = net.input(dtype, None, NONE, net.random.integers(-1, 6, net.dims(net.below(4), 300))
                      .astype(NUMPY[dtype]))
        to = net.pick("f32", "i32", "i64", "i8", "u8", "bool")
        on, off = (net.constant(to, net.array(to, [])) for _ in range(2))
        return net.op(name, [x, net.constant("i32", net.below(6, 1)), on, off], [(to, NONE)],
                      "OneHotOptions", axis=net.below(x.rank + 1, -1))
    if name == "MATRIX_DIAG":
        x = net.value("f32", "i32", "i8", rank=(1, 2, 3))
        return net.op(name, [x], [(x.dtype, x.numbers)])
    if name == "MATRIX_SET_DIAG":
        x = net.value("f32", "i32", "i8", rank=(2, 3, 4))
        y = net.like(x, x.shape[:-2] + [min(x.shape[-2:])], x.numbers)
        return net.op(name, [x, y], [(x.dtype, x.numbers)])
    if name == "BUCKETIZE":
        x = net.value("f32", "i32", "i64")
        return net.op(name, [x], [("i32", NONE)], "BucketizeOptions",
                      boundaries=sorted(float(b) for b in np.float32(net.random.standard_normal(4))))
    if name == "SHAPE":
        x = net.value(*MOVED)
        to = net.pick("i32", "i64")
        return net.op(name, [x], [(to, NONE)], "ShapeOptions",
                      outType=getattr(schema.TensorType, "INT32" if to == "i32" else "INT64"))
    if name == "RANK":
        return net.op(name, [net.value(*MOVED)], [("i32", NONE)])
    if name == "FILL":
        x = net.value("f32", "i32", "i64", "i8", "bool", shape=[])
        return net.op(name, [net.constant(net.pick("i32", "i64"), net.dims(most=500)), x],
                      [(x.dtype, x.numbers)])
    if name == "EMBEDDING_LOOKUP":
        x = net.value("f32", "i8", "i32", rank=(2, 3))
        places = net.random.integers(0, x.shape[0], [net.size()]).astype(np.int32)
        return net.op(name, [net.input("i32", None, NONE, places), x], [(x.dtype, x.numbers)])
    if name == "SCATTER_ND":
        dims = net.dims(net.pick(1, 2, 3), 500)
        depth = net.below(len(dims) + 1, 1)
        count = [net.below(7, 1)]
        places = np.stack([net.random.integers(0, d, count) for d in dims[:depth]], -1)
        x = net.value("f32", "i32", "i8", "i64", shape=count + dims[depth:])
        places = net.constant("i32", places) if net.chance(0.5) else \
            net.input("i32", None, NONE, places.astype(np.int32))
        return net.op(name, [places, x, net.constant("i32", dims)], [(x.dtype, x.numbers)])
    if name == "RANGE":
        dtype = net.pick("i32", "f32", "i64")
        ends = [net.constant(dtype, v) for v in (net.below(9, -9), net.below(9, -9),
                                                 net.pick(1, 2, -1, -3))]
        return net.op(name, ends, [(dtype, NONE)])
    if name == "DYNAMIC_UPDATE_SLICE":
        x = net.value("f32", "i32", "i8", "i64", "bool", rank=(1, 2, 3, 4))
        y = net.like(x, [net.below(d + 1, 1) for d in x.shape], x.numbers)
        at = net.random.integers(-2, 9, x.rank).astype(np.int32)
        at = net.constant("i32", at) if net.chance(0.5) else net.input("i32", None, NONE, at)
        return net.op(name, [x, y, at], [(x.dtype, x.numbers)])
    if name in ("SEGMENT_SUM", "UNSORTED_SEGMENT"):
        x = net.value("f32", "i32", rank=(1, 2, 3))
        count = net.below(6, 1)
        ids = net.random.integers(0 if name == "SEGMENT_SUM" else -1, count, x.shape[0])
        ids = net.constant("i32", np.sort(ids) if name == "SEGMENT_SUM" else ids)
        if name == "SEGMENT_SUM":
            return net.op(name, [x, ids], [(x.dtype, NONE)])
        name += net.pick("_SUM", "_MAX", "_MIN", "_PROD")
        return net.op(name, [x, ids, net.constant("i32", count)], [(x.dtype, NONE)])
    return False
