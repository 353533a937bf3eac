"""Int8 models on the simulated board: the command, XRT and the accelerator's RTL, bit by bit against the
portable kernels; one start for each segment.

usage: fpga_board_test.py TENON BINARY_DIR [sweep]
The models are those of the folder that TENON_SHARED names, else of `../shared` beside the source tree;
skipped where there is none.
"""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

TENON = os.path.abspath(sys.argv[1])
BOARD = pathlib.Path(sys.argv[2]).resolve() / "fpga-sim"
SHARED = pathlib.Path(os.environ.get("TENON_SHARED")
                      or pathlib.Path(__file__).resolve().parents[3] / "shared")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/bench"))
import int8_nets  # noqa: E402

UUID_OFFSET = 304 + 112  # of m_header in struct axlf, of uuid in struct axlf_header: XRT's xclbin.h
# By model and options of its conversion: starts.
MODELS = {
    "models/mlperf_ad01_autoencoder/ad01_int8.tflite": 1,
    "models/mlperf_kws_dscnn/kws_int8.tflite": 1,
    "field-models/mlperf_vww/vww_96_int8.tflite": 1,
    "field-models/mlperf_sww/strm_ww_int8.tflite": 1,
    "models/mobilenet_v2_224/model_ptq_uint8io.tflite": 1,
    "models/mlperf_resnet8_cifar10/resnet8_int8.tflite --batch 4": 1,
}
SWEEP = {
    "models/mlperf_resnet8_cifar10/resnet8_int8.tflite": 1,
    "field-models/msf_mcunetv2_vww_80/model_gap_qdq.onnx": 1,
    "field-models/msf_mbv2_w035_144/model_gap_qdq.onnx": 1,
    "models/shufflenet_v2_qlinear_int8/model.onnx": 20,
}
if "sweep" in sys.argv[3:]:
    MODELS = SWEEP
TYPES = {"i8": "|i1", "u8": "|u1", "f32": "<f4"}


def values(source, dtype, count):
    if dtype != "f32":
        return source.randbytes(count)
    return struct.pack(f"<{count}f", *(source.uniform(-1, 1) for _ in range(count)))


def write_npy(path, dtype, shape, data):
    header = f"{{'descr': '{TYPES[dtype]}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * ((-(len(header) + 11)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


@unittest.skipUnless((SHARED / "models").is_dir(), "no folder of models: set TENON_SHARED")
class FpgaBoardTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tenon(self, status, *arguments, **environment):
        result = subprocess.run([TENON, *map(str, arguments)], capture_output=True, text=True,
                                timeout=300, env={**os.environ, **environment})
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout

    def convert(self, model, board):
        plan = self.folder / f"{board}.tenon"
        file, *options = str(model).split()
        self.tenon(0, "convert", SHARED / file, *options, "-o", plan, "--board", board, "-q",
                   "--json", self.report(board))
        return plan

    def report(self, board):
        return self.folder / f"{board}.json"

    def inputs(self, plan, seed):
        found = json.loads(self.tenon(0, "inspect", plan, "--json"))
        arguments = []
        for port in found["inputs"]:
            count = 1
            for dim in port["shape"]:
                count *= dim
            path = self.folder / f"{seed}_{len(arguments)}.npy"
            write_npy(path, port["dtype"], port["shape"], values(random.Random(seed), port["dtype"], count))
            arguments += ["--input", f"{port['name']}={path}"]
        return found, arguments

    def expectations(self, plan, inputs):
        outputs = self.folder / "expected"
        self.tenon(0, "run", plan, "--portable", "--output-dir", outputs, *inputs)
        arguments = ["--atol", "0", "--rtol", "0"]
        for path in outputs.glob("*.npy"):
            arguments += ["--expect", f"{path.stem}={path}"]
        return arguments

    def test_diff_sees_every_op_where_each_is_a_segment_of_its_own(self):
        if "sweep" in sys.argv[3:]:
            self.skipTest("one model is enough")
        model = "models/mlperf_kws_dscnn/kws_int8.tflite"
        plan = self.convert(model + " --aggregate=off", "x86-64-fpga")
        found, report = json.loads(self.tenon(0, "inspect", plan, "--json")), self.folder / "diff.json"
        board = {"XILINX_XRT": str(BOARD)}
        self.tenon(0, "diff", plan, SHARED / model, "--json", report, **board)
        compared = json.loads(report.read_text())
        on_fpga = {op["name"]: op for op in found["ops"] if op["backend"] == "fpga"}
        seen = {tensor["op"] for tensor in compared["tensors"]}
        self.assertIsNone(compared["first"])
        self.assertGreaterEqual(len(seen & on_fpga.keys()), len(on_fpga) - 1)
        spare = self.convert(model + " --fallback", "x86-64-fpga")
        self.tenon(0, "diff", spare, "--json", report, **board)  # alone: beside the CPU's kernels
        self.assertIsNone(json.loads(report.read_text())["first"])
        plan = self.convert(model + " --aggregate=off", "x86-64-fpga")
        name = sorted(seen & on_fpga.keys())[len(on_fpga) // 2]
        [tensor] = [t for t in found["tensors"] if t["name"] == on_fpga[name]["outputs"][0]]
        wrong = self.folder / "wrong.npy"
        write_npy(wrong, tensor["dtype"], tensor["shape"], b"\1" * tensor["bytes"])
        self.tenon(1, "diff", plan, "--expect", f"{tensor['name']}={wrong}", "--json", report, **board)
        self.assertEqual(json.loads(report.read_text())["first"], name)

    def test_models_are_bit_exact_with_one_start_for_each_segment(self):
        counters = self.folder / "counters.json"
        board = {"XILINX_XRT": str(BOARD), "TENON_FPGA_SIM_COUNTERS": str(counters)}
        for model, segments in MODELS.items():
            with self.subTest(model=model):
                plan = self.convert(model, "x86-64-fpga")
                found, inputs = self.inputs(plan, seed=1)
                expected = self.expectations(self.convert(model, "x86-64"), inputs)
                self.tenon(0, "run", plan, *inputs, *expected, **board)
                counts = json.loads(counters.read_text())
                self.assertEqual(counts["starts"], segments)
                # Both are exact figures of the same plan: the simulated board repeats its clocks.
                report = json.loads(self.report("x86-64-fpga").read_text())
                predicted = sum(segment["cycles"] for segment in report["accelerator"]["segments"])
                self.assertLess(abs(predicted / counts["clocks"] - 1), 0.1, (predicted, counts["clocks"]))
                on_fpga = [segment for segment in found["segments"] if segment["backend"] == "fpga"]
                self.assertEqual(len(on_fpga), segments)
                # The comparison would see a difference: other inputs, other outputs.
                _, others = self.inputs(plan, seed=2)
                self.tenon(1, "run", plan, *others, *expected, **board)
                for path in (self.folder / "expected").glob("*.npy"):
                    path.unlink()

    def test_first_layers_of_any_kernel_stride_and_width_are_bit_exact(self):
        # What reads an image sees two words a clock, in which not every pair of windows lies.
        for kernel, stride, pad, extent in [(7, 3, 3, 58), (8, 4, 1, 60), (8, 2, 3, 41), (9, 3, 4, 60), (7, 2, 3, 55),
                                            (8, 2, 3, 44), (5, 4, 2, 63), (3, 3, 1, 36)]:
            with self.subTest(kernel=kernel, stride=stride, pad=pad, extent=extent):
                net = int8_nets.Network()
                model = self.folder / "first.onnx"
                model.write_bytes(net.model(net.conv(net.input(3, extent, extent), 8, kernel, stride, pad=pad)))
                plan = self.convert(model, "x86-64-fpga")
                found, inputs = self.inputs(plan, seed=1)
                self.assertIn("fpga", {segment["backend"] for segment in found["segments"]})
                expected = self.expectations(self.convert(model, "x86-64"), inputs)
                self.tenon(0, "run", plan, *inputs, *expected, XILINX_XRT=str(BOARD))

    def test_the_board_tells_what_each_layer_waits_for(self):
        model = SHARED / "field-models/mlperf_sww/strm_ww_int8.tflite"
        plan, report, layers = (self.folder / name for name in ("sww.tenon", "sww.json", "layers.json"))
        self.tenon(0, "convert", model, "-o", plan, "--board", "x86-64-fpga", "-q", "--json", report)
        counters = self.folder / "counters.json"
        self.tenon(0, "run", plan, "--zeros", XILINX_XRT=str(BOARD), TENON_FPGA_SIM_LAYERS=str(layers),
                   TENON_FPGA_SIM_COUNTERS=str(counters))
        predicted = json.loads(report.read_text())["accelerator"]["segments"][0]["layers"]
        [measured] = [json.loads(line) for line in layers.read_text().splitlines()]
        self.assertEqual(len(measured), len(predicted))
        for cycles, active, reads, writes, descriptors in measured:
            self.assertGreater(cycles, 0)
            self.assertLessEqual(max(active, reads, writes, descriptors), cycles)
        self.assertGreater(sum(layer[1] for layer in measured), 0)
        self.assertLessEqual(sum(layer[0] for layer in measured), json.loads(counters.read_text())["clocks"])

    def board_of_image(self, name, image):
        board = json.loads((SOURCE / "sdk/boards/x86-64-fpga.json").read_text())
        board["name"] = name
        for unit in board["units"]:
            if "accelerator" in unit:
                unit["accelerator"]["image_uuid"] = image
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(board))
        return path

    def test_a_plan_for_one_image_refuses_another(self):
        model = SHARED / "field-models/mlperf_sww/strm_ww_int8.tflite"
        plan = self.folder / "image.tenon"
        image = (BOARD / "share/tenon/accelerator.xclbin").read_bytes()[UUID_OFFSET:UUID_OFFSET + 16]
        self.tenon(0, "convert", model, "-o", plan, "--board", self.board_of_image("right", image.hex()), "-q")
        self.tenon(0, "run", plan, "--zeros", XILINX_XRT=str(BOARD))
        wrong = bytes([image[0] ^ 1]) + image[1:]
        self.tenon(0, "convert", model, "-o", plan, "--board", self.board_of_image("wrong", wrong.hex()), "-q")
        result = subprocess.run([TENON, "run", str(plan), "--zeros"], capture_output=True, text=True, timeout=300,
                                env={**os.environ, "XILINX_XRT": str(BOARD)})
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn(f"uuid {wrong.hex()}, not {image.hex()}", result.stderr)

    def test_a_plan_for_the_kv260_runs_here_with_the_cpu_kernels_of_any_processor(self):
        model = "field-models/mlperf_sww/strm_ww_int8.tflite"
        plan = self.convert(model, "kv260")
        found, inputs = self.inputs(plan, seed=1)
        backends = {segment["backend"] for segment in found["segments"]}
        self.assertEqual(backends, {"cpu", "fpga"})
        expected = self.expectations(self.convert(model, "x86-64"), inputs)
        self.tenon(0, "run", plan, *inputs, *expected, XILINX_XRT=str(BOARD))
        # Without the board there is no such plan to run, and the error says what is missing.
        environment = {"XILINX_XRT": "", "TENON_FPGA_XCLBIN": ""}
        result = subprocess.run([TENON, "run", str(plan), *map(str, inputs)], capture_output=True, text=True,
                                timeout=300, env={**os.environ, **environment})
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("TENON_FPGA_XCLBIN", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
