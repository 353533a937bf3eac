"""Modules of a design in yosys' text form (RTLIL), those that differ only in names kept once.

read_slang gives each instance a module of its own; the array's columns would be mapped 32 times.
"""

import hashlib
import re

NOISE = re.compile(r"\s*attribute \\(src|hdlname|scopename|always_\w+|full_case)\b")
INSTANCE = re.compile(r"(\s*cell )(\S+)( .*)")


def modules_of(text):
    """Lines of each module by its name, without where they come from."""
    modules, name = {}, None
    for line in text.splitlines():
        if line.startswith("module "):
            name = line.split()[1]
            modules[name] = []
        elif line == "end":
            name = None
        elif name and not NOISE.match(line):
            modules[name].append(line)
    return modules


def digest(lines):
    """The same for modules that differ in names that yosys made up."""
    numbers = {}
    def number(match):
        return numbers.setdefault(match.group(0), f"${len(numbers)}")
    # Cells' types begin with a letter: $add; made-up names have a digit or another $.
    made_up = re.compile(r"\$(?:\d\S*|[^\s$]+\$\S*|auto\S*)")
    text = "\n".join(made_up.sub(number, line) for line in lines)
    return hashlib.sha256(text.encode()).hexdigest()


def merged(text):
    """(Lines of each module that is left, by a short name; the digest of each)."""
    modules = modules_of(text)
    modules.pop("\\DSP48E2", None)  # the primitive: yosys has it
    while True:
        seen, alias = {}, {}
        for name, lines in modules.items():
            key = (name.split("$")[0], digest(lines))
            alias[name] = seen.setdefault(key, name)
        modules = {name: with_types(modules[name], alias) for name in seen.values()}
        if len(modules) == len(alias):
            break
    short = {}
    for name in modules:
        base = name.split("$")[0]
        number = 1 + sum(other.split("$")[0] == base for other in short)
        short[name] = base if number == 1 else f"{base}_{number}"
    modules = {short[name]: with_types(lines, short) for name, lines in modules.items()}
    return modules, {name: digest(lines) for name, lines in modules.items()}


def with_types(lines, names):
    def renamed(line):
        match = INSTANCE.fullmatch(line)
        if not match:
            return line
        return match.group(1) + names.get(match.group(2), match.group(2)) + match.group(3)
    return [renamed(line) for line in lines]


def instances(lines, modules):
    """Types of a module's cells that are modules, with repetitions."""
    found = (INSTANCE.fullmatch(line) for line in lines)
    return [match.group(2) for match in found if match and match.group(2) in modules]


def design(modules, wanted):
    """RTLIL of the wanted modules below a top of its own; others that they use are black boxes."""
    used = {child for name in wanted for child in instances(modules[name], modules)} - set(wanted)
    text = ["autoidx 1000000", "attribute \\top 1", "module \\all_of_them"]
    for number, name in enumerate(wanted):
        text += ["  attribute \\keep 1", f"  cell {name} \\instance_{number}", "  end"]
    text += ["end"]
    for name in wanted:
        text += [f"module {name}", *modules[name], "end"]
    for name in used:
        ports = [line for line in modules[name] if re.match(r"\s*wire .*(input|output) \d+ ", line)]
        text += ["attribute \\blackbox 1", f"module {name}", *ports, "end"]
    return "\n".join(text) + "\n"
