#!/usr/bin/env python3
"""Writes a detector of the shape of YOLOX-nano (Ge et al. 2021) with random weights as ONNX: some 300
nodes, with many branches and large images, for timing the converter.

  detector_model.py FILE.onnx [SIDE]

SIDE is the side of the input image, a multiple of 32; 416 if it is not given.
"""
import array
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx  # noqa: E402

DEPTH, WIDTH, CLASSES = 1, 0.25, 80


class Network:
    def __init__(self):
        self.random = random.Random(1)
        self.nodes, self.weights = [], []
        self.count = 0

    def weight(self, name, shape, fan_in):
        count = 1
        for extent in shape:
            count *= extent
        scale = (6 / max(fan_in, 1)) ** 0.5
        values = array.array("f", (self.random.uniform(-scale, scale) for _ in range(count)))
        self.weights.append(onnx.tensor(name, shape, values.tobytes()))
        return name

    def add(self, kind, operands, **attributes):
        self.count += 1
        name = f"{kind.lower()}_{self.count}"
        self.nodes.append(onnx.node(kind, operands, [name], **attributes))
        return name

    def conv(self, x, inputs, outputs, kernel, stride=1, group=1):
        name = f"c{self.count + 1}"
        pad = kernel // 2
        operands = [x, self.weight(f"{name}.w", [outputs, inputs // group, kernel, kernel],
                                   inputs // group * kernel * kernel),
                    self.weight(f"{name}.b", [outputs], outputs)]
        return self.add("Conv", operands, kernel_shape=[kernel, kernel], strides=[stride, stride],
                        pads=[pad, pad, pad, pad], group=group)

    def silu(self, x):
        return self.add("Mul", [x, self.add("Sigmoid", [x])])

    def base(self, x, inputs, outputs, kernel, stride=1):
        return self.silu(self.conv(x, inputs, outputs, kernel, stride))

    def depthwise(self, x, inputs, outputs, kernel, stride=1):
        x = self.silu(self.conv(x, inputs, inputs, kernel, stride, group=inputs))
        return self.base(x, inputs, outputs, 1)

    def stage(self, x, inputs, outputs, repeats, shortcut):
        """Two halves, one of them through bottlenecks, joined again."""
        half = outputs // 2
        left, right = self.base(x, inputs, half, 1), self.base(x, inputs, half, 1)
        for _ in range(repeats):
            y = self.depthwise(self.base(left, half, half, 1), half, half, 3)
            left = self.add("Add", [y, left]) if shortcut else y
        return self.base(self.add("Concat", [left, right], axis=1), outputs, outputs, 1)

    def pyramid(self, x, channels):
        half = channels // 2
        x = self.base(x, channels, half, 1)
        pools = [self.add("MaxPool", [x], kernel_shape=[k, k], strides=[1, 1],
                          pads=[k // 2] * 4) for k in (5, 9, 13)]
        return self.base(self.add("Concat", [x, *pools], axis=1), half * 4, channels, 1)

    def double(self, x):
        scales = f"scales{self.count}"
        self.weights.append(onnx.tensor(scales, [4], array.array("f", [1, 1, 2, 2]).tobytes()))
        return self.add("Resize", [x, "", scales], mode="nearest",
                        coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def head(self, x, channels, width):
        x = self.base(x, channels, width, 1)
        classes, boxes = x, x
        for _ in range(2):
            classes = self.depthwise(classes, width, width, 3)
            boxes = self.depthwise(boxes, width, width, 3)
        scores = self.add("Sigmoid", [self.conv(classes, width, CLASSES, 1)])
        sure = self.add("Sigmoid", [self.conv(boxes, width, 1, 1)])
        return self.add("Concat", [self.conv(boxes, width, 4, 1), sure, scores], axis=1)


def build(net):
    c = int(64 * WIDTH)
    x = net.base("image", 3, c, 6 // 2, 2)
    features = []
    for stage, repeats in enumerate((DEPTH, 3 * DEPTH, 3 * DEPTH, DEPTH)):
        x = net.depthwise(x, c, 2 * c, 3, 2)
        c *= 2
        if stage == 3:
            x = net.pyramid(x, c)
        x = net.stage(x, c, c, repeats, stage != 3)
        features.append((x, c))
    (small, cs), (middle, cm), (large, cl) = features[1:]
    p5 = net.base(large, cl, cm, 1)
    f4 = net.stage(net.add("Concat", [net.double(p5), middle], axis=1), 2 * cm, cm, DEPTH, False)
    p4 = net.base(f4, cm, cs, 1)
    out3 = net.stage(net.add("Concat", [net.double(p4), small], axis=1), 2 * cs, cs, DEPTH, False)
    down = net.depthwise(out3, cs, cs, 3, 2)
    out4 = net.stage(net.add("Concat", [down, p4], axis=1), 2 * cs, cm, DEPTH, False)
    down = net.depthwise(out4, cm, cm, 3, 2)
    out5 = net.stage(net.add("Concat", [down, p5], axis=1), 2 * cm, cl, DEPTH, False)
    width = int(256 * WIDTH)
    return [net.head(out3, cs, width), net.head(out4, cm, width), net.head(out5, cl, width)]


def detector(side):
    net = Network()
    outputs = build(net)
    values = [onnx.value(name, [1, 5 + CLASSES, side // stride, side // stride])
              for name, stride in zip(outputs, (8, 16, 32))]
    return onnx.model(net.nodes, [onnx.value("image", [1, 3, side, side])], values, net.weights)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    pathlib.Path(sys.argv[1]).write_bytes(detector(int(sys.argv[2]) if len(sys.argv) > 2 else 416))
