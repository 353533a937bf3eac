"""Every function of the public headers has words about it, as Doxygen sees them.

usage: api_docs_test.py DOXYGEN
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOXYGEN = sys.argv[1] if len(sys.argv) > 1 else "doxygen"
# Constructors and operators do what their class says.
PLAIN = re.compile(r"Member (\w+\(.*\) (noexcept )?|operator.*)\(function\) of class tenon::api_v1::(\w+)")


def undocumented(folder, header=None):
    """Functions without a comment: of all public headers, or of one file."""
    settings = (ROOT / "Doxyfile").read_text() + f"OUTPUT_DIRECTORY = {folder}\nGENERATE_HTML = NO\nGENERATE_XML = YES\n"
    if header is not None:
        settings += f"INPUT = {header}\n"
    result = subprocess.run([DOXYGEN, "-"], input=settings, cwd=ROOT, capture_output=True, text=True, timeout=120)
    warnings = [line for line in result.stderr.splitlines() if "(function)" in line and "is not documented" in line]
    return [line for line in warnings if not is_plain(line)]


def is_plain(line):
    found = PLAIN.search(line)
    if found is None:
        return False
    return found[1].startswith("operator") or found[1].startswith(found[3] + "(")


class ApiDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_every_function_of_the_public_headers_is_documented(self):
        self.assertEqual(undocumented(self.folder), [])

    def test_the_reference_has_every_function_of_the_c_interface(self):
        undocumented(self.folder)
        pages = "".join(page.read_text() for page in (self.folder / "xml").glob("*_8h.xml"))
        names = (ROOT / "sdk/abi/symbols.txt").read_text().splitlines()
        for name in names:
            if name and not name.startswith("#"):
                self.assertIn(f"<name>{name}</name>", pages)

    def test_a_function_without_a_comment_is_found(self):
        header = self.folder / "some.h"
        header.write_text("/* A header. */\n\n/* Does this. */\nint a(void);\nint shares(void);\n\nint b(void);\n")
        found = undocumented(self.folder, header)
        self.assertEqual(len(found), 1, found)
        self.assertIn("Member b(void)", found[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
