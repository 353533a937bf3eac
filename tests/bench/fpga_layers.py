#!/usr/bin/env python3
"""Predicted cycles and use of the accelerator's array, layer by layer.

  fpga_layers.py TENON MODEL... [--board kv260] [--total] [--measured]

--total prints one line for each model. --measured runs the plan on the board that XILINX_XRT names, which must be
the simulated one, and prints a table of what each layer waited for by the accelerator's own counters; with --total
what all starts took beside what was predicted.
Models are files, or names of tests/bench/int8_nets.py.
"""
import argparse
import json
import os
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


def measure(tenon, folder):
    """For every start what each layer's counters grew by."""
    counts = folder / "layers.json"
    subprocess.run([tenon, "run", folder / "net.tenon", "--zeros", "--top", "0", "--device-timeout", "3600"],
                   check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "TENON_FPGA_SIM_LAYERS": str(counts), "TENON_FPGA_TIMEOUT_S": "3600"})
    return [json.loads(line) for line in counts.read_text().splitlines()]


def print_total(model, segments, starts):
    predicted = sum(segment["cycles"] for segment in segments)
    measured = sum(layer[0] for start in starts for layer in start)
    work = sum(layer["multiply_accumulates"] for segment in segments for layer in segment["layers"])
    print(f"| {pathlib.Path(model).stem} | {len(starts)} | {measured:,} | {predicted:,} "
          f"| {100 * (predicted / measured - 1):+.1f} % | {100 * work / (measured * ARRAY):.1f} % |", flush=True)


def print_measured(model, segments, starts):
    if len(segments) != len(starts):
        sys.exit(f"{model}: {len(segments)} segments, but {len(starts)} starts")
    print("| layer | predicted | cycles | array active | reads | writes | descriptors | use |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for segment, counts in zip(segments, starts):
        layers = segment["layers"]
        if len(layers) != len(counts):
            sys.exit(f"{model}: {len(layers)} layers, but the counters tell {len(counts)} apart")
        for layer, (cycles, active, reads, writes, descriptors) in zip(layers, counts):
            share = [f"{100 * part / cycles:.0f} %" for part in (active, reads, writes, descriptors)]
            use = 100 * layer["multiply_accumulates"] / (cycles * ARRAY)
            print(f"| {layer['op']} | {layer['cycles']:,} | {cycles:,} | {' | '.join(share)} | {use:.1f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--board", default="kv260")
    parser.add_argument("--total", action="store_true")
    parser.add_argument("--measured", action="store_true")
    options = parser.parse_args()
    if options.total and options.measured:
        print("| model | starts | cycles | predicted | off by | use |")
        print("| --- | --- | --- | --- | --- | --- |")
    elif options.total:
        print("| model | segments | layers | kilocycles | use, % | code, bytes | weights, bytes | ops elsewhere |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            result = convert(options.tenon, model, options.board, pathlib.Path(folder))
            starts = measure(options.tenon, pathlib.Path(folder)) if options.measured else []
        if options.measured:
            segments = [segment for segment in result["segments"] if segment["program"] == "sequential"]
            (print_total if options.total else print_measured)(model, segments, starts)
            continue
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
