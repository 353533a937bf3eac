#!/usr/bin/env python3
"""What is in a firmware image.

usage: image_test.py ELF MAP --tools PREFIX --source NET.c|NET.S --limit BYTES

Holds: code and constants without the plan take BYTES at most; of the kernels exactly those are
there that the generated source names; of the C library nothing but mem*. Prints what is large.
"""

import argparse
import pathlib
import re
import subprocess
import sys

PARTS = [
    ("kernels", r"^tenon::cpu::|^tenon_kernel_"),
    ("rules of ops", r"^tenon::(Infer|Check(Op|Call|Window|Quantized)|k\w+Row)"),
    ("plan check", r"^tenon::(plan_check|plan_schema|PlanView|ProgramView|CheckPlan|Crc)"),
    ("rest of the core", r"^tenon(::|_)"),
    ("board and program", r"^(board_|Fail$|Print|Write$|Open$|Length$|Close$|main$|net_|k[A-Z])"),
]


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def symbols(elf, nm):
    """(name, bytes) of everything in the image that has a size."""
    for line in output_of(nm, "-S", "-C", "--size-sort", elf).splitlines():
        found = re.fullmatch(r"\S+ (\S+) ([TtRrWVvDd]) (.*)", line)
        if found:
            yield found[3], int(found[1], 16)


def code_bytes(elf, size):
    text, data = output_of(size, elf).splitlines()[1].split()[:2]
    return int(text) + int(data)


def kernels_named(source):
    return set(re.findall(r"tenon_kernel_\w+", pathlib.Path(source).read_text()))


def kernels_linked(elf, nm):
    return {line.split()[-1] for line in output_of(nm, elf).splitlines()
            if re.search(r" tenon_kernel_\w+$", line)}


def members_of_libraries(map_file):
    """(library, member) of the C and C++ libraries of which something is in the image."""
    text = pathlib.Path(map_file).read_text().partition("Linker script and memory map")[2]
    members = set()
    section = ""
    for line in text.splitlines():
        found = re.match(r" (\.\S+)(?:\s|$)", line)
        if found:
            section = found[1]
        placed = re.search(r"\s0x[0-9a-f]+\s+0x([0-9a-f]+) \S*/lib([\w+]+)\.a\(([^)]+)\)$", line)
        if placed and int(placed[1], 16) > 0 and re.match(r"\.(text|rodata|data|bss)", section):
            if re.fullmatch(r"(c|m|g|nosys|rdimon|stdc\+\+|supc\+\+)(_nano)?", placed[2]):
                members.add((placed[2], placed[3]))
    return members


def print_parts(elf, nm):
    bytes_of = {}
    for name, size in symbols(elf, nm):
        part = next((part for part, pattern in PARTS if re.search(pattern, name)), "compiler, C library")
        if name != "net_plan":
            bytes_of[part] = bytes_of.get(part, 0) + size
    for part, size in sorted(bytes_of.items(), key=lambda item: -item[1]):
        print(f"{size:8} {part}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("elf")
    parser.add_argument("map")
    parser.add_argument("--tools", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--limit", type=int, required=True)
    arguments = parser.parse_args()
    nm = arguments.tools + "nm"
    failures = []

    plan = dict(symbols(arguments.elf, nm)).get("net_plan", 0)
    code = code_bytes(arguments.elf, arguments.tools + "size") - plan
    print(f"{code:8} bytes of code and constants, at most {arguments.limit}; plan {plan}")
    print_parts(arguments.elf, nm)
    if plan == 0:
        failures.append("the image has no symbol net_plan with a size")
    if code > arguments.limit:
        failures.append(f"{code} bytes of code and constants: {arguments.limit} at most")

    named = kernels_named(arguments.source)
    linked = kernels_linked(arguments.elf, nm)
    print("kernels: " + " ".join(sorted(linked)))
    if not named or named != linked:
        failures.append(f"kernels linked and not named: {sorted(linked - named)}, "
                        f"named and not linked: {sorted(named - linked)}")

    members = members_of_libraries(arguments.map)
    print("C library: " + (" ".join(sorted(member for _, member in members)) or "nothing"))
    other = [f"lib{library}.a({member})" for library, member in sorted(members)
             if not re.fullmatch(r"(lib_a-)?mem\w+(-stub)?\.o(bj)?", member)]
    if other:
        failures.append("of the C library more than mem*: " + " ".join(other))

    for failure in failures:
        print(f"FAILED: {failure}")
    sys.exit(1 if failures else 0)


main()
