#!/usr/bin/env python3
"""Writes a ResNet-18 (He et al. 2015, table 1) with random weights as ONNX, for timing.

  resnet18_model.py FILE.onnx
"""
import array
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx  # noqa: E402


class Network:
    def __init__(self):
        self.random = random.Random(1)
        self.nodes, self.weights = [], []

    def weight(self, name, shape, fan_in):
        count = 1
        for extent in shape:
            count *= extent
        scale = (6 / max(fan_in, 1)) ** 0.5
        values = array.array("f", (self.random.uniform(-scale, scale) for _ in range(count)))
        self.weights.append(onnx.tensor(name, shape, values.tobytes()))
        return name

    def conv(self, x, name, inputs, outputs, kernel, stride, relu=True):
        pad = kernel // 2
        operands = [x, self.weight(f"{name}.w", [outputs, inputs, kernel, kernel], inputs * kernel * kernel),
                    self.weight(f"{name}.b", [outputs], outputs)]
        self.nodes.append(onnx.node("Conv", operands, [name], kernel_shape=[kernel, kernel],
                                    strides=[stride, stride], pads=[pad, pad, pad, pad]))
        return self.relu(name) if relu else name

    def relu(self, x):
        self.nodes.append(onnx.node("Relu", [x], [f"{x}.relu"]))
        return f"{x}.relu"

    def block(self, x, name, inputs, outputs, stride):
        y = self.conv(x, f"{name}.1", inputs, outputs, 3, stride)
        y = self.conv(y, f"{name}.2", outputs, outputs, 3, 1, relu=False)
        if stride != 1 or inputs != outputs:
            x = self.conv(x, f"{name}.short", inputs, outputs, 1, stride, relu=False)
        self.nodes.append(onnx.node("Add", [y, x], [f"{name}.sum"]))
        return self.relu(f"{name}.sum")


def resnet18():
    net = Network()
    x = net.conv("image", "stem", 3, 64, 7, 2)
    net.nodes.append(onnx.node("MaxPool", [x], ["pool"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
    x, channels = "pool", 64
    for stage, width in enumerate([64, 128, 256, 512]):
        for index in range(2):
            stride = 2 if stage > 0 and index == 0 else 1
            x = net.block(x, f"layer{stage + 1}.{index}", channels, width, stride)
            channels = width
    net.nodes.append(onnx.node("GlobalAveragePool", [x], ["mean"]))
    net.nodes.append(onnx.node("Flatten", ["mean"], ["flat"], axis=1))
    operands = ["flat", net.weight("fc.w", [512, 1000], 512), net.weight("fc.b", [1000], 1000)]
    net.nodes.append(onnx.node("Gemm", operands, ["scores"]))
    return onnx.model(net.nodes, [onnx.value("image", [1, 3, 224, 224])],
                      [onnx.value("scores", [1, 1000])], net.weights)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[1]).write_bytes(resnet18())
