"""A model of over 100 MB converts, its weights inline or beside it, within four times its size of memory."""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

TENON = os.path.abspath(sys.argv[1])
WIDTH = 4000
LAYERS = 2
MOST_TIMES_MODEL = 4


class BigModelTest(unittest.TestCase):
    def convert(self, external):
        random.seed(1)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            nodes, weights, model_bytes = [], [], 0
            for i in range(LAYERS):
                # Small numbers of every sign: bytes of floats between 2^-15 and 2^-14.
                raw = bytearray(random.randbytes(4 * WIDTH * WIDTH))
                raw[3::4] = b"\x38" * (WIDTH * WIDTH)
                model_bytes += len(raw)
                nodes.append(onnx.node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]))
                if external:
                    (folder / f"w{i}.bin").write_bytes(raw)
                    weights.append(onnx.external_tensor(f"w{i}", [WIDTH, WIDTH], f"w{i}.bin"))
                else:
                    weights.append(onnx.tensor(f"w{i}", [WIDTH, WIDTH], bytes(raw)))
            (folder / "model.onnx").write_bytes(onnx.model(
                nodes, [onnx.value("x0", [1, WIDTH])], [onnx.value(f"x{LAYERS}", [1, WIDTH])], weights))
            self.assertGreater(model_bytes, 100 << 20)
            start = time.monotonic()
            process = subprocess.Popen(
                [TENON, "convert", "model.onnx", "-o", "model.tenon", "--board", "x86-64", "-q"], cwd=folder)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - start
            times = usage.ru_maxrss * 1024 / model_bytes
            print(f"{'external' if external else 'inline'}: {model_bytes >> 20} MB in {seconds:.2f} s, "
                  f"peak memory {times:.2f} times the weights")
            self.assertEqual(process.returncode, 0)
            self.assertLess(times, MOST_TIMES_MODEL)

    def test_weights_inline(self):
        self.convert(external=False)

    def test_weights_in_files_beside_it(self):
        self.convert(external=True)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
