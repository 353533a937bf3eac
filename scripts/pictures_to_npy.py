#!/usr/bin/env python3
"""Makes .npy files of a folder of pictures, for --calibration and `tenon run --input`.

    pictures_to_npy.py PICTURES OUT --size 224x224 --mean 127.5 --scale 0.00784 --order rgb --layout nchw

Each picture becomes OUT/<its name>.npy, [1, 3, H, W] (or [1, H, W, 3]) of f32 as the network takes it:
(x - mean) * scale, x being 0 to 255. With --type u8 it holds what a camera would give instead, for
plans with --input-format (mean and scale are the plan's then). The same as sdk/examples/pictures do.

Needs NumPy; JPEG, PNG and the like need Pillow (python3-pil), PPM and PGM do not.
"""

import argparse
import pathlib
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("pictures_to_npy.py: error: NumPy is not installed (Debian: python3-numpy)")

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm", ".pgm")


def fail(message):
    sys.exit(f"pictures_to_npy.py: error: {message}")


def read_pnm(path):
    """PPM or PGM of 8 bits, as bytes [H, W, 3]; None: it is something else."""
    data = path.read_bytes()
    fields, at = [], 0
    while len(fields) < 4 and at < len(data):
        end = at
        while end < len(data) and not data[end:end + 1].isspace():
            end += 1
        if data[at:at + 1] == b"#":
            at = data.find(b"\n", at) + 1
            continue
        if end > at:
            fields.append(data[at:end])
        at = end + 1
    if len(fields) < 4 or fields[0] not in (b"P5", b"P6") or fields[3] != b"255":
        return None
    width, height = int(fields[1]), int(fields[2])
    channels = 3 if fields[0] == b"P6" else 1
    if len(data) - at < width * height * channels:
        fail(f"{path}: cut off")
    pixels = np.frombuffer(data, np.uint8, width * height * channels, at)
    return np.repeat(pixels.reshape(height, width, channels), 3 // channels, axis=2)


def read_picture(path):
    if path.suffix.lower() in (".ppm", ".pgm"):
        pixels = read_pnm(path)
        if pixels is not None:
            return pixels
    try:
        from PIL import Image
    except ImportError:
        fail(f"{path}: reading this needs Pillow (Debian: python3-pil)")
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except OSError as error:
        fail(f"{path}: {error}")


def resampling(size, to):
    """Matrix [to, size]: a triangle as wide as a pixel of the smaller of the two."""
    ratio = size / to
    radius = max(1.0, ratio)
    centers = (np.arange(to) + 0.5) * ratio
    distance = np.abs(np.arange(size)[None, :] + 0.5 - centers[:, None]) / radius
    weights = np.maximum(0.0, 1 - distance)
    return weights / weights.sum(axis=1, keepdims=True)


def resize(pixels, width, height):
    rows, columns = resampling(pixels.shape[0], height), resampling(pixels.shape[1], width)
    narrow = np.einsum("xk,ykc->yxc", columns, pixels.astype(np.float64))
    return np.einsum("yk,kxc->yxc", rows, narrow)


def numbers(text):
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in (1, 3):
        raise argparse.ArgumentTypeError(f"one number or three with commas between, not '{text}'")
    return values


def size(text):
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) > 0 and int(height) > 0):
        raise argparse.ArgumentTypeError(f"WIDTHxHEIGHT, not '{text}'")
    return int(width), int(height)


def prepare(pixels, options):
    values = resize(pixels, *options.size)
    if options.order == "bgr":
        values = values[:, :, ::-1]
    if options.type == "u8":
        values = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    else:
        values = ((values - np.array(options.mean)) * np.array(options.scale)).astype(np.float32)
    if options.layout == "nchw":
        values = values.transpose(2, 0, 1)
    return np.ascontiguousarray(values)[None]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=pathlib.Path, help="folder")
    parser.add_argument("out", type=pathlib.Path, help="folder, made if it is not there")
    parser.add_argument("--size", type=size, required=True, help="WIDTHxHEIGHT of the input")
    parser.add_argument("--mean", type=numbers, default=[0.0], help="M or M,M,M (0)")
    parser.add_argument("--scale", type=numbers, default=[1.0], help="S or S,S,S (1)")
    parser.add_argument("--order", choices=["rgb", "bgr"], default="rgb")
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nchw")
    parser.add_argument("--type", choices=["f32", "u8"], default="f32")
    options = parser.parse_args()
    if not options.pictures.is_dir():
        fail(f"{options.pictures}: no such folder")
    paths = sorted(p for p in options.pictures.iterdir() if p.suffix.lower() in ENDINGS)
    if not paths:
        fail(f"{options.pictures}: no picture ({', '.join(ENDINGS)})")
    options.out.mkdir(parents=True, exist_ok=True)
    for path in paths:
        np.save(options.out / (path.stem + ".npy"), prepare(read_picture(path), options))
    print(f"{options.out}: {len(paths)} arrays")


if __name__ == "__main__":
    main()
