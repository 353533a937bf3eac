#!/usr/bin/env python3
"""Doxygen's view of a public header: prints it with its comments as Doxygen wants them.

Comments of the C headers become Doxygen's, and what stands right below a declaration shares its
comment, as it does for people. Called by Doxygen (INPUT_FILTER of the Doxyfile).
"""
import re
import sys


class Header:
    def __init__(self, lines):
        self.lines = lines
        self.shown = []
        self.doc = None        # the comment that declarations now belong to
        self.is_used = False   # by a declaration
        self.depth = 0         # of braces
        self.outer = []        # the comments of what is open around
        self.base = None       # depth at which the declaration under way began; None: none is

    def convert(self):
        at = 0
        while at < len(self.lines):
            at = self.comment(at) or self.code(at)
        return self.shown

    def comment(self, at):
        """Takes a comment that begins here; returns the line behind it, or None."""
        first = self.lines[at].strip()
        if self.base is not None or not first.startswith(("///", "/*")):
            return None
        end = at
        if first.startswith("///"):
            while end + 1 < len(self.lines) and self.lines[end + 1].strip().startswith("///"):
                end += 1
        else:
            while "*/" not in self.lines[end]:
                end += 1
        self.doc = [re.sub(r"^(\s*)/\*(?!\*)", r"\1/**", line) for line in self.lines[at:end + 1]]
        if at == 0:
            self.doc[0] = self.doc[0].replace("/**", "/** \\file\n *", 1)
        self.is_used = False
        self.shown += self.doc
        return end + 1

    def code(self, at):
        line = self.lines[at]
        text = line.strip()
        if not text:
            self.doc = None
        elif self.base is None and not text.startswith(("#", "//", "}")):
            self.base = self.depth
            if self.doc is not None and self.is_used:
                self.shown += self.doc
            self.is_used = True
        self.shown.append(re.sub(r"(\S\s+)/\*(?![*<])", r"\1/**< ", line))
        code = re.sub(r"//.*|/\*.*?(\*/|$)", "", line)
        self.depth += code.count("{") - code.count("}")
        opens = code.rstrip().endswith("{")
        is_body = opens and re.search(r"\b(class|struct|enum|namespace|extern)\b", code)
        if is_body:
            self.base = None
            self.outer.append(self.doc)
            self.doc = None
        elif text.startswith("}") and self.depth < len(self.outer):
            self.doc, self.is_used = self.outer.pop(), True
            self.base = None
        elif self.base is not None and self.depth <= self.base and re.search(r"[;}]\s*$", code):
            self.base = None
        return at + 1


def main():
    with open(sys.argv[1]) as file:
        lines = file.read().split("\n")
    if lines[0].startswith("//") and not lines[0].startswith("///"):
        end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
        lines = ["/// \\file"] + ["/" + line for line in lines[:end]] + lines[end:]
    print("\n".join(Header(lines).convert()))


if __name__ == "__main__":
    main()
