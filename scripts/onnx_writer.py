"""Writes ONNX files without the onnx package: the few messages of onnx.proto3 that scripts and tests need."""
import struct

FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9
_FORMATS = {FLOAT: "f", INT32: "i", INT64: "q", BOOL: "?"}


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, shape, values, dtype=FLOAT):
    """A TensorProto with raw data; `values` are numbers, or the raw bytes themselves."""
    raw = values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{_FORMATS[dtype]}", *values)
    return b"".join(number(1, d) for d in shape) + number(2, dtype) + block(8, name) + block(9, raw)


def external_tensor(name, shape, location, offset=None, length=None, dtype=FLOAT):
    entries = {"location": location, "offset": offset, "length": length}
    message = b"".join(number(1, d) for d in shape) + number(2, dtype) + block(8, name)
    for key, value in entries.items():
        if value is not None:
            message += block(13, block(1, key) + block(2, str(value)))
    return message + number(14, 1)


def value(name, shape, dtype=FLOAT):
    """A ValueInfoProto; a dimension is a number, a name, or None for an unknown one."""
    dims = b""
    for dim in shape:
        content = b"" if dim is None else block(2, dim) if isinstance(dim, str) else number(1, dim)
        dims += block(1, content)
    return block(1, name) + block(2, block(1, number(1, dtype) + block(2, dims)))


def attribute(name, content):
    """An AttributeProto: int, float, str, list of ints, a tensor or a graph (bytes)."""
    if isinstance(content, int):
        return block(1, name) + number(3, content) + number(20, 2)
    if isinstance(content, float):
        return block(1, name) + varint(2 << 3 | 5) + struct.pack("<f", content) + number(20, 1)
    if isinstance(content, str):
        return block(1, name) + block(4, content) + number(20, 3)
    if isinstance(content, bytes):
        return block(1, name) + block(6, content) + number(20, 5)
    return block(1, name) + b"".join(number(8, v) for v in content) + number(20, 7)


def node(op, inputs, outputs, name="", domain="", **attributes):
    message = b"".join(block(1, i) for i in inputs) + b"".join(block(2, o) for o in outputs)
    message += block(3, name or outputs[0]) + block(4, op) + block(7, domain)
    return message + b"".join(block(5, attribute(k, v)) for k, v in attributes.items())


def graph(nodes, inputs, outputs, initializers=()):
    return (b"".join(block(1, n) for n in nodes) + block(2, "g") +
            b"".join(block(5, t) for t in initializers) + b"".join(block(11, i) for i in inputs) +
            b"".join(block(12, o) for o in outputs))


def model(nodes, inputs, outputs, initializers=(), opset=13):
    return (number(1, 8) + block(7, graph(nodes, inputs, outputs, initializers)) +
            block(8, number(2, opset)))
