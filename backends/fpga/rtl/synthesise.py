#!/usr/bin/env python3
"""Resources of the accelerator's blocks: python3 synthesise.py [BLOCK ...]

Each block is mapped by yosys alone (synth_xilinx -family xcup, DSP48E2 as the primitive). Printed are
its cells and the most LUTs and carry chains that lie between two registers. Yosys knows no delays:
what clock a chip reaches is not said here.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = ["arithmetic_pkg.sv"]
COLUMN = ["mac_cell.sv", "mac_column.sv", "cascade_skew.sv"]
LANE = ["requantise_product.sv", "requantise_shift.sv", "requantise_round.sv", "requantise_lane.sv"]
# Name: (top, files, parameters).
BLOCKS = {
    "column": ("mac_column", COLUMN, {}),
    "array32x32": ("mac_array", COLUMN + ["mac_array.sv"], {}),
    "array8x8": ("mac_array", COLUMN + ["mac_array.sv"],
                 {"INPUT_CHANNELS": 8, "OUTPUT_CHANNELS": 8}),
    "lane": ("requantise_lane", LANE, {}),
    "lanes32": ("requantise_lanes", LANE + ["requantise_lanes.sv"], {}),
}
KV260 = {"LUT": 117120, "FF": 234240, "DSP": 1248, "BRAM36": 144, "URAM": 64}
# Ends of combinational paths; everything else that is named in a path counts as one step.
COMBINATIONAL = {"INV": 0, "MUXF7": 0, "MUXF8": 0, "MUXF9": 0}


def counts(cells):
    """Cells by the kinds that a chip has. LUTs: also those that are memories or shift registers."""
    def of(pattern):
        return sum(n for name, n in cells.items() if re.fullmatch(pattern, name))
    memory = of(r"SRL16E|SRLC32E|RAM(32|64)X1[SD]|RAM128X1S") + 2 * of("RAM128X1D")
    memory += 4 * of("RAM256X1[SD]") + 8 * of("RAM32M16|RAM64M8") + 4 * of("RAM32M|RAM64M")
    return {"LUT": of("LUT[1-6]") + memory, "FF": of("FD[RSCP]E(_1)?"), "DSP": of("DSP48E2"),
            "BRAM36": of("RAMB36E2") + of("RAMB18E2") / 2, "URAM": of("URAM288(_BASE)?")}


def depth(netlist, top):
    """The most LUTs and CARRY4s on a path between registers; a carry chain counts as one."""
    module = netlist["modules"][top]
    driver, steps = {}, {}
    for name, cell in module["cells"].items():
        kind = cell["type"]
        if not re.fullmatch("LUT[1-6]|CARRY[48]|INV|MUXF[789]", kind):
            continue
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                for bit in bits:
                    driver[bit] = name
    def steps_to(bit):
        return cell_steps(driver[bit]) if bit in driver else 0
    def cell_steps(name):
        if name in steps:
            return steps[name]
        steps[name] = 0  # a loop would end here
        cell = module["cells"][name]
        kind = cell["type"]
        most = 0
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "input":
                continue
            is_chain = kind.startswith("CARRY") and port in ("CI", "CIN")
            for bit in bits:
                before = steps_to(bit)
                # A chain goes on in the next cell; what comes in elsewhere begins it.
                most = max(most, before if is_chain else before + COMBINATIONAL.get(kind, 1))
        steps[name] = most
        return most
    return max((cell_steps(name) for name in {driver[bit] for bit in driver}), default=0)


def synthesise(name):
    top, files, parameters = BLOCKS[name]
    chosen = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "netlist.json"
        commands = [f"read_verilog -sv {' '.join(PACKAGE + files)}"]
        if chosen:
            commands.append(f"chparam {chosen} {top}")
        commands.append(f"synth_xilinx -family xcup -top {top} -flatten -noiopad -noclkbuf")
        commands.append(f"write_json {result}")
        run = subprocess.run(["yosys", "-q", "-p", "; ".join(commands)], cwd=HERE,
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"yosys fails on {name}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        netlist = json.loads(result.read_text())
    cells = {}
    for cell in netlist["modules"][top]["cells"].values():
        cells[cell["type"]] = cells.get(cell["type"], 0) + 1
    return counts(cells), depth(netlist, top)


def main():
    sys.setrecursionlimit(100000)
    names = sys.argv[1:] or list(BLOCKS)
    unknown = [name for name in names if name not in BLOCKS]
    if unknown:
        sys.exit(f"no block {unknown[0]}; there are {', '.join(BLOCKS)}")
    print("| block | LUT | FF | DSP | BRAM36 | URAM | depth |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        found, longest = synthesise(name)
        numbers = " | ".join(f"{found[kind]:g} ({100 * found[kind] / most:.1f} %)"
                             for kind, most in KV260.items())
        print(f"| {name} | {numbers} | {longest} |", flush=True)


if __name__ == "__main__":
    main()
