#!/usr/bin/env python3
"""Writes networks of int8 with random weights as ONNX (quantize and dequantize around every operator),
for timing and for tests of accelerators. The same name gives the same bytes.

  int8_nets.py NET FILE.onnx

NET: resnet18, resnet18mixed (its first and last convolution are float), resnet50, mobilenet1, mobilenet2, squeezenet, scratch (maps larger
     than the accelerator's chip that two layers read), or one convolution:
     convKxK/INPUTS-OUTPUTS/HxW, for example conv3x3/64-64/56x56
"""
import pathlib
import random
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx  # noqa: E402

INT8 = 3
WEIGHT_DEVIATION = 73.9  # of bytes that are equally likely: 256 / sqrt(12)
RANGE = 8.0  # what 255 steps of an activation span; their deviation stays near 1
LAST = 2  # a bottleneck's or block's last convolution is weaker by this, so that sums stay in range


class Network:
    """Activations are int8 throughout, of which dequantized copies lead into each operator."""

    def __init__(self):
        self.random = random.Random(1)
        self.nodes, self.weights = [], []
        self.shapes = {}

    def constant(self, name, shape, raw, dtype):
        self.weights.append(onnx.tensor(name, shape, raw, dtype))
        return name

    def scale(self, name, value, zero_point):
        return [self.constant(f"{name}.scale", [], struct.pack("<f", value), onnx.FLOAT),
                self.constant(f"{name}.zero", [], struct.pack("b", zero_point), INT8)]

    def input(self, channels, height, width):
        self.shapes["image"] = (channels, height, width)
        self.constants_of("image", signed=True)
        return "image"

    def constants_of(self, name, signed):
        self.scale(name, RANGE / 255, 0 if signed else -128)

    def real(self, x):
        """The real numbers that the int8 tensor x stands for."""
        name = f"{x}.real"
        if name not in self.shapes:
            self.shapes[name] = self.shapes[x]
            self.nodes.append(onnx.node("DequantizeLinear", [x, f"{x}.scale", f"{x}.zero"], [name]))
        return name

    def bytes_of(self, real, name, shape, signed):
        self.constants_of(name, signed)
        self.shapes[name] = shape
        self.nodes.append(onnx.node("QuantizeLinear", [real, f"{name}.scale", f"{name}.zero"], [name]))
        return name

    def weight(self, name, shape, deviation):
        count = 1
        for extent in shape:
            count *= extent
        self.constant(f"{name}.q", shape, self.random.randbytes(count).replace(b"\x80", b"\x00"), INT8)
        # A scale for each output, as quantizers give them.
        scales = [deviation / WEIGHT_DEVIATION * self.random.uniform(0.8, 1.2) for _ in range(shape[0])]
        self.constant(f"{name}.scale", [shape[0]], struct.pack(f"<{shape[0]}f", *scales), onnx.FLOAT)
        zeros = self.constant(f"{name}.zero", [shape[0]], bytes(shape[0]), INT8)
        self.nodes.append(onnx.node("DequantizeLinear", [f"{name}.q", f"{name}.scale", zeros], [name], axis=0))
        return [scales, name]

    def bias(self, name, scales):
        # The unit of the sums: the product of two scales, which are f32.
        step = struct.unpack("<f", struct.pack("<f", RANGE / 255))[0]
        unit = [step * scale for scale in struct.unpack(f"<{len(scales)}f", struct.pack(f"<{len(scales)}f", *scales))]
        packed = struct.pack(f"<{len(unit)}f", *unit)
        values = [round(self.random.uniform(-0.2, 0.2) / one) for one in unit]
        self.constant(f"{name}.q", [len(unit)], struct.pack(f"<{len(unit)}i", *values), onnx.INT32)
        self.constant(f"{name}.scale", [len(unit)], packed, onnx.FLOAT)
        zeros = self.constant(f"{name}.zero", [len(unit)], bytes(4 * len(unit)), onnx.INT32)
        self.nodes.append(onnx.node("DequantizeLinear", [f"{name}.q", f"{name}.scale", zeros], [name], axis=0))
        return name

    def conv(self, x, outputs, kernel, stride=1, relu=True, group=1, pad=None, weaker=1):
        name = f"conv{len(self.shapes)}"
        inputs, height, width = self.shapes[x]
        pad = kernel // 2 if pad is None else pad
        height, width = ((extent + 2 * pad - kernel) // stride + 1 for extent in (height, width))
        deviation = (2 / (inputs // group * kernel * kernel)) ** 0.5 / weaker
        operand = self.real(x)
        scales, w = self.weight(f"{name}.w", [outputs, inputs // group, kernel, kernel], deviation)
        y = f"{name}.sum"
        self.nodes.append(onnx.node("Conv", [operand, w, self.bias(f"{name}.b", scales)], [y], group=group,
                                    kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4))
        if relu:
            self.nodes.append(onnx.node("Relu", [y], [f"{y}.relu"]))
            y = f"{y}.relu"
        return self.bytes_of(y, name, (outputs, height, width), signed=not relu)

    def float_conv(self, x, outputs, kernel, stride=1):
        """Of real numbers, to real numbers."""
        name = f"float{len(self.shapes)}"
        inputs, height, width = self.shapes[x]
        deviation = (2 / (inputs * kernel * kernel)) ** 0.5
        values = [self.random.gauss(0, deviation) for _ in range(outputs * inputs * kernel * kernel)]
        self.weights.append(onnx.tensor(f"{name}.w", [outputs, inputs, kernel, kernel], values))
        pad = kernel // 2
        self.nodes.append(onnx.node("Conv", [x, f"{name}.w"], [name], kernel_shape=[kernel, kernel],
                                    strides=[stride, stride], pads=[pad] * 4))
        self.shapes[name] = (outputs, *((extent + 2 * pad - kernel) // stride + 1 for extent in (height, width)))
        return name

    def add(self, x, y, relu):
        name = f"add{len(self.shapes)}"
        self.nodes.append(onnx.node("Add", [self.real(x), self.real(y)], [f"{name}.sum"]))
        total = f"{name}.sum"
        if relu:
            self.nodes.append(onnx.node("Relu", [total], [f"{total}.relu"]))
            total += ".relu"
        return self.bytes_of(total, name, self.shapes[x], signed=not relu)

    def max_pool(self, x, pad=1):
        name = f"pool{len(self.shapes)}"
        channels, height, width = self.shapes[x]
        shape = (channels, (height + 2 * pad - 3) // 2 + 1, (width + 2 * pad - 3) // 2 + 1)
        self.nodes.append(onnx.node("MaxPool", [self.real(x)], [f"{name}.real_max"], kernel_shape=[3, 3],
                                    strides=[2, 2], pads=[pad] * 4))
        return self.bytes_of(f"{name}.real_max", name, shape, signed=False)

    def concat(self, parts):
        name = f"join{len(self.shapes)}"
        channels = sum(self.shapes[part][0] for part in parts)
        self.nodes.append(onnx.node("Concat", [self.real(part) for part in parts], [f"{name}.whole"], axis=1))
        return self.bytes_of(f"{name}.whole", name, (channels, *self.shapes[parts[0]][1:]), signed=False)

    def mean(self, x):
        name = f"mean{len(self.shapes)}"
        self.nodes.append(onnx.node("GlobalAveragePool", [self.real(x)], [f"{name}.real_mean"]))
        return self.bytes_of(f"{name}.real_mean", name, (self.shapes[x][0], 1, 1), signed=False)

    def model(self, x, dtype=INT8):
        """The scores are those of a 1x1 convolution, [1, classes, 1, 1]."""
        return onnx.model(self.nodes, [onnx.value("image", [1, *self.shapes["image"]], dtype)],
                          [onnx.value(x, [1, *self.shapes[x]], dtype)], self.weights)


def resnet(depth, mixed=False):
    net = Network()
    if mixed:
        net.shapes["image"] = (3, 224, 224)
        stem = net.float_conv("image", 64, 7, 2)
        net.nodes.append(onnx.node("Relu", [stem], [f"{stem}.relu"]))
        x = net.max_pool(net.bytes_of(f"{stem}.relu", f"{stem}.bytes", net.shapes[stem], signed=False))
    else:
        x = net.max_pool(net.conv(net.input(3, 224, 224), 64, 7, 2))
    for stage, blocks in enumerate({18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}[depth]):
        width = 64 << stage
        for index in range(blocks):
            stride, short = 2 if stage > 0 and index == 0 else 1, x
            if depth == 18:
                y = net.conv(net.conv(x, width, 3, stride), width, 3, relu=False, weaker=LAST)
            else:
                y = net.conv(net.conv(net.conv(x, width, 1), width, 3, stride), 4 * width, 1, relu=False, weaker=LAST)
            if net.shapes[y] != net.shapes[x]:
                short = net.conv(x, net.shapes[y][0], 1, stride, relu=False)
            x = net.add(y, short, relu=True)
    if mixed:
        return net.model(net.float_conv(net.real(net.mean(x)), 1000, 1), onnx.FLOAT)
    return net.model(net.conv(net.mean(x), 1000, 1, relu=False))


def mobilenet1():
    net = Network()
    x = net.conv(net.input(3, 224, 224), 32, 3, 2)
    for width, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [
            (1024, 2), (1024, 1)]:
        channels = net.shapes[x][0]
        x = net.conv(net.conv(x, channels, 3, stride, group=channels), width, 1)
    return net.model(net.conv(net.mean(x), 1000, 1, relu=False))


def mobilenet2():
    net = Network()
    x = net.conv(net.input(3, 224, 224), 32, 3, 2)
    for expand, width, blocks, first in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                         (6, 160, 3, 2), (6, 320, 1, 1)]:
        for index in range(blocks):
            channels, stride = net.shapes[x][0], 1 if index else first
            y = net.conv(x, channels * expand, 1) if expand > 1 else x
            y = net.conv(y, channels * expand, 3, stride, group=channels * expand)
            y = net.conv(y, width, 1, relu=False, weaker=LAST if index else 1)
            x = net.add(y, x, relu=False) if index else y
    return net.model(net.conv(net.mean(net.conv(x, 1280, 1)), 1000, 1, relu=False))


def squeezenet():
    net = Network()
    x = net.max_pool(net.conv(net.input(3, 224, 224), 64, 3, 2, pad=0), pad=0)
    for fire in range(8):
        width = 64 * (fire // 2 + 1)
        squeezed = net.conv(x, width // 4, 1)
        x = net.concat([net.conv(squeezed, width, 1), net.conv(squeezed, width, 3)])
        x = net.max_pool(x, pad=0) if fire in (1, 3) else x
    return net.model(net.mean(net.conv(x, 1000, 1)))


def scratch():
    """A block with a sum whose maps of 1.6 MB each the accelerator's chip does not hold."""
    net = Network()
    x = net.conv(net.input(64, 160, 160), 64, 1)
    y = net.conv(net.conv(x, 64, 3), 64, 1, relu=False, weaker=LAST)
    return net.model(net.conv(net.max_pool(net.add(y, x, relu=True)), 64, 1))


def single(name):
    match = re.fullmatch(r"conv(\d+)x\1/(\d+)-(\d+)/(\d+)x(\d+)", name)
    if match is None:
        sys.exit(__doc__)
    kernel, inputs, outputs, height, width = map(int, match.groups())
    net = Network()
    return net.model(net.conv(net.input(inputs, height, width), outputs, kernel))


NETS = {"resnet18": lambda: resnet(18), "resnet18mixed": lambda: resnet(18, mixed=True), "resnet50": lambda: resnet(50), "mobilenet1": mobilenet1,
        "mobilenet2": mobilenet2, "squeezenet": squeezenet, "scratch": scratch}

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build = NETS.get(sys.argv[1], lambda: single(sys.argv[1]))
    pathlib.Path(sys.argv[2]).write_bytes(build())
