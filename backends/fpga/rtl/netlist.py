"""What mapped modules cost, and how deep their logic is."""

import re

# Steps of a path: a LUT, a carry chain or a read of distributed memory is one, these are none.
FREE = {"INV", "MUXF7", "MUXF8", "MUXF9"}
MEMORY = re.compile(r"RAM\d+[MX]\w*|SRL\w+")
LOGIC = re.compile(r"LUT[1-6](_2)?|CARRY[48]|INV|MUXF[789]")
# What a read of distributed memory depends on.
ADDRESS = re.compile(r"ADDR[A-H]|DPRA\d*|A\d*")


def counts(cells):
    """Cells by the kinds that a chip has. LUTs: also those that are memories or shift registers."""
    def of(pattern):
        return sum(n for name, n in cells.items() if re.fullmatch(pattern, name))
    memory = of(r"SRL16E|SRLC32E|RAM(32|64)X1S") + 2 * of(r"RAM(32|64)X1D|RAM128X1S")
    memory += 4 * of("RAM128X1D|RAM256X1S|RAM32M|RAM64M") + 8 * of("RAM256X1D|RAM512X1S")
    memory += 8 * of("RAM32M16|RAM64M8")
    return {"LUT": of("LUT[1-6]") + memory, "FF": of("FD[RSCP]E(_1)?"), "DSP": of("DSP48E2"),
            "BRAM36": of("RAMB36E2") + of("RAMB18E2") / 2, "URAM": of("URAM288(_BASE)?")}


def unknown(cells):
    """Cells that none of the counts knows: they would be missing."""
    known = re.compile(r"LUT[1-6]|FD[RSCP]E(_1)?|DSP48E2|RAMB(18|36)E2|URAM288(_BASE)?|SRL16E|"
                       r"SRLC32E|RAM\d+[XM]\w+|CARRY[48]|INV|MUXF[789]|\$scopeinfo")
    return sorted(name for name in cells if not known.fullmatch(name))


def total(modules, name):
    """Cells of a module and all below it, by type."""
    cells = {}
    for cell in modules[name]["cells"].values():
        kind = cell["type"]
        below = total(modules, kind) if kind in modules else {kind: 1}
        for primitive, number in below.items():
            cells[primitive] = cells.get(primitive, 0) + number
    return cells


class Flat:
    """The combinational cells of a hierarchy: which cell drives a net, and what it reads."""

    def __init__(self, modules, top):
        self.modules = modules
        self.driver, self.reads, self.kinds = {}, [], []
        self.next_net = 0
        self.add(top, {})

    def add(self, name, nets):
        """Adds a module whose ports' bits are `nets`, by the module's own numbers."""
        def net(bit):
            if isinstance(bit, str):
                return None  # a constant
            if bit not in nets:
                nets[bit] = self.next_net
                self.next_net += 1
            return nets[bit]
        for cell in self.modules[name]["cells"].values():
            kind, connections = cell["type"], cell["connections"]
            if kind in self.modules:
                ports = self.modules[kind]["ports"]
                inner = {}
                for port, bits in connections.items():
                    for own, outer in zip(ports[port]["bits"], bits):
                        if not isinstance(own, str) and net(outer) is not None:
                            inner[own] = net(outer)
                self.add(kind, inner)
            elif LOGIC.fullmatch(kind) or MEMORY.fullmatch(kind):
                self.add_logic(kind, cell, net)

    def add_logic(self, kind, cell, net):
        number = len(self.kinds)
        self.kinds.append(kind)
        reads = []
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                for bit in bits:
                    if net(bit) is not None:
                        self.driver[net(bit)] = number
            elif LOGIC.fullmatch(kind) or ADDRESS.fullmatch(port):
                # A chain goes on in the next cell; what comes in elsewhere begins it.
                is_free = kind in FREE or (kind.startswith("CARRY") and port in ("CI", "CIN"))
                reads += [(net(bit), 0 if is_free else 1) for bit in bits if net(bit) is not None]
        self.reads.append(reads)

    def depth(self):
        """The most steps of a path between two registers (memories and DSPs are some)."""
        steps = [None] * len(self.kinds)
        for start in range(len(self.kinds)):
            stack = [start]
            while stack:
                cell = stack[-1]
                if steps[cell] is not None:
                    stack.pop()
                    continue
                before = [(self.driver[net], cost) for net, cost in self.reads[cell]
                          if net in self.driver]
                open_cells = [other for other, _ in before if steps[other] is None]
                if open_cells and not self.is_loop(stack, open_cells):
                    stack += open_cells
                    continue
                steps[cell] = max([cost + (steps[other] or 0) for other, cost in before] +
                                  [cost for _, cost in self.reads[cell]], default=0)
                stack.pop()
        return max(steps, default=0)

    @staticmethod
    def is_loop(stack, cells):
        return len(stack) > 100000 and bool(set(stack) & set(cells))
