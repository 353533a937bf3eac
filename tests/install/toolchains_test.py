#!/usr/bin/env python3
"""With each of our toolchain files, find_package sees what CMAKE_PREFIX_PATH names, and nothing of
this machine's own.

usage: toolchains_test.py SOURCE_DIR
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
PROJECT = """cmake_minimum_required(VERSION 3.16)
project(app NONE)
find_package(tenon QUIET)
find_package(fmt CONFIG QUIET)
file(WRITE "${CMAKE_BINARY_DIR}/found" "${tenon_DIR};${fmt_FOUND}")
"""


def found(toolchain, prefix, folder, by_environment):
    """What a project that is configured so sees: the folder of 'tenon', whether fmt is there."""
    (folder / "CMakeLists.txt").write_text(PROJECT)
    build = folder / f"build-{toolchain.stem}-{by_environment}"
    words = ["cmake", "-S", folder, "-B", build, f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
    environment = dict(os.environ)
    environment.pop("CMAKE_PREFIX_PATH", None)
    if by_environment:
        environment["CMAKE_PREFIX_PATH"] = str(prefix)
    else:
        words.append(f"-DCMAKE_PREFIX_PATH={prefix}")
    subprocess.run([str(word) for word in words], check=True, env=environment,
                   stdout=subprocess.DEVNULL)
    where, foreign = (build / "found").read_text().split(";")
    return where, foreign


class ToolchainsTest(unittest.TestCase):
    def test_the_prefix_is_searched_and_this_machine_is_not(self):
        toolchains = [path for path in sorted((SOURCE / "toolchains").glob("*.cmake"))
                      if path.stem not in ("linux-cross", "cortex-m")]
        self.assertGreaterEqual(len(toolchains), 5)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name).resolve()
            package = folder / "prefix/lib/cmake/tenon"
            package.mkdir(parents=True)
            (package / "tenon-config.cmake").write_text("# found\n")
            for toolchain in toolchains:
                for by_environment in (False, True):
                    with self.subTest(toolchain=toolchain.stem, by_environment=by_environment):
                        where, foreign = found(toolchain, folder / "prefix", folder,
                                               by_environment)
                        self.assertEqual(where, str(package))
                        self.assertNotEqual(foreign, "1")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
