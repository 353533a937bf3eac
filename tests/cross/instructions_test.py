#!/usr/bin/env python3
"""Instructions per multiply-accumulate of convolutions on 64-bit Arm, counted by qemu-user.

Usage: instructions_test.py PLUGIN PROGRAM QEMU...

Counts are repeatable; they say nothing of cycles. Each kernel runs once and then four times, so
that what comes before and after is not counted. Fails where a count is over its limit.
77: skipped, with the reason.
"""

import re
import subprocess
import sys

# dtype, shape, kernel, instruction set, most instructions per multiply-accumulate
CASES = [
    ("f32", "1x1", "vector", "neon", 0.38),
    ("f32", "3x3", "vector", "neon", 0.37),
    ("f32", "depthwise", "vector", "neon", 0.95),
    ("i8", "1x1", "vector", "neoni8mm", 0.17),
    ("i8", "3x3", "vector", "neoni8mm", 0.11),
    ("i8", "1x1", "vector", "neondot", 0.17),
    ("i8", "3x3", "vector", "neondot", 0.12),
    ("i8", "1x1", "vector", "neon", 0.43),
    ("i8", "3x3", "vector", "neon", 0.38),
    ("i8", "depthwise", "vector", "neon", 1.10),
    ("f32", "1x1", "portable", "neon", None),
    ("f32", "3x3", "portable", "neon", None),
    ("f32", "depthwise", "portable", "neon", None),
    ("i8", "1x1", "portable", "neon", None),
    ("i8", "3x3", "portable", "neon", None),
    ("i8", "depthwise", "portable", "neon", None),
]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    instructions = re.search(r"^instructions (\d+)$", result.stdout + result.stderr, re.M)
    macs = re.search(r"^macs (\d+)$", result.stdout, re.M)
    if result.returncode != 0 or not instructions or not macs:
        sys.exit(f"{' '.join(command)}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return int(instructions.group(1)), int(macs.group(1))


def main():
    plugin, program, *qemu = sys.argv[1:]
    try:
        help_text = subprocess.run([qemu[0], "-h"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        help_text = ""
    if "-plugin" not in help_text:
        print(f"skipped: {qemu[0]} has no plugins (Debian: the package qemu-user, not static)")
        return 77
    failed = False
    print("dtype shape      kernel   set      instructions per multiply-accumulate")
    for dtype, shape, kernel, instructions, limit in CASES:
        command = [*qemu, "-d", "plugin", "-plugin", plugin, program, dtype, shape, kernel,
                   instructions]
        once, macs = run([*command, "1"])
        four, _ = run([*command, "4"])
        each = (four - once) / 3 / macs
        over = limit is not None and each > limit
        failed = failed or over
        note = "" if limit is None else f"  (at most {limit})"
        print(f"{dtype:5} {shape:10} {kernel:8} {instructions:8} {each:.3f}{note}"
              f"{'  OVER' if over else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
