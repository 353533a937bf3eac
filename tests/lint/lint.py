#!/usr/bin/env python3
"""Checks the text of the tree. usage: lint.py CHECK [--tenon PROGRAM]

CHECK is one of the functions at the end of this file; "selftest" shows that each can fail.
Exit status: 0 clean, 1 violations (one line each), 77 skipped, saying why.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

from definitions import definition_violations

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
MAX_LINES = 500

# The converter's floors, lowest first: a folder and the folders of the converter that its files may
# include besides their own. Sideways includes on one floor have a row that names them.
CONVERTER_FLOORS = {
    "solve": "",
    "board": "",
    "ir": "",
    "passes": "ir",
    "fuse": "solve ir",
    "cost": "solve board ir",
    "map": "cost board ir",
    "profile": "map cost solve board ir",
    "layout": "map solve ir",
    "measure": "profile map cost board ir",
    "split": "map cost board ir",
    "schedule": "layout map cost solve board ir",
    "stage": "schedule layout profile map cost fuse solve board ir",
    "code": "schedule layout map cost board ir",
    "emit": "schedule layout ir",
    "fold": "measure emit layout ir",
    "quantize": "measure emit map passes ir",
    "import": "ir",
    "driver": "import quantize fold emit code stage schedule split layout profile map cost passes"
              " fuse solve board ir",
    "report": "driver emit quantize cost",
    "api": "report driver import fold emit measure profile map solve board",
}
# What else some of them include.
CONVERTER_EXTRAS = {
    "emit": r"plan_generated\.h",
    "import": r"tflite_subset_generated\.h|caffe_subset\.pb\.h",
    "split": r"converter/solve/\w+\.hpp",  # what solvers share, and no solver
    "measure": r"tenon/tenon\.h(pp)?$",  # the one seam through which the converter runs plans
    "api": r"tenon/",
}
# A pure solver knows no other folder than those below it.
SOLVERS = {"order": "", "fuse": "", "place": "", "mip": "", "program": "mip order", "time": "order",
           "map": "time order", "stage": "time"}


def converter_row(folder, own, below, extra):
    """A row of the include table for `folder` of the converter."""
    allowed = [rf"converter/{own}/", r"converter/(status|progress|readable|aligned_bytes|time_limit|did_you_mean|json_text)\.hpp"]
    allowed += [rf"converter/{name}/" for name in below]
    if own.split("/")[0] not in ("solve", "board"):
        allowed += [r"runtime/(base|ops|format)/", r"backends/\w+/(caps|codegen)/"]
    else:
        allowed += [r"runtime/(base|ops)/"]
    return rf"converter/{folder}/", "|".join(allowed + ([extra] if extra else []))


CONVERTER_ROWS = [
    *(converter_row(f"solve/{name}", f"solve/{name}",
                    [f"solve/{lower}" for lower in below.split()],
                    r"converter/solve/\w+\.hpp")
      for name, below in SOLVERS.items()),
    *(converter_row(name, name, below.split(), CONVERTER_EXTRAS.get(name))
      for name, below in CONVERTER_FLOORS.items()),
    (r"converter/\w+\.hpp", r"runtime/base/"),
]

# Who may include whom: the folder of a file (first match; X is a backend) and what its quoted
# includes may begin with. Layers, lowest first; tests may include anything.
INCLUDE_TABLE = [
    (r"runtime/base/", r"runtime/base/"),
    (r"runtime/ops/host/", r"runtime/(base|ops)/"),
    (r"runtime/ops/", r"runtime/(base|ops(?!/host))/"),
    (r"runtime/format/", r"runtime/(base|ops(?!/host)|format)/|plan_generated\.h"),
    (r"runtime/backend_api/", r"runtime/(base|ops(?!/host)|backend_api)/"),
    (r"runtime/engine/", r"runtime/(?!ops/host)"),
    (r"backends/(?P<X>\w+)/caps/", r"runtime/(base|ops(?!/host))/|backends/{X}/caps/"),
    (r"backends/(?P<X>\w+)/codegen/", r"runtime/(base|ops)/|backends/{X}/(caps|codegen|isa)/"),
    (r"backends/(?P<X>\w+)/isa/", r"runtime/(base|ops(?!/host))/|backends/{X}/isa/"),
    (r"backends/(?P<X>\w+)/", r"runtime/(base|ops(?!/host)|backend_api)/|backends/{X}/"),
    *CONVERTER_ROWS,
    (r"sdk/include/tenon/backend\.hpp", r"runtime/(base|ops|backend_api)/|tenon/"),
    (r"sdk/include/", r"tenon/"),
    (r"sdk/src/", r"runtime/|sdk/src/|tenon/|backends/(?P<X>\w+)/(?P=X)_backend\.hpp"),
    (r"sdk/tools/", r"sdk/tools/|tenon/|converter/(readable|aligned_bytes|did_you_mean|json_text)\.hpp"),
    (r"sdk/examples/\w+/", r"tenon/|[^/]+$"),
    (r"python/src/", r"python/src/|tenon/"),
    (r"tests/", r""),
]


def folder_of(path):
    """The folder that a file belongs to in the graph of folders."""
    return path.rpartition("/")[0]


def folder_cycles(edges):
    """Cycles in `edges`, pairs of folders that includes lead from and to: one line each."""
    graph = {}
    for start, end in edges:
        if start != end:
            graph.setdefault(start, set()).add(end)
    done, found = set(), []

    def visit(folder, path):
        if folder in path:
            found.append(" -> ".join([*path[path.index(folder):], folder]))
        elif folder not in done:
            for below in sorted(graph.get(folder, ())):
                visit(below, [*path, folder])
            done.add(folder)

    for folder in sorted(graph):
        visit(folder, [])
    return [f"folders include each other: {cycle}" for cycle in found]


# Third-party headers and the folders that may include them; tests may include any.
THIRD_PARTY = [
    (r"flatbuffers/|plan_generated\.h", r"runtime/format/|converter/(emit|import/tflite)/"),
    (r"oneapi/dnnl/|omp\.h", r"backends/cpu/"),
    (r"CL/", r"backends/opencl/"),
    (r"xrt/|experimental/|xrt\.h|ert\.h|xclbin\.h", r"backends/fpga/"),
    (r"verilated\.h|Vaccelerator\.h", r"backends/fpga/sim/"),
    (r"onnx/|google/protobuf/", r"converter/import/(onnx|caffe)/"),
    (r"coin/|Cbc|Coin", r"converter/solve/"),
    (r"nlohmann/", r"converter/|sdk/tools/"),
    (r"fmt/", r"converter/|sdk/tools/"),
    (r"CLI/", r"sdk/tools/"),
    (r"stb/", r"sdk/examples/pictures/"),
    (r"pybind11/", r"python/src/"),
    (r"doctest/|benchmark/", r"tests/"),
]
SYSTEM = r"[a-z_0-9]+(\.h)?|sys/\w+\.h|linux/\w+\.h"

# Written so that this file does not match itself.
WORDS = [
    (r"(?<![\w.$}])/(wor[k]|roo[t]|hom[e]|User[s])/", "path of one machine"),
    (r"py[p]i\.org|pythonhoste[d]|deb\.debia[n]|npmj[s]|crates\.i[o]|docker\.i[o]|ghcr\.i[o]",
     "host of a registry"),
    (r"\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b", "work left behind"),
    (r"(?i)\b(claud[e]|anthropi[c]|chatgp[t]|copilo[t]|sub-?agen[t]s?|co-authored-b[y])\b",
     "how the work is organised"),
]


def tracked():
    """Paths of the tree's files: those git knows, or where there is no git, all but outputs."""
    git = subprocess.run(["git", "ls-files"], cwd=ROOT,
                         capture_output=True, text=True) if shutil.which("git") else None
    if git and git.returncode == 0 and git.stdout:
        paths = git.stdout.splitlines()
    else:
        paths = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file()]
        paths = [p for p in paths if not re.match(r"(build|out|\.git)/|.*__pycache__/", p)]
    return [path for path in sorted(paths) if (ROOT / path).is_file()]


def texts(pattern):
    """(path, text) of every file whose path matches; binary files are left out."""
    for path in tracked():
        if re.search(pattern, path):
            try:
                yield path, (ROOT / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                pass


def include_violations(path, text):
    rule = next(((re.match(folder, path), allowed) for folder, allowed in INCLUDE_TABLE
                 if re.match(folder, path)), None)
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", line)
        if not found:
            continue
        quoted, header = found[1] == '"', found[2]
        where = f"{path}:{number}: "
        if rule is None:
            yield f"{where}this folder is not in the include table"
            return
        folder, allowed = rule
        if quoted and not re.match(allowed.replace("{X}", folder.groupdict().get("X") or ""),
                                   header):
            yield f"{where}a file of {folder[0]} may not include \"{header}\""
        edge = next((allowed for name, allowed in THIRD_PARTY if re.match(name, header)), None)
        if edge and not re.match(edge + "|tests/", path):
            yield f"{where}<{header}> may be included in {edge} only"
        if not quoted and edge is None and not re.fullmatch(SYSTEM, header):
            yield f"{where}<{header}> is not in the table of third-party headers"
    if path.endswith((".hpp",)) and "#pragma once" not in text:
        yield f"{path}:1: no '#pragma once'"


def word_violations(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in WORDS:
            if re.search(pattern, line):
                yield f"{path}:{number}: {what}: {line.strip()[:80]}"


def length_violations(path, text):
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{path}: {lines} lines, {MAX_LINES} at most"


def link_violations(path, text):
    """Relative links of a page lead somewhere."""
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
            if not (ROOT / path).parent.joinpath(target).exists():
                yield f"{path}:{number}: link to '{target}', which is not there"


def command_violations(readme, help_text):
    """The README's command table and the program know the same commands."""
    listed = set(re.findall(r"^\| `tenon (\w+)", readme, re.MULTILINE))
    commands = help_text.split("Subcommands:", 1)[-1].split("Exit status", 1)[0]
    known = set(re.findall(r"^  (\w+) ", commands, re.MULTILINE))
    for name in sorted(listed ^ known):
        yield f"README.md: 'tenon {name}' is only in {'README.md' if name in listed else 'tenon'}"


def each(check, pattern):
    return [line for path, text in texts(pattern) for line in check(path, text)]


def includes():
    edges = set()
    for path, text in texts(r"^(runtime|backends|converter|sdk)/.*\.(cpp|hpp|h|c)$"):
        for header in re.findall(r'^\s*#\s*include\s*"([^">]+/[^">]+)"', text, re.MULTILINE):
            edges.add((folder_of(path), folder_of(header)))
    return each(include_violations, r"\.(cpp|hpp|h|c)$") + folder_cycles(edges)


def definitions():
    found = list(definition_violations(texts(r"^(runtime|backends|converter|sdk)/.*\.(cpp|hpp)$")))
    # A program of tests has the sources of its folder.
    programs = {}
    for path, text in texts(r"^tests/.*\.(cpp|hpp)$"):
        programs.setdefault(path.rsplit("/", 1)[0], []).append((path, text))
    for files in programs.values():
        found += definition_violations(files)
    return found


def words():
    return each(word_violations, r"")


def length():
    return each(length_violations, r"\.(cpp|hpp|h|c|py|sh|cmake|fbs|md|cl|sv)$|CMakeLists\.txt$")


def docs():
    readme = (ROOT / "README.md").read_text()
    found = each(link_violations, r"\.md$")
    for script in ("./scripts/demo.sh", "./scripts/test.sh"):
        if f"```sh\n{script}\n```" not in readme:
            found.append(f"README.md: no block with the command '{script}' alone")
    if "./scripts/test.sh" not in (ROOT / ".ci/run").read_text():
        found.append(".ci/run: does not run the README's test command")
    if "--tenon" in sys.argv:
        program = sys.argv[sys.argv.index("--tenon") + 1]
        answer = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
        found += command_violations(readme, answer.stdout)
    return found


def format():
    program = shutil.which("clang-format-14")
    if program is None:
        skip("clang-format-14 is not installed")
    paths = [path for path, _ in texts(r"\.(cpp|hpp|h|c)$")]
    answer = subprocess.run([program, "--dry-run", "--Werror", *paths], cwd=ROOT,
                            capture_output=True, text=True)
    return sorted({line.split(": error:")[0] + ": not formatted"
                   for line in answer.stderr.splitlines() if ": error:" in line})


def boards():
    try:
        import jsonschema
    except ImportError:
        skip("python3-jsonschema is not installed")
    ops = re.findall(r"^TENON_OP\(\w+, (\w+),", (ROOT / "runtime/ops/ops.inc").read_text(),
                     re.MULTILINE)
    text = (ROOT / "sdk/schema/board.schema.json.in").read_text()
    schema = json.loads(text.replace("@TENON_OP_NAMES@", json.dumps(ops)[1:-1]))
    jsonschema.Draft7Validator.check_schema(schema)
    found = []
    for path, text in texts(r"^sdk/boards/.*\.json$"):
        for error in jsonschema.Draft7Validator(schema).iter_errors(json.loads(text)):
            found.append(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
    return found


def selftest():
    """Every check finds a planted fault and passes the sound twin."""
    def include(header):
        return lambda path: include_violations(path, f"#pragma once\n#include {header}\n")

    cases = [
        (include('"runtime/ops/a.hpp"'), "runtime/base/a.hpp", "runtime/ops/b.hpp"),
        (include('"runtime/ops/host/a.hpp"'), "runtime/ops/b.hpp", "runtime/ops/host/b.hpp"),
        (include('"runtime/engine/a.hpp"'), "converter/ir/a.cpp", "sdk/src/a.cpp"),
        (include('"backends/cpu/kernels/a.hpp"'), "converter/map/a.cpp", "backends/cpu/a.cpp"),
        (include('"backends/cpu/caps/a.hpp"'), "backends/opencl/a.cpp", "converter/map/a.cpp"),
        (include('"backends/cpu/caps/a.hpp"'), "sdk/src/a.cpp", "backends/cpu/a.cpp"),
        (include('"runtime/base/a.hpp"'), "sdk/tools/a.cpp", "converter/ir/a.cpp"),
        (include('"converter/driver/a.hpp"'), "sdk/tools/a.cpp", "converter/report/a.cpp"),
        (include('"tenon/converter.hpp"'), "converter/driver/a.cpp", "sdk/tools/a.cpp"),
        (include('"runtime/base/a.hpp"'), "elsewhere/a.cpp", "tests/a.cpp"),
        (include("<flatbuffers/flatbuffers.h>"), "runtime/engine/a.cpp", "runtime/format/a.cpp"),
        (include("<onnx/checker.h>"), "converter/ir/a.cpp", "converter/import/onnx/a.cpp"),
        (include("<boost/any.hpp>"), "converter/ir/a.cpp", None),
        (include('"converter/layout/a.hpp"'), "converter/cost/a.cpp", "converter/schedule/a.cpp"),
        (include('"converter/ir/graph.hpp"'), "converter/solve/order/a.cpp", "converter/cost/a.cpp"),
        (include('"converter/solve/time/a.hpp"'), "converter/solve/order/a.cpp",
         "converter/solve/map/a.cpp"),
        (include('"tenon/tenon.h"'), "converter/fold/a.cpp", "converter/measure/a.cpp"),
        (lambda back: folder_cycles({("a", "b"), ("b", "c"), (back, "a")}), "c", "d"),
        (lambda path: include_violations(path, "#include <vector>\n"), "converter/ir/a.hpp",
         "converter/ir/a.cpp"),
        (lambda name: definition_violations([
            ("a.hpp", "namespace a {\nstruct One { int x; };\nnamespace {\nclass Three {};\n}\n}"),
            ("b.cpp", f"namespace a {{\nclass {name} {{}};\n}}\n")]), "One", "Three"),
        (lambda path: word_violations(path, path), "see /hom" + "e/me/a", "see ${prefix}/lib"),
        (lambda path: word_violations(path, path), "TO" + "DO: later", "to do"),
        (lambda lines: length_violations("a.cpp", "\n" * lines), 501, 500),
        (lambda target: link_violations("README.md", f"[a]({target})"), "no/such", "LICENSE"),
        (lambda name: command_violations("| `tenon run PLAN` |\n", f"Subcommands:\n  {name}  x\n"),
         "bench", "run"),
    ]
    found = []
    for number, (check, bad, good) in enumerate(cases):
        if not list(check(bad)):
            found.append(f"case {number}: the fault '{bad}' is not found")
        if good is not None and list(check(good)):
            found.append(f"case {number}: the sound '{good}' is refused")
    return found


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


CHECKS = {check.__name__: check for check in
          (includes, definitions, words, length, docs, format, boards, selftest)}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in CHECKS:
        sys.exit(f"usage: lint.py {'|'.join(CHECKS)} [--tenon PROGRAM]")
    violations = CHECKS[sys.argv[1]]()
    print("\n".join(violations) if violations else f"{sys.argv[1]}: clean")
    sys.exit(1 if violations else 0)
