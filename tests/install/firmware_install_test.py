#!/usr/bin/env python3
"""Installs a firmware build into a fresh prefix and builds the example against it, as a project of
C and assembler alone; runs it on the emulated board.

usage: firmware_install_test.py SOURCE_DIR BINARY_DIR WORK_DIR TOOLCHAIN_FILE HOST_TOOLS RUN...

RUN... is the command that runs a program on the board.
"""

import pathlib
import re
import shutil
import subprocess
import sys

SOURCE, BINARY, WORK, TOOLCHAIN, HOST_TOOLS = (pathlib.Path(argument).resolve()
                                               for argument in sys.argv[1:6])
RUN = sys.argv[6:]
PREFIX = WORK / "moved"


def run(*command):
    words = [str(word) for word in command]
    print("+", " ".join(words), flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"FAILED with status {done.returncode}: {' '.join(words)}")
    return done.stdout


def install():
    """Moves the tree once, so that a path of the build that slipped into it is found out."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    run("cmake", "--install", BINARY, "--prefix", WORK / "first")
    (WORK / "first").rename(PREFIX)
    for path in ("include/tenon/tenon.h", "lib/libtenon_runtime.a", "lib/libtenon_backend_cpu.a"):
        if not (PREFIX / path).is_file():
            sys.exit(f"FAILED: '{path}' is not installed")
    for path in PREFIX.rglob("*"):
        if path.suffix in (".cmake", ".h", ".hpp"):
            for leak in (str(SOURCE), str(WORK)):
                if leak in path.read_text():
                    sys.exit(f"FAILED: '{path.relative_to(PREFIX)}' names '{leak}'")


def check_page(models):
    """The C of docs/firmware.md compiles as it stands there, with the header it is about."""
    found = re.findall(r"^```c\n(.*?)^```$", (SOURCE / "docs/firmware.md").read_text(),
                       re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        sys.exit(f"FAILED: docs/firmware.md has {len(found)} blocks of C, not 1")
    page = WORK / "page.c"
    page.write_text(found[0])
    run("arm-none-eabi-gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
        f"-I{PREFIX}/include", f"-I{models}", page)


def check_words():
    """The installed script has the words of the error that docs/firmware.md shows."""
    script = PREFIX / "share/tenon/explain.py"
    if "arena 0 has" not in run(sys.executable, script, "error d288 (0)"):
        sys.exit("FAILED: explain.py does not know 'error d288 (0)', which docs/firmware.md explains")


def main():
    install()
    check_words()
    build = WORK / "example"
    run("cmake", "-S", SOURCE / "sdk/examples/firmware", "-B", build, "-G", "Ninja",
        f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}", "-DCMAKE_BUILD_TYPE=MinSizeRel",
        f"-DCMAKE_PREFIX_PATH={PREFIX}", f"-DTENON_HOST_TOOLS={HOST_TOOLS}")
    run("cmake", "--build", build)
    printed = run(*RUN, build / "firmware.elf")
    for line in ("digit: class 7, ", "digit (8 bits): class 7, "):
        if line not in printed:
            sys.exit(f"FAILED: the example does not print '{line}'")
    if "camera: class 7, 8 rows" not in run(*RUN, build / "camera.elf"):
        sys.exit("FAILED: the example with a camera sees no 7 in 8 rows")
    check_page(build / "models")


main()
