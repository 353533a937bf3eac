"""Types that two files of one program define under one name.

Linkers keep one of two destructors of the same name and say nothing (C++17 [basic.def.odr]), so
that objects of the other type are taken apart by the wrong one.
"""

import re

# Files of which a program has one or the other.
ALTERNATIVES = [{"sdk/src/firmware_engine.hpp", "sdk/src/host_engine.hpp"}]

TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/ | R"(\w*)\(.*?\)\1" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])'
  | \bnamespace\b(?P<namespace>[^{;=()]*)\{
  | \b(?:struct|class|enum|union)\s+(?:class\s+|struct\s+)?(?:alignas\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)?
    (?P<type>\w+)\s*(?:final\s*)?(?::(?!:)[^{;()]*)?\{
  | (?P<open>\{) | (?P<close>\})""", re.DOTALL | re.VERBOSE)


def named_types(text):
    """Qualified names of the types that a file defines in namespaces with a name."""
    outer = []  # of each open brace the namespace's name, or None where it is something else
    for token in TOKEN.finditer(text):
        if token["namespace"] is not None:
            name = token["namespace"].strip()
            outer.append(name or None)
        elif token["type"]:
            if None not in outer:
                yield "::".join([*outer, token["type"]])
            outer.append(None)
        elif token["open"]:
            outer.append(None)
        elif token["close"] and outer:
            outer.pop()


def definition_violations(files):
    """`files`: pairs of a path and its text, of one program."""
    first = {}
    for path, text in files:
        for name in named_types(text):
            other = first.setdefault(name, path)
            if other != path and {other, path} not in ALTERNATIVES:
                yield f"{path}: defines {name}, as {other} does"
