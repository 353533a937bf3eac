#!/usr/bin/env python3
"""What is in a picture: from a model file to names, in one page.

    python3 python/examples/classify_picture.py mobilenet_v2.onnx cat.jpg --mean 127 --scale 0.00784

Needs NumPy; JPEG, PNG and the like need Pillow (python3-pil), PPM and PGM do not. `--names` is a text file with a
name a line.
"""
import argparse
import pathlib
import sys
import tempfile

import numpy
import tenon

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from pictures_to_npy import numbers, prepare, read_picture


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("picture", type=pathlib.Path)
    parser.add_argument("--mean", type=numbers, default=[0.0], help="M or M,M,M of what 0 to 255 lies around (0)")
    parser.add_argument("--scale", type=numbers, default=[1.0], help="S or S,S,S by which it is multiplied then (1)")
    parser.add_argument("--order", choices=["rgb", "bgr"], default="rgb")
    parser.add_argument("--board", default="x86-64")
    parser.add_argument("--names", type=pathlib.Path)
    options = parser.parse_args()

    # 1. The model becomes a plan: one file that holds every decision and all constants.
    folder = tempfile.TemporaryDirectory()
    plan_file = pathlib.Path(folder.name) / "classifier.tenon"
    decisions = tenon.convert(options.model, plan_file, board=options.board, batch=1)
    print(f"predicted {decisions['predicted']['latency_ms']:.3g} ms for a picture")
    plan = tenon.Plan(plan_file)
    port = plan.inputs[0]

    # 2. The picture becomes what the network was trained with.
    height, width = port.shape[2:]
    options.size, options.layout, options.type = (width, height), "nchw", "f32"
    image = prepare(read_picture(options.picture), options)

    # 3. One inference; outputs are NumPy arrays by name.
    (scores,) = tenon.Session(plan).run({port.name: image}).values()
    names = options.names.read_text().splitlines() if options.names else None
    for place in numpy.argsort(scores.ravel())[:-6:-1]:
        print(f"{names[place] if names else f'class {place}'}: {scores.ravel()[place]:.3f}")


if __name__ == "__main__":
    main()
