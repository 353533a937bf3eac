#!/usr/bin/env python3
"""Small Caffe networks made here against OpenCV: transposed convolutions, and a detector of SSD's
kind with its prior boxes and DetectionOutput.

usage: caffe_detector_test.py TENON

Optional: exit status 77, saying so, without the packages numpy and cv2 (OpenCV 4). Within 1e-5 of
the largest value; the rows of a detector that OpenCV does not have are -1.
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import cv2
    import numpy as np
    cv2.dnn.readNetFromCaffe
except (ImportError, AttributeError) as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RANDOM = np.random.default_rng(5)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def blob(array):
    dims = b"".join(varint(d) for d in array.shape)
    return field(5, array.astype("<f4").tobytes()) + field(7, field(1, dims))


class Network:
    def __init__(self, channels, height, width):
        self.text = (f'input: "data" input_shape {{ dim: 1 dim: {channels} dim: {height} '
                     f'dim: {width} }}\n')
        self.weights = b""

    def layer(self, kind, name, bottoms, parameters="", arrays=()):
        ports = " ".join(f'bottom: "{b}"' for b in bottoms)
        self.text += f'layer {{ name: "{name}" type: "{kind}" {ports} top: "{name}" {parameters} }}\n'
        if arrays:
            self.weights += field(100, field(1, name.encode()) + field(2, kind.encode()) +
                                  b"".join(field(7, blob(a)) for a in arrays))
        return name

    def conv(self, name, bottom, inputs, outputs, kernel, pad=0, stride=1):
        arrays = (RANDOM.standard_normal((outputs, inputs, kernel, kernel)) / 8,
                  RANDOM.standard_normal(outputs) / 4)
        return self.layer("Convolution", name, [bottom],
                          f"convolution_param {{ num_output: {outputs} kernel_size: {kernel} "
                          f"pad: {pad} stride: {stride} }}", arrays)


def transposed(kernel, stride, pad, group):
    net, inputs, outputs = Network(4, 5, 6), 4, 6
    arrays = (RANDOM.standard_normal((inputs, outputs // group, kernel, kernel)),
              RANDOM.standard_normal(outputs))
    net.layer("Deconvolution", "y", ["data"],
              f"convolution_param {{ num_output: {outputs} kernel_size: {kernel} stride: {stride} "
              f"pad: {pad} group: {group} }}", arrays)
    return net


def detector(code, keep, top, threshold):
    net, classes = Network(3, 48, 40), 5
    x = net.layer("ReLU", "r", [net.conv("c", "data", 3, 8, 3, 1, 4)])
    heads = {"loc": [], "conf": [], "prior": []}
    for scale, name in enumerate("ab"):
        if scale:
            x = net.layer("ReLU", "r2", [net.conv("c2", x, 8, 8, 3, 1, 2)])
        boxes = 4
        for head, each in (("loc", 4), ("conf", classes)):
            y = net.conv(f"{head}_{name}", x, 8, boxes * each, 3, 1)
            y = net.layer("Permute", f"{head}_{name}_p", [y],
                          "permute_param { order: 0 order: 2 order: 3 order: 1 }")
            heads[head].append(net.layer("Flatten", f"{head}_{name}_f", [y],
                                         "flatten_param { axis: 1 }"))
        heads["prior"].append(net.layer(
            "PriorBox", f"prior_{name}", [x, "data"],
            f"prior_box_param {{ min_size: {10 + 10 * scale} max_size: {20 + 10 * scale} "
            "aspect_ratio: 2 flip: true clip: false variance: 0.1 variance: 0.1 variance: 0.2 "
            "variance: 0.2 offset: 0.5 }"))
    joined = {head: net.layer("Concat", head, parts,
                              f"concat_param {{ axis: {2 if head == 'prior' else 1} }}")
              for head, parts in heads.items()}
    y = net.layer("Reshape", "conf_r", [joined["conf"]],
                  f"reshape_param {{ shape {{ dim: 0 dim: -1 dim: {classes} }} }}")
    y = net.layer("Softmax", "conf_s", [y], "softmax_param { axis: 2 }")
    y = net.layer("Flatten", "conf_f", [y], "flatten_param { axis: 1 }")
    net.layer("DetectionOutput", "found", [joined["loc"], y, joined["prior"]],
              f"detection_output_param {{ num_classes: {classes} share_location: true "
              f"background_label_id: 0 nms_param {{ nms_threshold: 0.45 top_k: {top} }} "
              f"code_type: {code} keep_top_k: {keep} confidence_threshold: {threshold} }}")
    return net


def networks():
    for kernel, stride, pad, group in ((4, 2, 1, 1), (3, 2, 1, 2), (2, 2, 0, 1), (3, 1, 1, 2),
                                       (3, 3, 0, 1)):
        yield (f"Deconvolution {kernel} {stride} {pad} {group}",
               transposed(kernel, stride, pad, group))
    for code in ("CENTER_SIZE", "CORNER"):
        for keep, top, threshold in ((20, 100, 0.2), (200, 400, 0.01), (7, 30, 0.05)):
            yield f"DetectionOutput {code} {keep} {top} {threshold}", detector(
                code, keep, top, threshold)
    yield "DetectionOutput nothing found", detector("CENTER_SIZE", 50, 100, 0.9999)


def check(tenon, label, net, scratch):
    (scratch / "net.prototxt").write_text(net.text)
    (scratch / "net.caffemodel").write_bytes(net.weights)
    dims = [int(d) for d in net.text.split("\n")[0].replace("}", "").split("dim: ")[1:]]
    x = RANDOM.standard_normal(dims).astype(np.float32)
    reference = cv2.dnn.readNetFromCaffe(str(scratch / "net.prototxt"),
                                         str(scratch / "net.caffemodel"))
    reference.setInput(x)
    wanted = reference.forward()
    np.save(scratch / "x.npy", x)
    subprocess.run([tenon, "convert", scratch / "net.prototxt", "-o", scratch / "net.tenon",
                    "--board", "x86-64", "-q"], check=True)
    for extra in ([], ["--portable"]):
        out = scratch / "out"
        subprocess.run([tenon, "run", scratch / "net.tenon", "--input", f"data={scratch}/x.npy",
                        "--output-dir", out, *extra], check=True, stdout=subprocess.DEVNULL)
        got = np.load(next(out.iterdir()))
        if label.startswith("DetectionOutput"):
            # OpenCV writes one row of zeros where there is nothing.
            rows = [row for row in wanted.reshape(-1, 7) if row[2] > 0]
            # OpenCV sorts by score, Caffe by class and then by score, and so does Tenon.
            rows.sort(key=lambda row: (row[1], -row[2]))
            there = got.reshape(-1, 7)
            if not (there[len(rows):] == -1).all():
                return f"{len(rows)} boxes, and more"
            got, wanted_rows = there[:len(rows)], np.array(rows).reshape(-1, 7)
        else:
            wanted_rows = wanted
        if got.shape != wanted_rows.shape:
            return f"shape {got.shape}, not {wanted_rows.shape}"
        distance = np.abs(got - wanted_rows).max(initial=0)
        if distance > 1e-5 * max(1, np.abs(wanted_rows).max(initial=0)):
            return f"off by {distance:g}"
        count = len(got) if label.startswith("DetectionOutput") else got.size
        print(f"{label}{' portable' if extra else ''}: {count} equal within {distance:.1g}")
    return ""


def main():
    failed = []
    for label, net in networks():
        with tempfile.TemporaryDirectory() as scratch:
            wrong = check(sys.argv[1], label, net, pathlib.Path(scratch))
        if wrong:
            failed.append(f"{label}: {wrong}")
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
