#!/usr/bin/env python3
"""Writes well-known float networks as ONNX, with random weights, for timing.

  float_nets.py NET FILE.onnx      NET: one of `float_nets.py list`

Batch normalisation is folded into convolutions as exporters do; DenseNet's, which comes before them, is not.
LayerNorm and GELU are written out in primitive ops, as exporters of opset 13 write them.
"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from branch_models import Network, onnx  # noqa: E402

INT64 = 7  # TensorProto.DataType


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


class Net(Network):
    def image(self, size=224):
        self.inputs = [("image", [1, 3, size, size])]
        return "image"

    def activation(self, x, kind):
        if kind == "relu6":
            low, high = self.constant(floats(0), []), self.constant(floats(6), [])
            return self.add("Clip", [x, low, high])
        if kind == "swish":
            return self.add("Mul", [x, self.add("Sigmoid", [x])])
        if kind == "hardswish":
            three, zero, six = (self.constant(floats(v), []) for v in (3, 0, 6))
            gate = self.add("Clip", [self.add("Add", [x, three]), zero, six])
            return self.add("Div", [self.add("Mul", [x, gate]), six])
        return self.add("Relu", [x]) if kind else x

    def unit(self, x, inputs, outputs, kernel, stride=1, kind="relu", groups=1):
        return self.activation(self.conv(x, inputs, outputs, kernel, stride, groups), kind)

    def max_pool(self, x, kernel, stride, pad=0):
        return self.add("MaxPool", [x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def squeeze(self, x, channels, inner, gate, kind):
        s = self.add("GlobalAveragePool", [x])
        s = self.unit(s, channels, inner, 1, kind=kind)
        s = self.conv(s, inner, channels, 1)
        return self.add("Mul", [x, self.add(gate, [s])])

    def linear(self, x, inputs, outputs):
        y = self.add("MatMul", [x, self.weight([inputs, outputs], inputs)])
        return self.add("Add", [y, self.weight([outputs], 16, "b")])

    def classify(self, x, channels, classes=1000):
        x = self.add("Flatten", [self.add("GlobalAveragePool", [x])], axis=1)
        operands = [x, self.weight([channels, classes], channels), self.weight([classes], 16, "b")]
        return self.finish(self.add("Gemm", operands), [1, classes])

    def finish(self, output, shape):
        return self.model(self.inputs, [(output, shape)])

    def layer_norm(self, x, width):
        mean = self.add("ReduceMean", [x], axes=[-1], keepdims=1)
        d = self.add("Sub", [x, mean])
        two, small = self.constant(floats(2), []), self.constant(floats(1e-5), [])
        variance = self.add("ReduceMean", [self.add("Pow", [d, two])], axes=[-1], keepdims=1)
        y = self.add("Div", [d, self.add("Sqrt", [self.add("Add", [variance, small])])])
        y = self.add("Mul", [y, self.constant(floats(*[1.0] * width), [width])])
        return self.add("Add", [y, self.weight([width], 16, "b")])

    def gelu(self, x):
        root, one, half = (self.constant(floats(v), []) for v in (2 ** 0.5, 1, 0.5))
        e = self.add("Add", [self.add("Erf", [self.add("Div", [x, root])]), one])
        return self.add("Mul", [self.add("Mul", [x, e]), half])

    def integers(self, shape, *values):
        name = self.name("i")
        self.weights.append(onnx.tensor(name, shape, struct.pack(f"<{len(values)}q", *values), dtype=INT64))
        return name

    def ints(self, *values):
        return self.integers([len(values)], *values)

    def attention(self, x, tokens, width, heads):
        size = width // heads
        def split(t, perm):
            t = self.add("Reshape", [t, self.ints(1, tokens, heads, size)])
            return self.add("Transpose", [t], perm=perm)
        q, k, v = (self.linear(x, width, width) for _ in range(3))
        scores = self.add("MatMul", [split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1])])
        scores = self.add("Div", [scores, self.constant(floats(size ** 0.5), [])])
        y = self.add("MatMul", [self.add("Softmax", [scores], axis=-1), split(v, [0, 2, 1, 3])])
        y = self.add("Reshape", [self.add("Transpose", [y], perm=[0, 2, 1, 3]), self.ints(1, tokens, width)])
        return self.linear(y, width, width)

    def encoder(self, x, tokens, width, heads, inner, norm_first):
        residual = x
        if norm_first:
            x = self.layer_norm(x, width)
        x = self.add("Add", [residual, self.attention(x, tokens, width, heads)])
        x = x if norm_first else self.layer_norm(x, width)
        residual = x
        if norm_first:
            x = self.layer_norm(x, width)
        x = self.linear(self.gelu(self.linear(x, width, inner)), inner, width)
        x = self.add("Add", [residual, x])
        return x if norm_first else self.layer_norm(x, width)


def resnet50():
    net = Net()
    x = net.max_pool(net.unit(net.image(), 3, 64, 7, 2), 3, 2, 1)
    channels = 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            y = net.unit(net.unit(x, channels, width, 1), width, width, 3, stride)
            y = net.conv(y, width, 4 * width, 1)
            shortcut = net.conv(x, channels, 4 * width, 1, stride) if block == 0 else x
            x, channels = net.relu(net.add("Add", [y, shortcut])), 4 * width
    return net.classify(x, channels)


def vgg16():
    net = Net()
    x, channels = net.image(), 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x, channels = net.unit(x, channels, width, 3), width
        x = net.max_pool(x, 2, 2)
    x, inputs = net.add("Flatten", [x], axis=1), 512 * 49
    for outputs in (4096, 4096, 1000):
        x = net.add("Gemm", [x, net.weight([inputs, outputs], inputs), net.weight([outputs], 16, "b")])
        x, inputs = (net.relu(x) if outputs == 4096 else x), outputs
    return net.finish(x, [1, 1000])


def mobilenet1(multiplier=1.0):
    net = Net()
    width = lambda c: int(c * multiplier)  # noqa: E731
    x, channels = net.unit(net.image(), 3, width(32), 3, 2), width(32)
    for outputs, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2),
                            (1024, 1)):
        x = net.unit(x, channels, channels, 3, stride, groups=channels)
        x, channels = net.unit(x, channels, width(outputs), 1), width(outputs)
    return net.classify(x, channels)


def mobilenet3():
    """MobileNetV3, large."""
    net = Net()
    x, channels = net.unit(net.image(), 3, 16, 3, 2, "hardswish"), 16
    for kernel, inner, outputs, excite, kind, stride in (
            (3, 16, 16, 0, "relu", 1), (3, 64, 24, 0, "relu", 2), (3, 72, 24, 0, "relu", 1), (5, 72, 40, 1, "relu", 2),
            (5, 120, 40, 1, "relu", 1), (5, 120, 40, 1, "relu", 1), (3, 240, 80, 0, "hardswish", 2),
            (3, 200, 80, 0, "hardswish", 1), (3, 184, 80, 0, "hardswish", 1), (3, 184, 80, 0, "hardswish", 1),
            (3, 480, 112, 1, "hardswish", 1), (3, 672, 112, 1, "hardswish", 1), (5, 672, 160, 1, "hardswish", 2),
            (5, 960, 160, 1, "hardswish", 1), (5, 960, 160, 1, "hardswish", 1)):
        y = net.unit(x, channels, inner, 1, kind=kind) if inner != channels else x
        y = net.unit(y, inner, inner, kernel, stride, kind, groups=inner)
        if excite:
            y = net.squeeze(y, inner, (inner // 4 + 7) // 8 * 8, "HardSigmoid", "relu")
        y = net.conv(y, inner, outputs, 1)
        x = net.add("Add", [x, y]) if stride == 1 and outputs == channels else y
        channels = outputs
    x = net.unit(x, channels, 960, 1, kind="hardswish")
    x = net.unit(net.add("GlobalAveragePool", [x]), 960, 1280, 1, kind="hardswish")
    return net.classify(x, 1280)


def efficientnet_b0():
    net = Net()
    x, channels = net.unit(net.image(), 3, 32, 3, 2, "swish"), 32
    for expand, outputs, count, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                                                   (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for block in range(count):
            step = stride if block == 0 else 1
            inner = channels * expand
            y = net.unit(x, channels, inner, 1, kind="swish") if expand > 1 else x
            y = net.unit(y, inner, inner, kernel, step, "swish", groups=inner)
            y = net.conv(net.squeeze(y, inner, channels // 4, "Sigmoid", "swish"), inner, outputs, 1)
            x = net.add("Add", [x, y]) if step == 1 and outputs == channels else y
            channels = outputs
    return net.classify(net.unit(x, channels, 1280, 1, kind="swish"), 1280)


def normalised(net, x, channels):
    """Batch normalisation and relu before a convolution."""
    ones = net.constant(floats(*[1.0] * channels), [channels])
    operands = [x, ones, net.weight([channels], 16, "b"), net.weight([channels], 16, "m"), ones]
    return net.relu(net.add("BatchNormalization", operands, epsilon=1e-5))


def densenet121():
    net, growth = Net(), 32
    x, channels = net.max_pool(net.unit(net.image(), 3, 64, 7, 2), 3, 2, 1), 64
    for stage, blocks in enumerate((6, 12, 24, 16)):
        for _ in range(blocks):
            y = net.conv(normalised(net, x, channels), channels, 4 * growth, 1)
            y = net.conv(normalised(net, y, 4 * growth), 4 * growth, growth, 3)
            x, channels = net.add("Concat", [x, y], axis=1), channels + growth
        if stage < 3:
            x = net.conv(normalised(net, x, channels), channels, channels // 2, 1)
            x = net.add("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2])
            channels //= 2
    return net.classify(normalised(net, x, channels), channels)


def vit_tiny(width=192, heads=3, depth=12):
    net, tokens = Net(), 197
    w = net.weight([width, 3, 16, 16], 768)
    x = net.add("Conv", [net.image(), w, net.weight([width], 16, "b")], kernel_shape=[16, 16], strides=[16, 16])
    x = net.add("Transpose", [net.add("Reshape", [x, net.ints(1, width, 196)])], perm=[0, 2, 1])
    x = net.add("Concat", [net.weight([1, 1, width], 16, "class"), x], axis=1)
    x = net.add("Add", [x, net.weight([1, tokens, width], 16, "position")])
    for _ in range(depth):
        x = net.encoder(x, tokens, width, heads, 4 * width, norm_first=True)
    x = net.layer_norm(x, width)
    first = net.add("Gather", [x, net.integers([], 0)], axis=1)
    operands = [first, net.weight([width, 1000], width), net.weight([1000], 16, "b")]
    return net.finish(net.add("Gemm", operands), [1, 1000])


def bert_tiny(tokens=128, width=128, heads=2, depth=2):
    net = Net()
    net.inputs = [("embeddings", [1, tokens, width])]
    x = net.layer_norm("embeddings", width)
    for _ in range(depth):
        x = net.encoder(x, tokens, width, heads, 4 * width, norm_first=False)
    return net.finish(x, [1, tokens, width])


NETS = {
    "resnet50": resnet50, "vgg16": vgg16, "mobilenet1": mobilenet1, "mobilenet1_half": lambda: mobilenet1(0.5),
    "mobilenet3": mobilenet3, "efficientnet_b0": efficientnet_b0, "densenet121": densenet121, "vit_tiny": vit_tiny,
    "bert_tiny": bert_tiny,
}

if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] == "list":
        print(*NETS)
    elif len(sys.argv) == 3 and sys.argv[1] in NETS:
        pathlib.Path(sys.argv[2]).write_bytes(NETS[sys.argv[1]]())
    else:
        sys.exit(__doc__)
