#!/usr/bin/env python3
"""What packaging/ runs on clusters does its work: the scripts alone, without the clusters.

usage: packaging_test.py SOURCE_DIR TENON
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
TENON = pathlib.Path(sys.argv[2]).resolve()
PACKAGING = SOURCE / "packaging"


def kubernetes_script():
    text = (PACKAGING / "kubernetes/convert.yaml").read_text()
    return textwrap.dedent(re.search(r"- \|\n((?: {14}.*\n)+)", text)[1])


class ConversionsAtOnce(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/tenon").symlink_to(TENON)
        for name in ("a.onnx", "b.onnx"):
            shutil.copy(SOURCE / "sdk/models/digits/digits.onnx", self.folder / name)
        (self.folder / "models.txt").write_text("a.onnx\nb.onnx\n")
        shutil.copy(SOURCE / "sdk/boards/cortex-m7.json", self.folder / "mine.json")
        (self.folder / "boards.txt").write_text("x86-64\nmine.json\n")

    def run_tasks(self, command, variable):
        for task in range(4):
            environment = {**os.environ, variable: str(task), "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
            result = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
        names = sorted(path.name for path in (self.folder / "plans").glob("*.tenon"))
        self.assertEqual(names, ["a.onnx.mine.tenon", "a.onnx.x86-64.tenon", "b.onnx.mine.tenon", "b.onnx.x86-64.tenon"])
        plans = {name: (self.folder / "plans" / name).read_bytes() for name in names}
        self.assertEqual(plans["a.onnx.x86-64.tenon"], plans["b.onnx.x86-64.tenon"])
        self.assertTrue((self.folder / "plans/a.onnx.mine.json").is_file())

    def test_the_tasks_of_a_slurm_array_convert_every_model_for_every_board(self):
        self.run_tasks(["sh", str(PACKAGING / "slurm/convert.sbatch")], "SLURM_ARRAY_TASK_ID")

    def test_the_pods_of_a_kubernetes_job_convert_every_model_for_every_board(self):
        self.run_tasks(["sh", "-euc", kubernetes_script()], "JOB_COMPLETION_INDEX")

    def test_the_lines_of_the_page_for_one_machine_do_it_too(self):
        (self.folder / "boards.txt").write_text("x86-64\ncortex-m7\n")
        page = (SOURCE / "docs/many-conversions.md").read_text()
        script = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        result = subprocess.run(["sh", "-euc", script], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        names = sorted(path.name for path in (self.folder / "plans").iterdir())
        self.assertEqual(names, [f"{model}.onnx.{board}.tenon" for model in "ab" for board in ("cortex-m7", "x86-64")])


class Files(unittest.TestCase):
    def test_every_cmake_option_that_packages_name_is_one_of_ours(self):
        options = set(re.findall(r"option\((TENON_\w+)", (SOURCE / "sdk/cmake/TenonOptions.cmake").read_text()))
        for path in ("docker/Dockerfile", "yocto/tenon_0.1.bb"):
            named = set(re.findall(r"-D(TENON_\w+)=", (PACKAGING / path).read_text()))
            self.assertLessEqual(named, options, path)
            self.assertGreater(len(named), 3)

    def test_the_recipe_has_the_check_sum_of_the_licence(self):
        import hashlib
        digest = hashlib.md5((SOURCE / "LICENSE").read_bytes()).hexdigest()
        self.assertIn(f"file://LICENSE;md5={digest}", (PACKAGING / "yocto/tenon_0.1.bb").read_text())


class SmallestBoard(unittest.TestCase):
    def test_the_board_that_the_page_calls_the_smallest_works_and_lacks_nothing_it_could_lack(self):
        import json
        text = re.search(r"```json\n(.*?)```", (SOURCE / "docs/boards.md").read_text(), re.DOTALL)[1]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)

            def converts(board):
                (folder / "b.json").write_text(json.dumps(board))
                return subprocess.run([TENON, "convert", SOURCE / "sdk/models/digits/digits.onnx", "-o", folder / "p.tenon",
                                       "--board", folder / "b.json", "--batch", "1"], capture_output=True, timeout=60)
            self.assertEqual(converts(json.loads(text)).returncode, 0, converts(json.loads(text)).stderr)
            places = [(), ("units", 0), ("memory_spaces", 0), ("priorities", 0)]
            for place in places:
                whole = json.loads(text)
                for step in place:
                    whole = whole[step]
                for key in list(whole):
                    board = json.loads(text)
                    part = board
                    for step in place:
                        part = part[step]
                    del part[key]
                    self.assertNotEqual(converts(board).returncode, 0, (place, key))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
