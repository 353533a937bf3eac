"""Variants of kernels, from `tenon profile` on a device to the plan, as a user meets them.

usage: tuning_test.py TENON
"""
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import onnx_writer as onnx

TENON = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tenon"
BOARD = "x86-64-opencl"


def two_convolutions():
    """10 channels become 20, and those one."""
    chance = random.Random(1)

    def weights(name, *dims):
        values = [chance.uniform(-1, 1) for _ in range(math.prod(dims))]
        return onnx.tensor(name, dims, values)

    nodes = [onnx.node("Conv", ["x", "v"], ["t"]), onnx.node("Conv", ["t", "w"], ["y"])]
    return onnx.model(nodes, [onnx.value("x", [1, 10, 48, 48])],
                      [onnx.value("y", [1, 1, 48, 48])],
                      [weights("v", 20, 10, 1, 1), weights("w", 1, 20, 1, 1)])


def key_of(signature):
    """What a row of the tuning calls the op: without kernel, places in memory and threads."""
    kind, _, rest = signature.split(" ", 2)
    return kind + " " + re.sub(r":[a-z-]+", "", rest).rpartition(" threads=")[0]


class TuningTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.holder.name)
        (cls.folder / "model.onnx").write_bytes(two_convolutions())
        cls.tenon("profile", "--board", BOARD, "--model", "model.onnx", "--sweep", "off",
                  "--iterations", "3", "-o", "p.json")
        cls.profile = json.loads((cls.folder / "p.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def tenon(cls, *arguments):
        result = subprocess.run([TENON, *arguments], cwd=cls.folder, capture_output=True,
                                text=True, timeout=300)
        if result.returncode != 0:
            raise AssertionError(f"{arguments}: {result.stderr}")
        return result.stdout

    def kernels(self, *options):
        """Of a conversion to the device: by op, the kernel that the plan names."""
        self.tenon("convert", "model.onnx", "-o", "p.tenon", "--board", BOARD, "--map", "*=opencl",
                   *options)
        plan = json.loads(self.tenon("inspect", "p.tenon", "--json"))
        return {op["name"]: op["kernel"] for op in plan["ops"]}

    def with_tuning(self, rows):
        profile = dict(self.profile, tuning=rows)
        (self.folder / "given.json").write_text(json.dumps(profile))
        return self.kernels("--profile", "given.json")

    def convolutions(self):
        return [entry for entry in self.profile["entries"]
                if entry["kernel"].startswith("opencl.conv.")]

    def test_signatures_and_rows_are_of_kernels_without_variants(self):
        self.assertEqual(len(self.convolutions()), 2)
        keys = {key_of(entry["signature"]) for entry in self.profile["entries"]}
        for row in self.profile.get("tuning", []):
            self.assertIn(row["op"], keys)
            self.assertEqual(row["unit"], "opencl")
            self.assertNotIn(":", row["kernel"])
            self.assertLess(row["ms"], 0.97 * row["default_ms"])

    def test_the_variants_of_a_profile_are_what_the_plan_names(self):
        named = sorted(kernel for kernel in self.kernels("--profile", "p.json").values()
                       if ":" in kernel)
        rows = sorted(f"{row['kernel']}:{row['variant']}"
                      for row in self.profile.get("tuning", []))
        self.assertEqual(named, rows)
        self.assertFalse(any(":" in kernel for kernel in self.kernels().values()))

    def test_each_op_has_its_own_variant_and_the_plan_runs(self):
        rows = [{"op": key_of(entry["signature"]), "unit": "opencl", "kernel": entry["kernel"],
                 "variant": variant, "ms": 1.0, "default_ms": 2.0}
                for entry, variant in zip(self.convolutions(), ("7x24", "4x8"))]
        kernels = self.with_tuning(rows)
        self.assertEqual({kernel for kernel in kernels.values() if ":" in kernel},
                         {f"{row['kernel']}:{row['variant']}" for row in rows})
        per_op = self.tenon("bench", "p.tenon", "--iterations", "2", "--per-op")
        for row in rows:
            self.assertIn(f"{row['kernel']}:{row['variant']}", per_op)
        self.assertNotIn("another kernel than planned", per_op)

    def test_rows_of_other_ops_units_kernels_and_variants_change_nothing(self):
        entry = self.convolutions()[0]
        right = {"op": key_of(entry["signature"]), "unit": "opencl", "kernel": entry["kernel"],
                 "variant": "4x8", "ms": 1.0, "default_ms": 2.0}
        for wrong in ({"op": right["op"].replace("48", "47")}, {"unit": "cpu"},
                      {"kernel": "opencl.conv.none"}, {"variant": "fast"}):
            kernels = self.with_tuning([dict(right, **wrong)])
            self.assertFalse(any(":" in kernel for kernel in kernels.values()), wrong)

    def test_without_tuning_no_variant_is_tried(self):
        self.tenon("profile", "--board", BOARD, "--model", "model.onnx", "--sweep", "off",
                   "--iterations", "1", "--tuning", "off", "-o", "off.json")
        self.assertNotIn("tuning", json.loads((self.folder / "off.json").read_text()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
