#!/usr/bin/env python3
"""firmware_library_test.py --build BUILD --tenon TENON --core CORE --machine MACHINE --flags "...": the
library that scripts/make_firmware_library.py makes for Arduino, PlatformIO and Zephyr is whole.

Builds all of its sources and the firmware example with nothing of the project but that folder, runs it
on the emulated board, and looks at what the descriptions name. None of the three tools is run: they are
not on this machine."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = SOURCE / "sdk/examples/firmware"
DIGITS = SOURCE / "sdk/models/digits"


def call(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def compile_all(files, include, flags, folder):
    """Objects of all files, by as many compilers as there are processors."""
    def one(numbered):
        number, file = numbered
        target = folder / f"{number}.o"
        compiler = "arm-none-eabi-g++" if file.suffix == ".cpp" else "arm-none-eabi-gcc"
        words = ["-std=gnu++17", "-fno-exceptions", "-fno-rtti"] if file.suffix == ".cpp" else []
        call([compiler, *flags, *words, "-Os", "-DNDEBUG", "-ffp-contract=off", "-ffunction-sections",
              "-fdata-sections", *[f"-I{path}" for path in include], "-c", file, "-o", target])
        return target
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, enumerate(files)))


def check_descriptions(library):
    described = json.loads((library / "library.json").read_text())
    properties = dict(line.split("=", 1) for line in
                      (library / "library.properties").read_text().splitlines())
    assert described["version"] == properties["version"], "two versions"
    for key in ("name", "version", "author", "maintainer", "sentence", "paragraph", "category",
                "architectures"):  # that the Arduino library specification asks for
        assert properties.get(key), f"library.properties has no {key}"
    assert "url" in properties, "library.properties has no url"  # empty until --url says one
    assert (library / "src" / properties["includes"]).exists()
    module = (library / "zephyr/module.yml").read_text()
    assert "cmake: zephyr" in module and "kconfig: zephyr/Kconfig" in module, module
    listed = re.findall(r"\$\{TENON_SOURCES\}/(\S+\.cpp)", (library / "zephyr/CMakeLists.txt").read_text())
    there = [path.relative_to(library / "src").as_posix() for path in (library / "src").rglob("*.cpp")]
    assert sorted(listed) == sorted(there), set(listed) ^ set(there)


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "tenon", "core", "machine", "flags"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    flags = options.flags.split()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library = folder / "library"
        print(call([sys.executable, SOURCE / "scripts/make_firmware_library.py", "-o", library, "--build",
                    options.build]), end="")
        check_descriptions(library)
        call([options.tenon, "convert", DIGITS / "digits.onnx", "--batch", 1, "--board", options.core,
              "--emit=c", "-o", folder / "digits.c", "-q"])
        call([options.tenon, "convert", DIGITS / "digits.onnx", "--batch", 1, "--board", options.core,
              "--quantize", "int8", "--calibration", DIGITS / "samples", "--emit=c", "-o",
              folder / "digits_int8.c", "-q"])
        board = EXAMPLE / "board"
        objects = folder / "objects"
        objects.mkdir()
        image = f'-DIMAGE_FILE="{DIGITS}/samples/image_15_is_7.npy"'
        files = [*sorted((library / "src").rglob("*.cpp")), folder / "digits.c", folder / "digits_int8.c",
                 EXAMPLE / "main.c", EXAMPLE / "samples.S",
                 *[board / f"{name}.c" for name in ("startup", "ticks", "semihosting")]]
        compiled = compile_all(files, [library / "src", folder, board], [*flags, image], objects)
        program = folder / "firmware.elf"
        call(["arm-none-eabi-g++", *flags, "-nostartfiles", f"-T{options.machine}.ld", f"-L{board}",
              "-Wl,--gc-sections", "--specs=nano.specs", "--specs=nosys.specs", "-o", program, *compiled])
        printed = call([SOURCE / "toolchains/run-cortex-m.sh", options.machine, program])
        print(printed, end="")
        assert re.search(r"digit: class 7, \d+ per mille", printed), printed


if __name__ == "__main__":
    main()
