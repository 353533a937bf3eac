#!/usr/bin/env python3
"""Trains the handwritten-digit classifier that ships with Tenon, and writes it as ONNX.

Needs: numpy scikit-learn onnx onnxruntime (development only: the product's build never runs this).
Data:  scikit-learn's bundled `load_digits` (1797 images, 8x8, grey values 0..16), split by class
       with a fixed seed into 1437 for training and 360 held out.
Model: conv-bn-relu, conv-bn-relu-maxpool, conv-bn-relu-maxpool, gemm, softmax; input `image`
       f32 [batch, 1, 8, 8] in 0..1, output `probability` f32 [batch, 10].
Writes next to this file: digits.onnx; held_out_images.npy, held_out_labels.npy,
       held_out_probabilities.npy (by ONNX Runtime); samples/image_<k>_is_<label>.npy.
Seeded: the same package versions and processor give the same files.
"""

import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 20
EPOCHS = 60
BATCH = 64
CHANNELS = (16, 32, 32)
EPSILON = 1e-5
HERE = pathlib.Path(__file__).resolve().parent


def windows(x):
    """[n, c, h, w] -> [n, h, w, c*9]: the 3x3 neighbourhoods, zero beyond the border."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    n, c, h, w = x.shape
    return view.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


class ConvNormRelu:
    """3x3 convolution without bias, batch norm, relu; forward and backward."""

    def __init__(self, rng, inputs, outputs):
        scale = np.sqrt(2 / (inputs * 9))
        self.weight = rng.normal(0, scale, (inputs * 9, outputs)).astype(np.float32)
        self.gamma = np.ones(outputs, np.float32)
        self.beta = np.zeros(outputs, np.float32)
        self.mean = np.zeros(outputs, np.float32)
        self.variance = np.ones(outputs, np.float32)

    def forward(self, x, training):
        self.columns = windows(x)
        y = self.columns @ self.weight
        mean, variance = self.mean, self.variance
        if training:
            mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
            self.mean += 0.1 * (mean - self.mean)
            self.variance += 0.1 * (variance - self.variance)
        self.inverse = 1 / np.sqrt(variance + EPSILON)
        self.normal = (y - mean) * self.inverse
        self.active = self.normal * self.gamma + self.beta
        return np.maximum(self.active, 0).transpose(0, 3, 1, 2)

    def backward(self, gradient):
        g = gradient.transpose(0, 2, 3, 1) * (self.active > 0)
        axes = (0, 1, 2)
        d_gamma, d_beta = (g * self.normal).sum(axes), g.sum(axes)
        count = g.shape[0] * g.shape[1] * g.shape[2]
        g = self.gamma * self.inverse * (g - d_beta / count - self.normal * d_gamma / count)
        n, h, w, _ = g.shape
        d_weight = self.columns.reshape(n * h * w, -1).T @ g.reshape(n * h * w, -1)
        d_columns = (g @ self.weight.T).reshape(n, h, w, -1, 3, 3)
        d_x = np.zeros((n, d_columns.shape[3], h + 2, w + 2), np.float32)
        for i in range(3):
            for j in range(3):
                d_x[:, :, i : i + h, j : j + w] += d_columns[..., i, j].transpose(0, 3, 1, 2)
        return d_x[:, :, 1:-1, 1:-1], [d_weight, d_gamma, d_beta]

    def parameters(self):
        return [self.weight, self.gamma, self.beta]


class MaxPool:
    """2x2, stride 2."""

    def forward(self, x):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = blocks.max((3, 5))
        self.mask = blocks == y[:, :, :, None, :, None]
        return y

    def backward(self, gradient):
        share = self.mask / self.mask.sum((3, 5), keepdims=True)
        d = share * gradient[:, :, :, None, :, None]
        n, c, h, _, w, _ = d.shape
        return d.reshape(n, c, h * 2, w * 2).astype(np.float32)


class Network:
    def __init__(self, rng):
        widths = (1, *CHANNELS)
        self.convs = [ConvNormRelu(rng, a, b) for a, b in zip(widths, widths[1:])]
        self.pools = [None, MaxPool(), MaxPool()]
        self.weight = rng.normal(0, 0.1, (CHANNELS[-1] * 4, 10)).astype(np.float32)
        self.bias = np.zeros(10, np.float32)

    def forward(self, x, training=False):
        for conv, pool in zip(self.convs, self.pools):
            x = conv.forward(x, training)
            x = pool.forward(x) if pool else x
        self.shape = x.shape
        self.features = x.reshape(len(x), -1)
        logits = self.features @ self.weight + self.bias
        e = np.exp(logits - logits.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def gradients(self, probability, labels):
        g = (probability - np.eye(10, dtype=np.float32)[labels]) / len(labels)
        tail = [self.features.T @ g, g.sum(0)]
        g = (g @ self.weight.T).reshape(self.shape)
        blocks = []
        for conv, pool in zip(self.convs[::-1], self.pools[::-1]):
            g = pool.backward(g) if pool else g
            g, gradients = conv.backward(g)
            blocks.insert(0, gradients)
        return sum(blocks, []) + tail

    def parameters(self):
        return sum((conv.parameters() for conv in self.convs), []) + [self.weight, self.bias]


def shifted(rng, images):
    """Each image moved by up to one pixel either way: writers do not centre exactly."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moves = rng.integers(0, 3, (len(images), 2))
    return np.stack([p[:, i : i + 8, j : j + 8] for p, (i, j) in zip(padded, moves)])


def train(network, rng, images, labels):
    """Adam (Kingma and Ba 2015) with a cosine learning rate."""
    first = [np.zeros_like(p) for p in network.parameters()]
    second = [np.zeros_like(p) for p in network.parameters()]
    steps_per_epoch = len(images) // BATCH
    step = 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(images))
        for start in range(0, steps_per_epoch * BATCH, BATCH):
            step += 1
            pick = order[start : start + BATCH]
            probability = network.forward(shifted(rng, images[pick]), training=True)
            rate = 1e-3 * (1 + np.cos(np.pi * step / (EPOCHS * steps_per_epoch)))
            gradients = network.gradients(probability, labels[pick])
            for p, g, m, v in zip(network.parameters(), gradients, first, second):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                p -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


def to_onnx(network):
    nodes, initializers = [], []

    def constant(name, array):
        initializers.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    x = "image"
    for i, (conv, pool) in enumerate(zip(network.convs, network.pools)):
        p = f"block{i}"
        outputs = conv.weight.shape[1]
        weight = constant(f"{p}.weight", conv.weight.T.reshape(outputs, -1, 3, 3))
        nodes.append(helper.make_node("Conv", [x, weight], [f"{p}.conv"], f"{p}.conv",
                                      kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
        fields = ("gamma", "beta", "mean", "variance")
        constants = [constant(f"{p}.{field}", getattr(conv, field)) for field in fields]
        nodes.append(helper.make_node("BatchNormalization", [f"{p}.conv", *constants],
                                      [f"{p}.norm"], f"{p}.norm", epsilon=EPSILON))
        nodes.append(helper.make_node("Relu", [f"{p}.norm"], [f"{p}.relu"], f"{p}.relu"))
        x = f"{p}.relu"
        if pool:
            nodes.append(helper.make_node("MaxPool", [x], [f"{p}.pool"], f"{p}.pool",
                                          kernel_shape=[2, 2], strides=[2, 2]))
            x = f"{p}.pool"
    nodes.append(helper.make_node("Flatten", [x], ["features"], "flatten", axis=1))
    nodes.append(helper.make_node(
        "Gemm", ["features", constant("dense.weight", network.weight),
                 constant("dense.bias", network.bias)], ["logits"], "dense"))
    nodes.append(helper.make_node("Softmax", ["logits"], ["probability"], "softmax", axis=1))
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["batch", 10])],
        initializers)
    model = helper.make_model(graph, producer_name="tenon-digits", ir_version=7,
                              opset_imports=[helper.make_opsetid("", 13)])
    onnx.checker.check_model(model, full_check=True)
    return model


def write_samples(images, labels):
    """One held-out image of each digit, as a batch of one."""
    folder = HERE / "samples"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for digit in range(10):
        k = int(np.flatnonzero(labels == digit)[0])
        np.save(folder / f"image_{k}_is_{digit}.npy", images[k : k + 1])


def main():
    rng = np.random.default_rng(SEED)
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    train_x, test_x, train_y, test_y = train_test_split(
        images, digits.target, test_size=360, stratify=digits.target, random_state=SEED)
    network = Network(rng)
    train(network, rng, train_x, train_y)

    path = HERE / "digits.onnx"
    onnx.save(to_onnx(network), path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    probability = session.run(None, {"image": test_x})[0]
    np.save(HERE / "held_out_images.npy", test_x)
    np.save(HERE / "held_out_labels.npy", test_y.astype(np.int64))
    np.save(HERE / "held_out_probabilities.npy", probability)
    write_samples(test_x, test_y)
    right = int((probability.argmax(1) == test_y).sum())
    print(f"{path.name}: {path.stat().st_size} bytes")
    print(f"accuracy on {len(test_y)} held-out images: {right} right, {100 * right / len(test_y):.2f} %")


if __name__ == "__main__":
    main()
