#!/usr/bin/env python3
"""Links the runtime core into a firmware without kernels and holds its size.

    size.py --compiler arm-none-eabi-g++ --flags "..." --limit BYTES --header tenon.h
            --nothing nothing.o --core core.o OBJECT...

Counts code and constants (.text and .rodata and what goes with them), less those of a program that
does nothing. Exit status 1 if they are more than the limit.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

CONSTANT_SECTIONS = (".text", ".rodata", ".ARM.ex", ".init", ".fini", ".data", ".eh_frame")
PARTS = ("runtime/base", "runtime/format", "runtime/ops", "runtime/engine", "sdk/src")


def link(arguments, objects, folder, name):
    """Links `objects`; returns the size by part as the linker's map tells it."""
    image, listing = folder / f"{name}.elf", folder / f"{name}.map"
    command = [arguments.compiler, *arguments.flags.split(), "-nostartfiles", "--specs=nano.specs",
               "--specs=nosys.specs", "-Wl,--gc-sections", "-Wl,-e,main", f"-Wl,-Map={listing}",
               "-o", str(image), *objects]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cannot link:\n{done.stderr}")
    check_words(image.read_bytes())
    return sizes(listing.read_text())


def check_words(image):
    """Errors are numbers: no text of a message may be left in the image."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
    import explain
    texts = [text for found in explain.messages().values() for text, path in found.items()
             if len(text) > 16 and not path.endswith("/status.cpp")]  # there: tenon_status_text's
    left = [text for text in texts if text.encode() in image]
    if left or not texts:
        sys.exit(f"words of errors in the image: {left or 'none could be looked for'}")


def part_of(path):
    for part in PARTS:
        if f"/{part}/" in path or f"/{part.replace('/', '_')}_" in path:
            return part
    return "C library" if path.endswith(")") or "crt" in path else "the program itself"


def sizes(listing):
    """Bytes by part, of the sections of a map that the image holds."""
    result = {}
    memory = listing[listing.index("Linker script and memory map"):]
    # " .text.name\n    0xaddress 0xsize path", or all on one line; what is dropped is listed before.
    pattern = r"^ (\.[\w.$]+|COMMON)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+(\S.*)$"
    for section, size, path in re.findall(pattern, memory, re.MULTILINE):
        if section.startswith(CONSTANT_SECTIONS):
            part = part_of(path)
            result[part] = result.get(part, 0) + int(size, 16)
    return result


def missing_functions(header, program):
    """Functions of the header that are not [host], nor of streams, and that the program lacks."""
    functions, comment = [], ""
    for token in re.findall(r"/\*.*?\*/|TENON_API[^;]*;", header, re.DOTALL):
        if token.startswith("/*"):
            comment = token
        elif "[host]" not in comment:
            functions.append(re.search(r"\b(tenon_\w+)\(", token).group(1))
    return [name for name in functions
          if f"{name}(" not in program and not name.startswith("tenon_stream_")]


def main():
    parser = argparse.ArgumentParser()
    for option in ("compiler", "flags", "header", "program", "nothing", "core"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--limit", type=int, required=True)
    parser.add_argument("objects", nargs="+")
    arguments = parser.parse_args()
    missing = missing_functions(pathlib.Path(arguments.header).read_text(),
                                pathlib.Path(arguments.program).read_text())
    if missing:
        sys.exit(f"{arguments.program} does not call {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        nothing = link(arguments, [arguments.nothing], folder, "nothing")
        core = link(arguments, [arguments.core, *arguments.objects], folder, "core")
    # The program's own calls are no part of the core.
    core.pop("the program itself", None)
    nothing.pop("the program itself", None)
    for part, size in nothing.items():
        core[part] = core.get(part, 0) - size
    total = sum(core.values())
    for part in (*PARTS, "C library"):
        print(f"{core.get(part, 0):7} {part}")
    print(f"{total:7} in all; {arguments.limit} at most")
    if total <= 0 or total > arguments.limit:
        sys.exit("the runtime core has grown over its limit (or could not be measured)")


if __name__ == "__main__":
    main()
