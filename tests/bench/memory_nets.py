#!/usr/bin/env python3
"""Writes nets whose tensors outlive their neighbours as ONNX, with random weights.

  memory_nets.py unet|densenet FILE.onnx
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from branch_models import Network  # noqa: E402


def unet(size=128, width=16, levels=4):
    """Ronneberger et al. 2015, with padding and upsampling by nearest neighbours."""
    net = Network()

    def twice(x, inputs, outputs):
        x = net.relu(net.conv(x, inputs, outputs, 3))
        return net.relu(net.conv(x, outputs, outputs, 3))

    x, channels, skips = "x", 3, []
    for level in range(levels):
        x = twice(x, channels, width << level)
        channels = width << level
        skips.append((x, channels))
        x = net.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = twice(x, channels, width << levels)
    channels = width << levels
    for skip, outputs in reversed(skips):
        up = net.add("Resize", [x, "", net.constant([1.0, 1.0, 2.0, 2.0], [4])], mode="nearest")
        up = net.conv(up, channels, outputs, 1)
        x = twice(net.add("Concat", [skip, up], axis=1), 2 * outputs, outputs)
        channels = outputs
    y = net.conv(x, channels, 2, 1)
    return net.model([("x", [1, 3, size, size])], [(y, [1, 2, size, size])])


def densenet(size=224, growth=32, blocks=(6, 12, 24, 16)):
    """DenseNet-121: Huang et al. 2017; normalisation is a product and a sum."""
    net = Network()

    def norm(x, channels):
        y = net.add("Mul", [x, net.weight([1, channels, 1, 1], 16)])
        return net.relu(net.add("Add", [y, net.weight([1, channels, 1, 1], 16, "b")]))

    x = net.relu(net.conv("x", 3, 2 * growth, 7, stride=2))
    x = net.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels, extent = 2 * growth, size // 4
    for block, layers in enumerate(blocks):
        for _ in range(layers):
            y = net.conv(norm(x, channels), channels, 4 * growth, 1)
            y = net.conv(norm(y, 4 * growth), 4 * growth, growth, 3)
            x = net.add("Concat", [x, y], axis=1)
            channels += growth
        if block + 1 < len(blocks):
            x = net.conv(norm(x, channels), channels, channels // 2, 1)
            x = net.add("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2])
            channels, extent = channels // 2, extent // 2
    y = net.add("GlobalAveragePool", [norm(x, channels)])
    y = net.conv(y, channels, 1000, 1)
    return net.model([("x", [1, 3, size, size])], [(y, [1, 1000, 1, 1])])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("unet", "densenet"):
        sys.exit(__doc__)
    pathlib.Path(sys.argv[2]).write_bytes({"unet": unet, "densenet": densenet}[sys.argv[1]]())
