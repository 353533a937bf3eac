#!/usr/bin/env python3
"""One measurement of one engine in a process of its own; compare_peers.py starts it.

usage: peer_workers.py ENGINE MODEL THREADS SECONDS
       peer_workers.py ENGINE MODEL outputs FOLDER
ENGINE: onnxruntime, onnxruntime_exact, openvino, mnn, ncnn or litert. The first form prints {"min": ms, "median": ms} as
JSON. The second runs the model once and writes its inputs (FOLDER/in.NAME.npy) and outputs
(FOLDER/out.INDEX.npy, in the model's order).
Inputs are the arrays of MODEL.npz by name, where that file is, else seeded noise of the model's own
dtypes and shapes; they are bound once, so that only the inference is timed. MNN may write over its
inputs, and is given them again before each run; ncnn is told inputs and outputs of each run.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy

# `run` computes; `inputs` are arrays by name; `outputs` returns the arrays of the last run.
Runner = collections.namedtuple("Runner", "run inputs outputs")


def values_of(path, name, shape, dtype):
    """What input `name` of the model is given."""
    if os.path.exists(path + ".npz"):
        with numpy.load(path + ".npz") as arrays:
            if name in arrays:
                return arrays[name].astype(dtype)
    random = numpy.random.default_rng(1)
    if numpy.issubdtype(dtype, numpy.floating):
        return random.random(shape).astype(dtype)
    info = numpy.iinfo(dtype)
    return random.integers(max(info.min, -128), min(info.max, 255), shape).astype(dtype)


def onnxruntime_runner(path, threads, settings=()):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    for key, value in settings:
        options.add_session_config_entry(key, value)
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    dtypes = {"tensor(float)": numpy.float32, "tensor(uint8)": numpy.uint8,
              "tensor(int8)": numpy.int8, "tensor(int32)": numpy.int32, "tensor(int64)": numpy.int64,
              "tensor(bool)": numpy.bool_}
    inputs = {}
    for port in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in port.shape]
        inputs[port.name] = values_of(path, port.name, shape, dtypes[port.type])
        binding.bind_cpu_input(port.name, inputs[port.name])
    for port in session.get_outputs():
        binding.bind_output(port.name)
    return Runner(lambda: session.run_with_iobinding(binding), inputs, binding.copy_outputs_to_cpu)


def onnxruntime_exact_runner(path, threads):
    """With products of bytes that do not saturate on processors without VNNI."""
    return onnxruntime_runner(path, threads, [("session.x64quantprecision", "1")])


def openvino_runner(path, threads):
    import openvino
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(path, "CPU", settings).create_infer_request()
    inputs = {}
    for port in request.model_inputs:
        shape = [d.get_length() if d.is_static else 1 for d in port.get_partial_shape()]
        name = port.get_any_name()
        inputs[name] = values_of(path, name, shape, port.get_element_type().to_dtype())
        request.set_tensor(port, openvino.Tensor(inputs[name]))
    return Runner(request.infer, inputs,
                  lambda: [request.get_tensor(port).data for port in request.model_outputs])


def mnn_model(path):
    """The model in MNN's format, in a file of this process's temporary folder."""
    import _tools  # of the package MNN: its command asks a server whether it is up to date
    made = os.path.join(tempfile.gettempdir(), f"peer_{os.getpid()}.mnn")
    kind = "TFLITE" if path.endswith(".tflite") else "ONNX"
    shown = os.dup(1)  # the converter writes to standard output
    os.dup2(2, 1)
    _tools.mnnconvert(["mnnconvert", "-f", kind, "--modelFile", path, "--MNNModel", made,
                       "--bizCode", "peer"])
    os.dup2(shown, 1)
    return made


def mnn_runner(path, threads):
    import MNN
    import onnx
    made = mnn_model(path)
    net = MNN.Interpreter(made)
    session = net.createSession({"numThread": threads, "backend": "CPU", "precision": "high"})
    os.remove(made)
    inputs, given = {}, []
    names = [port.name for port in onnx.load(path, load_external_data=False).graph.output]
    types = {numpy.float32: MNN.Halide_Type_Float, numpy.int32: MNN.Halide_Type_Int}
    for name, tensor in net.getSessionInputAll(session).items():
        dtype = numpy.float32 if tensor.getDataType() == MNN.Halide_Type_Float else numpy.int32
        array = values_of(path, name, tensor.getShape(), dtype)
        inputs[name] = array
        given.append((tensor, MNN.Tensor(tensor.getShape(), types[dtype], array,
                                         MNN.Tensor_DimensionType_Caffe)))

    def run():
        for tensor, host in given:
            tensor.copyFrom(host)
        net.runSession(session)

    def outputs():
        arrays = []
        for name in names:
            tensor = net.getSessionOutput(session, name)
            host = MNN.Tensor(tensor.getShape(), MNN.Halide_Type_Float,
                              numpy.zeros(tensor.getShape(), numpy.float32),
                              MNN.Tensor_DimensionType_Caffe)
            tensor.copyToHostTensor(host)
            arrays.append(numpy.array(host.getData(), numpy.float32).reshape(tensor.getShape()))
        return arrays

    return Runner(run, inputs, outputs)


def ncnn_runner(path, threads):
    """What the package pnnx makes of an ONNX model in ncnn's format, in floats of 32 bits, and leaves
    beside it."""
    import ncnn
    import onnx
    import pnnx
    graph = onnx.load(path, load_external_data=False).graph
    inputs = {}
    for port in graph.input:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        shape = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
        inputs[port.name] = values_of(path, port.name, shape, dtype)
    net = ncnn.Net()
    net.opt.num_threads = threads
    for name in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
        setattr(net.opt, "use_" + name, False)
    stem = path.removesuffix(".onnx")
    if not os.path.exists(stem + ".ncnn.bin"):
        command = [pnnx.EXEC_PATH, path, "fp16=0"]
        made = subprocess.run(command, cwd=os.path.dirname(path), check=False, capture_output=True)
        if not os.path.exists(stem + ".ncnn.bin"):
            raise RuntimeError(f"pnnx makes no model of it ({made.returncode})")
    net.load_param(stem + ".ncnn.param")
    net.load_model(stem + ".ncnn.bin")
    # A matrix of ncnn has no batch.
    given = [ncnn.Mat(a[0] if a.ndim > 1 and a.shape[0] == 1 else a) for a in inputs.values()]
    last = []

    def run():
        extractor = net.create_extractor()
        for i, mat in enumerate(given):
            extractor.input(f"in{i}", mat)
        last[:] = [extractor.extract(f"out{i}") for i in range(len(graph.output))]

    def outputs():
        if any(status != 0 for status, _ in last):
            raise RuntimeError("ncnn does not compute all outputs")
        return [numpy.array(mat) for _, mat in last]

    return Runner(run, inputs, outputs)


def litert_runner(path, threads):
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(path, num_threads=threads)  # with XNNPACK, its default delegate
    interpreter.allocate_tensors()
    # A signature, where there is one, says what its inputs are called; a plan has them by that name.
    signatures = list(interpreter._get_full_signature_list().values())
    names = {index: name for name, index in signatures[0]["inputs"].items()} if signatures else {}
    inputs = {}
    for port in interpreter.get_input_details():
        name = names.get(port["index"], port["name"])
        inputs[name] = values_of(path, name, port["shape"], port["dtype"])
        interpreter.set_tensor(port["index"], inputs[name])
    return Runner(interpreter.invoke, inputs,
                  lambda: [interpreter.get_tensor(port["index"])
                           for port in interpreter.get_output_details()])


RUNNERS = {"onnxruntime": onnxruntime_runner, "onnxruntime_exact": onnxruntime_exact_runner,
           "openvino": openvino_runner, "mnn": mnn_runner, "ncnn": ncnn_runner,
           "litert": litert_runner}


def write_outputs(engine, path, folder):
    runner = RUNNERS[engine](path, 1)
    for name, array in runner.inputs.items():
        numpy.save(os.path.join(folder, "in." + name.replace("/", "_") + ".npy"), array)
    with open(os.path.join(folder, "inputs.json"), "w", encoding="utf-8") as file:
        json.dump(list(runner.inputs), file)
    runner.run()
    for i, array in enumerate(runner.outputs()):
        numpy.save(os.path.join(folder, f"out.{i}.npy"), array)


def main():
    engine, path = sys.argv[1], sys.argv[2]
    if sys.argv[3] == "outputs":
        return write_outputs(engine, path, sys.argv[4])
    threads, seconds = int(sys.argv[3]), float(sys.argv[4])
    run = RUNNERS[engine](path, threads).run
    for _ in range(10):
        run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 30 or time.perf_counter() < end:
        start = time.perf_counter_ns()
        run()
        times.append((time.perf_counter_ns() - start) / 1e6)
    times.sort()
    print(json.dumps({"min": times[0], "median": times[len(times) // 2]}))


if __name__ == "__main__":
    main()
