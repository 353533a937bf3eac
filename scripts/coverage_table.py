#!/usr/bin/env python3
"""The lines of a build with --coverage that ran, by folder, beside their bars.

usage: coverage_table.py BUILD [FOLDER...]

With folders, the lines there that never ran are printed too. Objects of tests count for what they
have of the headers; a line that any object ran has run.
"""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys

# Folders of the table, with what of their lines must run, in percent.
BARS = {
    "runtime/format": 95,
    "runtime/engine": 95,
    "converter/import/onnx": 95,
    "converter/import/tflite": 95,
    "converter/import/caffe": 95,
    "backends/cpu/kernels": 90,
    "backends/opencl/kernels": 90,
}
# Kernels for other processors are not in this build; those that this one lacks never run.
WITHOUT = {"avx512": "avx512f", "vnni": "avx512_vnni"}


def object_notes(build):
    for folder, _, files in os.walk(build):
        for name in files:
            if name.endswith(".gcno"):
                yield os.path.join(folder, name)


def lines_of(notes):
    """(file, line, count) of one object; all counts are 0 where no program ran it."""
    answer = subprocess.run(["gcov", "--json-format", "--stdout", notes], capture_output=True,
                            check=False, text=True)
    found = []
    for text in answer.stdout.splitlines():
        data = json.loads(text)
        folder = data["current_working_directory"]
        for file in data["files"]:
            path = os.path.normpath(os.path.join(folder, file["file"]))
            found += [(path, line["line_number"], line["count"]) for line in file["lines"]]
    return found


def processor_lacks(path):
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        flags = info.read()
    return any(word in path and flag not in flags for word, flag in WITHOUT.items())


def count_lines(build, root):
    counts = collections.defaultdict(dict)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found in pool.map(lines_of, sorted(object_notes(build))):
            for path, line, count in found:
                if not path.startswith(root + os.sep) or os.sep + "build" + os.sep in path:
                    continue
                lines = counts[os.path.relpath(path, root)]
                lines[line] = max(lines.get(line, 0), count)
    return {path: lines for path, lines in counts.items() if not processor_lacks(path)}


def main():
    build = os.path.abspath(sys.argv[1])
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    counts = count_lines(build, root)
    print(f"{'folder':28} {'lines':>6} {'ran':>6} {'%':>6} {'bar':>4}")
    for folder, bar in BARS.items():
        lines = [count for path, of_file in counts.items() if path.startswith(folder + os.sep)
                 for count in of_file.values()]
        if not lines:
            print(f"{folder:28} not built")
            continue
        ran = sum(1 for count in lines if count > 0)
        percent = 100 * ran / len(lines)
        verdict = "" if percent >= bar else "  missed"
        print(f"{folder:28} {len(lines):6} {ran:6} {percent:6.1f} {bar:4}{verdict}")
    for folder in sys.argv[2:]:
        for path, of_file in sorted(counts.items()):
            missing = sorted(line for line, count in of_file.items() if count == 0)
            if path.startswith(folder) and missing:
                print(f"{path}: {len(missing)} of {len(of_file)}: {' '.join(map(str, missing))}")


if __name__ == "__main__":
    main()
