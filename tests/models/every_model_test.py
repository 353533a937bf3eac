#!/usr/bin/env python3
"""Every network of the shared folder that has expected outputs, one by one, on every backend.

usage: every_model_test.py TENON SHARED

Each is converted as its meta.json says (shapes, frozen inputs, steps) and runs with all CPU kernels,
with the portable ones alone, and on OpenCL, where the CPU takes what that lacks. Floats are within
1e-5 + 1e-4 x the largest expected value, or the file's own `rtol`; TFLite's integers are equal bit
for bit; integers of ONNX are within a step of ONNX Runtime's, which computes with floats.

Two kinds of file have no stored outputs that are to be met so: ONNX's integers that come out as
floats (quantized_models_test knows their step), and TFLite's of which another engine made the
outputs (tflite_models_test has the reference kernels' bits). Of those the three runs are compared
with each other, bit for bit. Exit status 77, saying so, where the models are absent.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TENON, SHARED = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
RUNS = [("x86-64", []), ("x86-64", ["--portable"]), ("x86-64-opencl", [])]
# Files whose outputs are integers made floats.
STEPPED = ["model_qdq.onnx", "shufflenet_v2_qlinear_int8/model.onnx"]
# Files that compute what another one of their folder does, and have its arrays.
ARRAYS_OF = {"kwt1_float.tflite": "model", "kws_dynrange.tflite": "model_fp32"}
CAFFE_SHAPES = {"det1": "data=1x3x12x12", "det2": "data=1x3x24x24", "det3": "data=1x3x48x48",
                "RFB-320": "input=1x3x240x320"}


def tenon(*arguments):
    done = subprocess.run([TENON, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"tenon {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def arrays_of(file, side):
    stem = ARRAYS_OF.get(file.name, file.stem)
    for prefix in (f"{stem}.", ""):
        if file.with_name(f"{prefix}{side}_0.npy").exists():
            found = file.parent.glob(f"{prefix}{side}_[0-9].npy")
            return sorted(found)
    return []


def convert(file, meta, board, plan):
    options = []
    given = arrays_of(file, "input")
    kept = list(given)
    for entry, array in zip(meta.get("inputs", []), given):
        if entry[0] in meta.get("freeze", []):
            options += ["--freeze", f"{entry[0]}={array}"]
            kept.remove(array)
        elif file.suffix == ".onnx" or meta.get("reshape"):
            options += ["--shape", f"{entry[0]}={'x'.join(map(str, entry[1]))}"]
    if file.suffix == ".prototxt":
        options += ["--shape", CAFFE_SHAPES[file.stem]]
    tenon("convert", file, "-o", plan, "--board", board, *options, "-q")
    return kept, json.loads(tenon("inspect", plan, "--json"))


def tolerance(file, meta, ports):
    if ports[0]["dtype"] == "f32":
        return ["--rtol", meta.get("rtol", 1e-4), "--atol", 1e-5]
    return ["--rtol", 0, "--atol", 0 if file.suffix == ".tflite" else 1]


def expectations(ports, arrays):
    options = []
    for port, array in zip(ports, arrays):
        options += ["--expect", f"{port['name']}={array}"]
    return options


def has_other_outputs(file, meta, ports):
    if ports[0]["dtype"] == "f32":
        return any(str(file).endswith(name) for name in STEPPED)
    return meta.get("reference", "").startswith("Arm NN")


def with_shape(array, shape, scratch):
    """A copy of the array under another shape of as many digits: its channel is first or last."""
    data = array.read_bytes()
    begin = data.index(b"(", data.index(b"'shape'"))
    wanted = str(tuple(shape)).encode()
    copy = scratch / array.name
    copy.write_bytes(data[:begin] + wanted + data[begin + len(wanted):])
    return copy


def check(file, meta, scratch):
    first = None
    for i, (board, options) in enumerate(RUNS):
        plan, results = scratch / "plan.tenon", scratch / f"results{i}"
        results.mkdir()
        inputs, inspected = convert(file, meta, board, plan)
        ports = inspected["outputs"]
        expected = arrays_of(file, "output")
        if len(expected) != len(ports) or len(inputs) != len(inspected["inputs"]):
            raise RuntimeError(f"{file}: {len(inputs)} inputs and {len(expected)} outputs are stored")
        if file.name in ARRAYS_OF:
            inputs = [with_shape(array, port["shape"], scratch)
                      for array, port in zip(inputs, inspected["inputs"])]
        command = ["run", plan, "--output-dir", results, *options]
        for port, array in zip(inspected["inputs"], inputs):
            command += ["--input", f"{port['name']}={array}"]
        if "steps" in meta:
            command += ["--steps", meta["steps"]]
        if not has_other_outputs(file, meta, ports):
            tenon(*command, *expectations(ports, expected), *tolerance(file, meta, ports))
        elif first is None:
            tenon(*command)
            first = sorted(results.iterdir())
        else:
            tenon(*command, *expectations(ports, first), "--rtol", 0, "--atol", 0)


def main():
    files = []
    for folder in ("models", "field-models"):
        for kind in ("onnx", "tflite", "prototxt"):
            files += sorted((SHARED / folder).glob(f"*/*.{kind}"))
    if not files:
        print(f"skipped: no models in '{SHARED}'")
        return 77
    failed = 0
    for file in files:
        metas = json.loads((file.parent / "meta.json").read_text())
        name = file.name if file.name in metas else f"{file.stem}.caffemodel"
        with tempfile.TemporaryDirectory() as scratch:
            try:
                check(file, metas[name], pathlib.Path(scratch))
                print(f"{file.parent.name}/{file.name}: agrees in {len(RUNS)} runs", flush=True)
            except RuntimeError as error:
                failed += 1
                print(f"{file.parent.name}/{file.name}: {error}", flush=True)
    print(f"{len(files)} models, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
