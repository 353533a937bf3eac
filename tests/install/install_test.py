#!/usr/bin/env python3
"""Installs a build into a fresh prefix and uses it as a stranger would.

usage: install_test.py SOURCE_DIR BINARY_DIR WORK_DIR [--converter] [--shared]

Moves the installed tree once, so that a path of the build that slipped into it is found out. Builds
every example by find_package, the C one by pkg-config too, and the README's snippets; runs them on
the shipped model and looks at what they print.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE, BINARY, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
CONVERTER = "--converter" in sys.argv[4:]
SHARED = "--shared" in sys.argv[4:]
PREFIX = WORK / "moved"
DIGITS = SOURCE / "sdk/models/digits"
PLAN = WORK / "digits.tenon"


def run(*command, **options):
    words = [str(word) for word in command]
    print("+", " ".join(words), flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)
    print(done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"FAILED with status {done.returncode}: {' '.join(words)}")
    return done.stdout


def expect(pattern, text):
    if not re.search(pattern, text):
        sys.exit(f"FAILED: no '{pattern}' in:\n{text}")


def install():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    run("cmake", "--install", BINARY, "--prefix", WORK / "first")
    (WORK / "first").rename(PREFIX)
    converter = [f"include/tenon/{name}.hpp" for name in ("converter", "inspect", "profiler")]
    for path in ("bin/tenon", "include/tenon/tenon.h", "include/tenon/tenon.hpp",
                 "share/tenon/boards/x86-64.json", "share/tenon/schema/board.schema.json",
                 *(converter if CONVERTER else [])):
        if not (PREFIX / path).is_file():
            sys.exit(f"FAILED: '{path}' is not installed")
    for path in PREFIX.rglob("*"):
        if path.suffix in (".cmake", ".pc", ".h", ".hpp", ".json"):
            text = path.read_text()
            for leak in (str(SOURCE), str(WORK)):
                if leak in text:
                    sys.exit(f"FAILED: '{path.relative_to(PREFIX)}' names '{leak}'")


def build_by_cmake(source, name):
    """Path of the program `name` that the project in `source` builds."""
    build = WORK / "build" / name
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={PREFIX}")
    run("cmake", "--build", build)
    return build / name


def build_by_pkg_config(source, name, package="tenon", *more):
    folder = next(PREFIX.rglob("tenon.pc")).parent
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], check=True, text=True,
                           capture_output=True, env={"PKG_CONFIG_PATH": str(folder),
                                                     "PATH": "/usr/bin:/bin"}).stdout.split()
    program = WORK / name
    compiler = ["cc", "-std=c11"] if source.suffix == ".c" else ["c++", "-std=c++17"]
    run(*compiler, "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags, *more)
    return program


def readme_snippet(language):
    """The one block of README.md in this language."""
    blocks = re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", (SOURCE / "README.md").read_text(),
                        re.MULTILINE | re.DOTALL)
    if len(blocks) != 1:
        sys.exit(f"FAILED: README.md has {len(blocks)} blocks of {language}, not 1")
    return blocks[0]


def check_readme():
    """The README's CMakeLists, C++ and C programs build and run as they stand there."""
    project = WORK / "readme"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(readme_snippet("cmake"))
    (project / "app.cpp").write_text(readme_snippet("cpp"))
    (project / "app.c").write_text(readme_snippet("c"))
    shutil.copy(PLAN, project / "model.tenon")
    expect(r"first score: 0\.\d+", run(build_by_cmake(project, "app"), cwd=project))
    expect(r"first score: 0\.\d+", run(build_by_pkg_config(project / "app.c", "app_c"),
                                       cwd=project))


def check_shared():
    """Programs with the shared library run; backends of devices come with their modules."""
    library = next(PREFIX.rglob("libtenon.so")).parent
    source = SOURCE / "tests/install/shared_app"
    app = build_by_cmake(source, "shared_app")
    printed = run(app)
    expect(r"version \d+\.\d+\.\d+, headers", printed)
    expect(r"backend cpu\n", printed)
    modules = sorted(library.glob("libtenon_backend_*.so.*.*.*"))
    names = [re.search(r"backend_(\w+)\.so", module.name)[1] for module in modules]
    for name in names:
        expect(rf"backend {name}\n", printed)
    for module in library.glob("libtenon_backend_*.so*"):
        module.rename(module.with_name("aside_" + module.name))
    if re.findall(r"backend (\w+)", run(app)) != ["cpu"]:
        sys.exit("FAILED: a backend is there whose module is not")
    for module in library.glob("aside_*"):
        module.rename(module.with_name(module.name.removeprefix("aside_")))
    by_pkg_config = build_by_pkg_config(source / "shared_app.c", "shared_app_by_pkg_config",
                                        "tenon-shared")
    expect(r"backend cpu\n", run("env", f"LD_LIBRARY_PATH={library}", by_pkg_config))


def check_examples():
    """The examples with pictures (where stb_image is) and sound, and a backend in a library."""
    keywords = build_by_cmake(SOURCE / "sdk/examples/keywords", "keywords")
    answer = subprocess.run([keywords], stderr=subprocess.PIPE, text=True, check=False)
    expect("usage: keywords PLAN", answer.stderr)
    if pathlib.Path("/usr/include/stb/stb_image.h").is_file():
        classify = build_by_cmake(SOURCE / "sdk/examples/pictures", "classify_picture")
        picture = WORK / "picture.ppm"
        picture.write_bytes(b"P6\n8 8\n255\n" + bytes(192))
        expect(r"class \d 0\.\d+", run(classify, PLAN, picture, "--scale", "0.0039"))
    module = build_by_cmake(SOURCE / "sdk/examples/backend_module", "libbackend_module.so")
    board = json.loads((PREFIX / "share/tenon/boards/x86-64.json").read_text())
    board["units"].append({**board["units"][0], "name": "own", "backend": "mine"})
    board["priorities"].append({"backend": "mine", "op": "unary", "priority": 1})
    (WORK / "board.json").write_text(json.dumps(board))
    own = WORK / "own.tenon"
    run(PREFIX / "bin/tenon", "convert", DIGITS / "digits.onnx", "-o", own, "--board", WORK / "board.json",
        "--batch", "1", "--backend", module, "--fuse=off")
    expect(r"probability", run(PREFIX / "bin/tenon", "run", own, "--zeros", "--backend", module))


def check_weights():
    """What a stripped program weighs stays what docs/packages.md says, a tenth more at most."""
    source = SOURCE / "sdk/examples/c_api/c_api.c"
    files = {"static": build_by_pkg_config(source, "weighed_static", "tenon", "-Os",
                                           "-Wl,--gc-sections")}
    if SHARED:
        files["shared"] = build_by_pkg_config(source, "weighed_shared", "tenon-shared", "-Os")
        files["library"] = WORK / "weighed_library"
        shutil.copy(next(PREFIX.rglob("libtenon.so")), files["library"])
    page = (SOURCE / "docs/packages.md").read_text()
    for kind, program in files.items():
        run("strip", program)
        said = int(re.search(rf"^\| {kind} \|.*\| ([\d,]+) \|$", page, re.MULTILINE)[1]
                   .replace(",", ""))
        weight = os.path.getsize(program)
        print(f"stripped, {kind}: {weight} bytes, said {said}")
        if not said * 0.5 <= weight <= said * 1.1:
            sys.exit(f"FAILED: stripped, '{kind}' of docs/packages.md has {weight} bytes, not {said}")


def main():
    install()
    run(PREFIX / "bin/tenon", "--version")
    if not CONVERTER:
        return
    expect(r"x86-64", run(PREFIX / "bin/tenon", "boards"))
    convert = build_by_cmake(SOURCE / "sdk/examples/convert", "convert")
    expect(r"\d+ bytes", run(convert, DIGITS / "digits.onnx", "x86-64", PLAN))
    by_command = WORK / "by_command.tenon"
    run(PREFIX / "bin/tenon", "convert", DIGITS / "digits.onnx", "-o", by_command, "--board",
        PREFIX / "share/tenon/boards/x86-64.json", "--batch", "1")

    classify = build_by_cmake(SOURCE / "sdk/examples/classify", "classify")
    for plan in (PLAN, by_command):
        expect(r"358 of 360 images right", run(classify, plan, "--labels",
                                              DIGITS / "held_out_labels.npy",
                                              DIGITS / "held_out_images.npy"))
    sample = DIGITS / "samples/image_15_is_7.npy"
    expect(r"-> 7 ", run(classify, PLAN, sample))

    own = build_by_cmake(SOURCE / "sdk/examples/own_backend", "own_backend")
    expect(r"own softmax ran 1 time\(s\), outputs add up to 1\.000", run(own, PLAN))

    c_source = SOURCE / "sdk/examples/c_api"
    expect(r"probability: 40 bytes", run(build_by_cmake(c_source, "c_api"), PLAN))
    expect(r"probability: 40 bytes",
           run(build_by_pkg_config(c_source / "c_api.c", "c_api_by_pkg_config"), PLAN))
    check_readme()
    check_examples()
    if SHARED:
        check_shared()
    check_weights()


if __name__ == "__main__":
    main()
