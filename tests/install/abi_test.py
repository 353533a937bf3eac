#!/usr/bin/env python3
"""The shared library's binary interface is the one that is written down in sdk/abi.

usage: abi_test.py SOURCE_DIR SHARED_LIBRARY C_COMPILER [MODULE...]

symbols.txt lists what it shows, layouts.txt the structures (64-bit) that cross the interface.
`abi_test.py SOURCE_DIR --write-layouts C_COMPILER` writes the latter anew.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
LIBRARY = sys.argv[2]
COMPILER = sys.argv[3]
MODULES = sys.argv[4:]
HEADERS = ("tenon.h", "stream.h", "debug.h")


def listed(name):
    lines = (SOURCE / "sdk/abi" / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def shown(library):
    answer = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                            capture_output=True)
    return sorted(line.split()[-1] for line in answer.stdout.splitlines())


def header_text():
    text = "".join((SOURCE / "sdk/include/tenon" / name).read_text() for name in HEADERS)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def members():
    """(structure, member) for all structures of the headers; (structure, None) for its size."""
    for name, body in re.findall(r"struct (\w+) \{(.*?)\n\}", header_text(), re.DOTALL):
        yield name, None
        for declaration in body.split(";")[:-1]:
            pointer = re.search(r"\(\*\s*(\w+)(\[\d+\])?\)\s*\(", declaration)
            plain = re.search(r"(\w+)(\[\w+\])?\s*$", declaration)
            yield name, (pointer or plain)[1]


def layouts():
    lines = []
    for name, member in members():
        kind = "struct " + name
        what = f"sizeof({kind})" if member is None else f"offsetof({kind}, {member})"
        label = f"{name} bytes" if member is None else f"{name}.{member}"
        lines.append(f'  printf("{label} %zu\\n", {what});')
    program = ("#include <stdio.h>\n#include \"tenon/tenon.h\"\nint main(void) {\n"
               + "\n".join(lines) + "\n  return 0;\n}\n")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "layouts.c"
        source.write_text(program)
        subprocess.run([COMPILER, f"-I{SOURCE}/sdk/include", source, "-o", f"{folder}/layouts"],
                       check=True)
        return subprocess.run([f"{folder}/layouts"], check=True, text=True,
                              capture_output=True).stdout.splitlines()


class AbiTest(unittest.TestCase):
    maxDiff = None

    def test_the_library_shows_the_listed_functions_and_no_more(self):
        self.assertEqual(shown(LIBRARY), listed("symbols.txt"))

    def test_all_functions_of_the_headers_are_listed(self):
        found = re.findall(r"TENON_API\b[^;(]*?\b(tenon_\w+)\(", header_text())
        self.assertGreater(len(found), 50)
        self.assertEqual(sorted(found), listed("symbols.txt"))

    def test_structures_are_laid_out_as_written_down(self):
        self.assertEqual(layouts(), listed("layouts.txt"))

    def test_the_library_is_known_by_its_binary_interface(self):
        answer = subprocess.run(["readelf", "-d", LIBRARY], check=True, text=True,
                                capture_output=True)
        self.assertRegex(answer.stdout, r"Library soname: \[libtenon\.so\.\d+(\.\d+)?\]")

    def test_modules_show_their_entry_alone(self):
        for module in MODULES:
            self.assertEqual(shown(module), ["tenon_backend_module"], module)

    def test_nothing_that_throws_is_called_but_by_locks(self):
        """The library has no exceptions of its own; memory is asked for by the `new` that does not
        throw. A lock's misuse is what the standard library has left: no path of ours leads there.
        """
        answer = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY], check=True, text=True,
                                capture_output=True)
        called = {line.split()[-1].split("@")[0] for line in answer.stdout.splitlines()}
        throws = {name for name in called
                  if re.search(r"__throw_|__cxa_throw|^_Zn[wa]m(St11align_val_t)?$", name)}
        self.assertLessEqual(throws, {"_ZSt20__throw_system_errori"})
        self.assertIn("_ZnamRKSt9nothrow_t", called)


if __name__ == "__main__":
    if LIBRARY == "--write-layouts":
        print("# The structures that cross the interface, on 64-bit machines: bytes and offsets. A")
        print("# change here needs a new SONAME.")
        print("\n".join(layouts()))
    else:
        unittest.main(argv=sys.argv[:1])
