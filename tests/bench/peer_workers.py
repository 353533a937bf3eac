#!/usr/bin/env python3
"""One measurement of one engine in a process of its own; compare_peers.py starts it.

usage: peer_workers.py ENGINE MODEL THREADS SECONDS
ENGINE: onnxruntime, openvino or litert. Prints {"min": ms, "median": ms} as JSON.
Inputs are seeded noise of the model's own dtypes and shapes; they are bound once, so that only the
inference is timed.
"""
import json
import sys
import time

import numpy


def noise(shape, dtype):
    random = numpy.random.default_rng(1)
    if numpy.issubdtype(dtype, numpy.floating):
        return random.random(shape).astype(dtype)
    info = numpy.iinfo(dtype)
    return random.integers(max(info.min, -128), min(info.max, 255), shape).astype(dtype)


def onnxruntime_runner(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    dtypes = {"tensor(float)": numpy.float32, "tensor(uint8)": numpy.uint8,
              "tensor(int8)": numpy.int8, "tensor(int64)": numpy.int64, "tensor(bool)": numpy.bool_}
    for port in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in port.shape]
        binding.bind_cpu_input(port.name, noise(shape, dtypes[port.type]))
    for port in session.get_outputs():
        binding.bind_output(port.name)
    return lambda: session.run_with_iobinding(binding)


def openvino_runner(path, threads):
    import openvino
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(path, "CPU", settings).create_infer_request()
    for port in request.model_inputs:
        shape = [d.get_length() if d.is_static else 1 for d in port.get_partial_shape()]
        dtype = port.get_element_type().to_dtype()
        request.set_tensor(port, openvino.Tensor(noise(shape, dtype)))
    return request.infer


def litert_runner(path, threads):
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(path, num_threads=threads)  # with XNNPACK, its default delegate
    interpreter.allocate_tensors()
    for port in interpreter.get_input_details():
        interpreter.set_tensor(port["index"], noise(port["shape"], port["dtype"]))
    return interpreter.invoke


RUNNERS = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner,
           "litert": litert_runner}


def main():
    engine, path, threads, seconds = (sys.argv[1], sys.argv[2], int(sys.argv[3]),
                                      float(sys.argv[4]))
    run = RUNNERS[engine](path, threads)
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
