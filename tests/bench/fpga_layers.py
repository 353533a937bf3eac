#!/usr/bin/env python3
"""Predicted cycles and use of the accelerator's array, layer by layer.

  fpga_layers.py TENON MODEL... [--board kv260] [--total]

--total prints one line for each model. Models are files, or names of tests/bench/int8_nets.py.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import int8_nets  # noqa: E402

ARRAY = 2048  # multiply-accumulates in a cycle


def convert(tenon, model, board, folder):
    path = pathlib.Path(model)
    if not path.exists():
        path = folder / "net.onnx"
        path.write_bytes(int8_nets.NETS.get(model, lambda: int8_nets.single(model))())
    report = folder / "report.json"
    subprocess.run([tenon, "convert", path, "-o", folder / "net.tenon", "--board", board, "-q", "--json", report],
                   check=True)
    return json.loads(report.read_text())["accelerator"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--board", default="kv260")
    parser.add_argument("--total", action="store_true")
    options = parser.parse_args()
    if options.total:
        print("| model | segments | layers | kilocycles | use, % | code, bytes | weights, bytes | ops elsewhere |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            result = convert(options.tenon, model, options.board, pathlib.Path(folder))
        segments = result["segments"]
        layers = [layer for segment in segments for layer in segment["layers"]]
        cycles = sum(segment["cycles"] for segment in segments)
        work = sum(layer["multiply_accumulates"] for layer in layers)
        use = 100 * work / (cycles * ARRAY) if cycles else 0
        if options.total:
            code, weights = (sum(segment[key] for segment in segments) for key in ("code_bytes", "constants_bytes"))
            print(f"| {pathlib.Path(model).stem} | {len(segments)} | {len(layers)} | {cycles / 1e3:.1f} | {use:.1f} "
                  f"| {code:,} | {weights:,} | {len(result['not'])} |")
            continue
        print(f"{model}: {cycles} cycles, use {use:.1f} %")
        for layer in layers:
            of_layer = 100 * layer["multiply_accumulates"] / (max(layer["cycles"], 1) * ARRAY)
            print(f"  {layer['op']:40} {layer['cycles']:9} cycles  use {of_layer:5.1f} %  most: {layer['waits_for']}")
        for op in result["not"]:
            print(f"  elsewhere: {op['op']}: {op['reason']}")


if __name__ == "__main__":
    main()
