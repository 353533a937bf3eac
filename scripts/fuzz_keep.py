#!/usr/bin/env python3
"""Picks the few inputs that reach most of what a fuzz target has reached, for the tree.

usage: fuzz_keep.py PROGRAM --out FOLDER --known FOLDER [--count N] [--most-bytes N] CORPUS

libFuzzer's merge says which edges each input reaches. One after another, the input is taken that
reaches most edges of those that neither the known inputs nor those in --out reach.
"""

import argparse
import hashlib
import pathlib
import subprocess
import tempfile


def inputs_in(folders):
    """Every input's bytes, by the folder and by what they are; a fuzzer may be at work in them."""
    inputs = {}
    for folder in folders:
        for path in sorted(folder.iterdir()):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue  # replaced by a smaller one meanwhile
            inputs.setdefault(hashlib.sha1(data).hexdigest()[:12], (folder, data))
    return inputs


def edges_of(program, inputs):
    """The edges that each input reaches, by its name."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "merged").mkdir()
        (scratch / "inputs").mkdir()
        for name, (_, data) in inputs.items():
            (scratch / "inputs" / name).write_bytes(data)
        subprocess.run([program, "-merge=1", "-set_cover_merge=1", "-use_counters=0",
                        f"-merge_control_file={scratch / 'notes'}", scratch / "merged", scratch / "inputs"],
                       check=False, capture_output=True)
        lines = (scratch / "notes").read_text().splitlines()
    files = lines[2:2 + int(lines[0])]
    edges = {}
    for line in lines[2 + len(files):]:
        words = line.split()
        if words[0] == "FT":
            edges[pathlib.Path(files[int(words[1])]).name] = set(words[2:])
    return edges


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--known", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--most-bytes", type=int, default=4096)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    inputs = inputs_in([arguments.known, arguments.out, arguments.corpus])
    edges = edges_of(arguments.program, inputs)
    known = {name for name in edges if inputs[name][0] != arguments.corpus}
    reached = set().union(*(edges[name] for name in known), set())
    print(f"{len(reached)} edges by {len(known)} known inputs")
    left = {name: found for name, found in edges.items()
            if name not in known and len(inputs[name][1]) <= arguments.most_bytes}
    while left and len(list(arguments.out.iterdir())) < arguments.count:
        name = max(left, key=lambda one: (len(left[one] - reached), -len(inputs[one][1])))
        gain = left.pop(name) - reached
        if not gain:
            break
        (arguments.out / name).write_bytes(inputs[name][1])
        reached |= gain
        print(f"{name}: {len(inputs[name][1])} bytes, {len(gain)} edges more")
    print(f"{len(reached)} edges by these, {len(set().union(*edges.values(), set()))} by all inputs")


if __name__ == "__main__":
    main()
