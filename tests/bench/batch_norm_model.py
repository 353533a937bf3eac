#!/usr/bin/env python3
"""Writes a net as ONNX that normalises over its batch, as in training: means and variances over the
batch are written out (ReduceMean over axes 0, 2, 3), so that no row can be computed without the
others. Three blocks of two branches each (1x1 -> 3x3, and 5x5), on images of 3x32x32.

  batch_norm_model.py FILE.onnx [--batch 32]
"""
import argparse
import array
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx  # noqa: E402


class Network:
    def __init__(self):
        self.random = random.Random(1)
        self.nodes, self.weights = [], []
        self.weights.append(onnx.tensor("epsilon", [1], struct.pack("<f", 1e-5)))

    def weight(self, name, shape, scale, offset=0.0):
        count = 1
        for extent in shape:
            count *= extent
        values = array.array("f", (offset + self.random.uniform(-scale, scale) for _ in range(count)))
        self.weights.append(onnx.tensor(name, shape, values.tobytes()))
        return name

    def add(self, kind, inputs, name, **attributes):
        self.nodes.append(onnx.node(kind, inputs, [name], **attributes))
        return name

    def normalised(self, x, name, channels):
        """(x - mean) / sqrt(variance + epsilon) * gamma + beta, over the batch and the image."""
        mean = self.add("ReduceMean", [x], f"{name}.mean", axes=[0, 2, 3], keepdims=1)
        centred = self.add("Sub", [x, mean], f"{name}.centred")
        square = self.add("Mul", [centred, centred], f"{name}.square")
        variance = self.add("ReduceMean", [square], f"{name}.variance", axes=[0, 2, 3], keepdims=1)
        safe = self.add("Add", [variance, "epsilon"], f"{name}.safe")
        deviation = self.add("Sqrt", [safe], f"{name}.deviation")
        y = self.add("Div", [centred, deviation], f"{name}.divided")
        y = self.add("Mul", [y, self.weight(f"{name}.gamma", [1, channels, 1, 1], 0.2, 1.0)], f"{name}.scaled")
        y = self.add("Add", [y, self.weight(f"{name}.beta", [1, channels, 1, 1], 0.2)], f"{name}.shifted")
        return self.add("Relu", [y], f"{name}.relu")

    def conv(self, x, name, inputs, outputs, kernel, stride=1):
        weights = self.weight(f"{name}.w", [outputs, inputs, kernel, kernel],
                              (6 / (inputs * kernel * kernel)) ** 0.5)
        pad = kernel // 2
        y = self.add("Conv", [x, weights], name, kernel_shape=[kernel, kernel],
                     strides=[stride, stride], pads=[pad, pad, pad, pad])
        return self.normalised(y, name, outputs)

    def block(self, x, name, inputs, width, stride):
        left = self.conv(x, f"{name}.left1", inputs, width, 1)
        left = self.conv(left, f"{name}.left3", width, width, 3, stride)
        right = self.conv(x, f"{name}.right5", inputs, width, 5, stride)
        return self.add("Concat", [left, right], f"{name}.join", axis=1)


def model(batch):
    net = Network()
    x = net.conv("image", "stem", 3, 16, 3)
    channels = 16
    for index, (width, stride) in enumerate([(16, 1), (24, 2), (32, 2)]):
        x = net.block(x, f"block{index + 1}", channels, width, stride)
        channels = 2 * width
    net.add("GlobalAveragePool", [x], "mean")
    net.add("Flatten", ["mean"], "flat", axis=1)
    operands = ["flat", net.weight("fc.w", [channels, 10], 0.2), net.weight("fc.b", [10], 0.1)]
    net.add("Gemm", operands, "scores")
    return onnx.model(net.nodes, [onnx.value("image", [batch, 3, 32, 32])],
                      [onnx.value("scores", [batch, 10])], net.weights)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    options.file.write_bytes(model(options.batch))
