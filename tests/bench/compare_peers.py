#!/usr/bin/env python3
"""Latency of Tenon beside other engines', model by model, in one run.

usage: compare_peers.py TENON MODELS [--set float|int8|tflite|nets] [--threads 1 2] [--rounds 5]
           [--seconds 0.5] [--only NAME] [--engines onnxruntime,openvino,mnn,ncnn,litert] [--cap avx2]

MODELS is the folder of a set's models, or one model file or several, separated by commas; the set `nets`,
which float_nets.py writes, needs none ("-"). Of STEM.onnx, the arrays STEM.input_0.npy and so on beside it are its
inputs, in its order, and give its unknown dimensions their values; without them these are 1.

TENON is the built command. The other engines come from PyPI (onnxruntime, openvino, MNN,
ncnn with pnnx, ai-edge-litert, and onnx) and belong to the benchmark's own environment; the product never
needs them. All take turns, a fresh process each, and the smallest and the median over all rounds
are printed, so that a noisy machine disturbs all alike. Before, each runs the same inputs once: an
engine whose outputs are not those of ONNX Runtime told to be exact (or LiteRT's) to 1e-3 of the
largest (2e-2 in the set int8) is named and counts as no peer; ONNX Runtime may then be exact. `less identity` takes the time of a model
that does nothing off each side: what is left of models so small that calling them rules.
--cap avx2: neither Tenon nor, where it heeds oneDNN's variable, OpenVINO uses AVX-512; the others have no such cap.
% of roofline: the time that the multiply-accumulates of convolutions and products take at --peak, or
the weights' bytes at --bandwidth, whichever is longer, over the time measured.
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile

FLOAT = [
    "mobilenet_v2_224/model_fp32.onnx", "squeezenet1.1/model_fp32.onnx",
    "googlenet_random/model.onnx", "resnet20_cifar10/model.onnx",
    "mlperf_resnet8_cifar10/model_fp32.onnx", "mlperf_kws_dscnn/model_fp32.onnx",
    "mlperf_ad01_autoencoder/model_fp32.onnx", "ultraface_rfb320/model.onnx",
    "ultraface_rfb320/model_simplified.onnx", "mnist_cnn/mnist.onnx",
    "super_resolution_espcn/model.onnx", "fastestdet_352/model.onnx",
    "kwt1_transformer/model.onnx",
]
INT8 = [
    "mobilenet_v2_224/model_qdq.onnx", "shufflenet_v2_qlinear_int8/model.onnx",
    "mlperf_resnet8_cifar10/model_qdq.onnx", "mlperf_kws_dscnn/model_qdq.onnx",
    "mlperf_ad01_autoencoder/model_qdq.onnx",
]
TFLITE = [
    "mobilenet_v2_224/model_ptq_uint8io.tflite", "mlperf_resnet8_cifar10/resnet8_int8.tflite",
    "mlperf_kws_dscnn/kws_int8.tflite", "mlperf_ad01_autoencoder/ad01_int8.tflite",
    "mlperf_resnet8_cifar10/resnet8_float.tflite", "mlperf_ad01_autoencoder/ad01_float.tflite",
    "kwt1_transformer/kwt1_float.tflite",
]
NETS = ["resnet50", "mobilenet1", "mobilenet1_half", "mobilenet3", "efficientnet_b0", "densenet121", "vit_tiny",
        "bert_tiny", "vgg16"]
FLOAT_ENGINES = ["onnxruntime", "openvino", "mnn", "ncnn"]
SETS = {"nets": (NETS, FLOAT_ENGINES), "float": (FLOAT, FLOAT_ENGINES), "int8": (INT8, ["onnxruntime", "openvino"]),
        "tflite": (TFLITE, ["litert"])}
# How far right outputs may be off, over their largest value: quantised ones by two steps of rounding.
MOST_OFF = {"nets": 1e-3, "float": 1e-3, "int8": 0.02, "tflite": 1e-3}
MODULES = {"onnxruntime": "onnxruntime", "openvino": "openvino", "mnn": "MNN", "ncnn": "pnnx",
           "litert": "ai_edge_litert"}
WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_workers.py")


def arrays_for(tenon, model, plan, folder):
    """Options that give Tenon the arrays beside the model, which peers find there themselves: what a
    run computes may depend on them."""
    import numpy
    if not os.path.exists(model + ".npz"):
        return []
    options, arrays = [], numpy.load(model + ".npz")
    for port in plan_ports(tenon, plan, "inputs"):
        if port["name"] in arrays:
            path = os.path.join(folder, f"in.{len(options)}.npy")
            numpy.save(path, arrays[port["name"]])
            options += ["--input", f"{port['name']}={path}"]
    return options


def run_tenon(tenon, plan, threads, seconds, guess_ms, arrays=()):
    # At least as many as peers: the smallest of more runs would be smaller.
    iterations = max(30, int(seconds * 1000 / max(guess_ms, 0.005)))
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([tenon, "bench", plan, "--threads", str(threads), "--iterations",
                        str(iterations), "--warmup", "10", "--json", out.name, *arrays],
                       check=True, capture_output=True)
        return json.load(open(out.name))["latency_ms"]


def run_peer(engine, model, threads, seconds):
    done = subprocess.run([sys.executable, WORKER, engine, model, str(threads), str(seconds)],
                          check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"<!-- {engine} does not run {model}: {done.stderr.strip()[-200:]} -->")
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def work_of(model):
    """Multiply-accumulates of an ONNX model's convolutions and products, and bytes of its weights."""
    import onnx
    inferred = onnx.shape_inference.infer_shapes(onnx.load(model))
    graph, dims = inferred.graph, {}
    for value in [*graph.value_info, *graph.input, *graph.output]:
        dims[value.name] = [max(d.dim_value, 1) for d in value.type.tensor_type.shape.dim]
    weights = {w.name: list(w.dims) for w in graph.initializer}
    dims.update(weights)
    macs = 0
    for node in graph.node:
        if node.op_type in ("Conv", "ConvInteger", "QLinearConv"):
            taken = dims.get(node.input[3 if node.op_type == "QLinearConv" else 1], [])
            per_output = elements(taken[1:])
        elif node.op_type in ("Gemm", "MatMul", "MatMulInteger", "QLinearMatMul"):
            x = dims.get(node.input[0], [])
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            per_output = x[0 if transposed else -1] if x else 0
        else:
            continue
        macs += per_output * elements(dims.get(node.output[0], [0]))
    sizes = {w.name: len(w.raw_data) for w in graph.initializer}
    return macs, sum(sizes.values())


def elements(dims):
    count = 1
    for dim in dims:
        count *= dim
    return count


def percent_of_roofline(args, model, threads, ms):
    if model.endswith(".tflite") or importlib.util.find_spec("onnx") is None:
        return ""
    macs, weight_bytes = work_of(model)
    least = max(macs / (args.peak * 1e6 * threads), weight_bytes / (args.bandwidth * 1e6))
    return f"{least / ms * 100:.0f}"


def outputs_of(folder):
    import numpy
    names = sorted((f for f in os.listdir(folder) if f.startswith("out.")),
                   key=lambda f: int(f.split(".")[1]))
    return [numpy.load(os.path.join(folder, name)).astype(numpy.float64) for name in names]


def tenon_outputs(tenon, plan, given, folder):
    """Runs a plan on the inputs that a peer wrote to `given`, and writes its outputs as peers do."""
    import numpy
    ports = [port["name"] for port in plan_ports(tenon, plan, "outputs")]
    command = [tenon, "run", plan, "--output-dir", folder]
    wanted = {port["name"] for port in plan_ports(tenon, plan, "inputs")}  # less frozen ones
    for name in wanted.intersection(json.load(open(os.path.join(given, "inputs.json"), encoding="utf-8"))):
        command += ["--input", f"{name}={given}/in.{name.replace('/', '_')}.npy"]
    subprocess.run(command, check=True, capture_output=True)
    for i, name in enumerate(ports):
        made = os.path.join(folder, name.replace("/", "_") + ".npy")
        numpy.save(os.path.join(folder, f"out.{i}.npy"), numpy.load(made))


def plan_ports(tenon, plan, which):
    shown = subprocess.run([tenon, "inspect", plan, "--json"], check=True, capture_output=True,
                           text=True)
    return json.loads(shown.stdout)[which]


def distance(got, wanted):
    """The largest difference of any output, over that output's largest value."""
    if len(got) != len(wanted) or any(a.size != b.size for a, b in zip(got, wanted)):
        return float("inf")
    return max((abs(a.reshape(-1) - b.reshape(-1)).max(initial=0) / max(abs(b).max(initial=0), 1e-6)
                for a, b in zip(got, wanted)), default=0)


def worker_outputs(engine, model, folder):
    """Runs a model once in an engine; returns its outputs, or None and says why."""
    os.mkdir(folder)
    done = subprocess.run([sys.executable, WORKER, engine, model, "outputs", folder], check=False,
                          capture_output=True, text=True)
    if done.returncode == 0:
        return outputs_of(folder)
    print(f"<!-- {engine} does not run {model}: {done.stderr.strip()[-200:]} -->")
    return None


def right_peers(args, engines, model, plan):
    """How to start the engines whose outputs are right, by name; says which are not, Tenon's among
    them. ONNX Runtime says what is right where it is told to be exact: else its products of bytes
    saturate on processors without VNNI."""
    reference = {"onnxruntime": "onnxruntime_exact"}.get(engines[0], engines[0])
    right = {}
    with tempfile.TemporaryDirectory() as folder:
        given = os.path.join(folder, "reference")
        wanted = worker_outputs(reference, model, given)
        if wanted is None:
            return right
        own = os.path.join(folder, "tenon")
        os.mkdir(own)
        tenon_outputs(args.tenon, plan, given, own)
        off = distance(outputs_of(own), wanted)
        if off > MOST_OFF[args.set]:
            print(f"<!-- NOT EQUAL: Tenon's outputs of {model} and {reference}'s ({off:.1%}) -->")
        for engine in engines:
            forms = [engine] + ["onnxruntime_exact"] * (engine == "onnxruntime")
            for form in forms:
                made = worker_outputs(form, model, os.path.join(folder, form))
                if made is None:
                    break
                off = distance(made, wanted)
                if off <= MOST_OFF[args.set]:
                    right[engine] = form
                    break
                print(f"<!-- {form}'s outputs of {model} are not {reference}'s ({off:.1%}): no peer -->")
    return right


def with_known_shapes(path, folder):
    """A copy of an ONNX model whose inputs all have known dimensions, with their arrays in COPY.npz
    where these lie beside the model. Peers leave what they make of a model beside the copy."""
    import numpy
    import onnx
    model = onnx.load(path)
    weights = {weight.name for weight in model.graph.initializer}
    ports = [port for port in model.graph.input if port.name not in weights]
    arrays = {}
    for i, port in enumerate(ports):
        beside = f"{path.removesuffix('.onnx')}.input_{i}.npy"
        if os.path.exists(beside):
            arrays[port.name] = numpy.load(beside)
    dims = {port.name: port.type.tensor_type.shape.dim for port in ports}
    known = all(dim.dim_value > 0 for of_port in dims.values() for dim in of_port)
    for name, of_port in dims.items():
        shape = arrays[name].shape if name in arrays else [1] * len(of_port)
        for dim, value in zip(of_port, shape):
            dim.dim_value = dim.dim_value if dim.dim_value > 0 else value
    del model.graph.input[:]  # of weights too, as old models list them: pnnx takes these for inputs
    model.graph.input.extend(ports)
    model.ir_version = max(model.ir_version, 4)
    if not known:
        del model.graph.value_info[:]  # of unknown dimensions
    copy = os.path.join(folder, path.strip("/").replace("/", "."))
    onnx.save(model, copy)
    if arrays:
        numpy.savez(copy + ".npz", **arrays)
    return copy


def model_path(args, name, folder):
    """The file of a model of the set, which a net's script writes."""
    if args.set != "nets":
        path = os.path.join(args.models, name)
        return with_known_shapes(path, folder) if path.endswith(".onnx") else path
    path = os.path.join(folder, name + ".onnx")
    script = os.path.join(os.path.dirname(WORKER), "float_nets.py")
    subprocess.run([sys.executable, script, name, path], check=True)
    return path


def convert(tenon, model, plan, options=()):
    """Writes the plan; returns False and says why where the model cannot be converted."""
    command = [tenon, "convert", model, "-o", plan, "--board", "x86-64", "-q", *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"<!-- not converted: {done.stderr.strip()} -->")
    return done.returncode == 0


class Comparison:
    def __init__(self, args):
        self.args = args

    def measure(self, model, plan, threads, engines, arrays=()):
        """Rounds of every engine, taking turns: {engine: (smallest, median)} in ms. `engines` says
        how each is started, `arrays` are options of Tenon's."""
        times = {engine: [] for engine in ["tenon", *engines]}
        guess = run_tenon(self.args.tenon, plan, threads, 0, 1.0, arrays)["min"]
        for _ in range(self.args.rounds):
            times["tenon"].append(
                run_tenon(self.args.tenon, plan, threads, self.args.seconds, guess, arrays))
            guess = times["tenon"][-1]["min"]
            for engine, form in engines.items():
                peer = run_peer(form, model, threads, self.args.seconds)
                if peer is not None:
                    times[engine].append(peer)
        return {engine: (min(t["min"] for t in list_), statistics.median(t["median"] for t in list_))
                for engine, list_ in times.items() if list_}


def identity_model(folder):
    """An ONNX model that copies 16 numbers; none without the onnx package."""
    if importlib.util.find_spec("onnx") is None:
        return None
    from onnx import TensorProto, helper, save
    port = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 16]) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "identity", port[:1],
                              port[1:])
    path = os.path.join(folder, "identity.onnx")
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("models")
    parser.add_argument("--set", choices=SETS, default="float")
    parser.add_argument("--engines", default="")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--only", default="")
    parser.add_argument("--cap", choices=["avx2"])
    parser.add_argument("--convert", action="append", default=[], metavar="=OPTION",
                        help="an option of `tenon convert`: --convert=--freeze=sr=RATE.npy")
    parser.add_argument("--peak", type=float, default=55.0,
                        help="10^9 multiply-accumulates a second of one thread")
    parser.add_argument("--bandwidth", type=float, default=20.0, help="GB/s from memory")
    args = parser.parse_args()
    if args.cap:
        os.environ.update(TENON_MAX_CPU_ISA=args.cap, ONEDNN_MAX_CPU_ISA=args.cap.upper())
    models, engines = SETS[args.set]
    if args.models.endswith((".onnx", ".tflite")):
        args.set = "tflite" if args.models.endswith(".tflite") else "float"
        models, args.models = args.models.split(","), ""
        engines = ["litert"] if models[0].endswith(".tflite") else FLOAT_ENGINES
    if args.engines:
        engines = args.engines.split(",")
    for engine in [e for e in engines if importlib.util.find_spec(MODULES[e]) is None]:
        print(f"{engine} is not installed: left out", file=sys.stderr)
        engines.remove(engine)
    comparison = Comparison(args)
    print("| model | threads | Tenon min / median ms | " +
          " | ".join(f"{e} min / median ms" for e in engines) +
          " | of the fastest (minima) | less identity | % of roofline |")
    print("|---" * (6 + len(engines)) + "|")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        idle = {}
        identity = identity_model(folder) if args.set != "tflite" else None
        if identity is not None:
            plan = os.path.join(folder, "identity.tenon")
            convert(args.tenon, identity, plan)
            known = {e: e for e in engines if e != "ncnn"}  # whose converter crashes on it
            idle = {threads: comparison.measure(identity, plan, threads, known)
                    for threads in args.threads}
        for name in [m for m in models if args.only in m]:
            model = model_path(args, name, folder)
            plan = os.path.join(folder, name.replace("/", ".") + ".tenon")
            if not convert(args.tenon, model, plan, args.convert):
                continue
            right = right_peers(args, engines, model, plan)
            arrays = arrays_for(args.tenon, model, plan, folder)
            for threads in args.threads:
                times = comparison.measure(model, plan, threads, right, arrays)
                own = times["tenon"][0]
                peers = {e: t for e, t in times.items() if e != "tenon"}
                fastest = min((t[0] for t in peers.values()), default=float("nan"))
                less = ""
                if threads in idle and peers:
                    spent = idle[threads]
                    rest = min(t[0] - spent.get(e, [0])[0] for e, t in peers.items())
                    less = f"{(own - spent['tenon'][0]) / rest:.2f}"
                ratios += [own / fastest] * bool(peers)
                percent = percent_of_roofline(args, model, threads, own)
                cells = " | ".join(f"{peers[e][0]:.3f} / {peers[e][1]:.3f}" if e in peers else "-"
                                   for e in engines)
                print(f"| {name} | {threads} | {own:.3f} / {times['tenon'][1]:.3f} | {cells} |"
                      f" {own / fastest:.2f} | {less} | {percent} |", flush=True)
    if ratios:
        print(f"\ngeometric mean of the ratios of minima: {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
