#!/usr/bin/env python3
"""The firmware runtime as one folder of sources, for builds that are not CMake's own.

    scripts/make_firmware_library.py -o FOLDER [--build build/cortex-m7] [--build build/cortex-m55]

FOLDER becomes a library for Arduino (library.properties) and PlatformIO (library.json), and a module
for Zephyr (zephyr/module.yml, CONFIG_TENON): one tree of sources for all three. Each --build is a
configured and built folder of a firmware preset, which says what files belong to the library; what
only one of them has is compiled for its instruction set alone. Needs the headers of FlatBuffers, as
the builds do. Models come from `tenon convert --emit=c`, as docs/firmware.md says."""
import argparse
import json
import pathlib
import re
import shutil
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
LIBRARY_FOLDERS = ("runtime/", "backends/", "sdk/src/")
LIBRARY_OBJECTS = ("runtime/", "backends/", "sdk/CMakeFiles/")  # tests compile some files otherwise
# What only builds with Helium have, or only those without, is for cores with or without it.
HELIUM = "defined(__ARM_FEATURE_MVE)"
CONFIG = "tenon_library_config.h"
DESCRIPTION = "Runs neural networks that 'tenon convert' has compiled for a microcontroller"
KEYWORDS = "neural network, inference, machine learning, quantized"


def sources_of(build):
    """The library's files that the folder compiles, relative to the project."""
    commands = json.loads((build / "compile_commands.json").read_text())
    files = set()
    for entry in commands:
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        target = re.search(r" -o (\S+)", entry["command"])[1]
        if path.is_relative_to(SOURCE) and target.startswith(LIBRARY_OBJECTS):
            relative = path.relative_to(SOURCE).as_posix()
            if relative.startswith(LIBRARY_FOLDERS):
                files.add(relative)
    if not files:
        sys.exit(f"{build} compiles nothing of the library: is it a firmware build?")
    return files


def guarded_sources(builds):
    """Every file, with the condition under which it is compiled, or none."""
    with_helium, without = set(), set()
    for build in builds:
        files = sources_of(build)
        (with_helium if any("/helium/" in file for file in files) else without).update(files)
    if not with_helium or not without:
        return dict.fromkeys(with_helium | without)
    return {file: None if file in with_helium and file in without else
            HELIUM if file in with_helium else f"!{HELIUM}" for file in with_helium | without}


def included(file, roots):
    """Files that this one includes by quotes, directly, where they are in a root."""
    for name in re.findall(r'^\s*#include "([^"]+)"', file.read_text(), re.MULTILINE):
        for root in roots:
            if (root / name).exists():
                yield name, root / name
                break


def copy_headers(files, folder, roots):
    """Copies what the sources include, and what that includes."""
    queue, known = [SOURCE / file for file in files], set()
    while queue:
        for name, path in included(queue.pop(), roots):
            if name in known:
                continue
            known.add(name)
            queue.append(path)
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def copy_sources(guards, folder):
    for file, guard in guards.items():
        text = f'#include "{CONFIG}"\n' + (SOURCE / file).read_text()
        if guard:
            text = f"#if {guard}\n{text}#endif  // {guard}\n"
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def version():
    text = (SOURCE / "sdk/include/tenon/version.h").read_text()
    return ".".join(re.search(rf"define TENON_VERSION_{part} (\d+)", text)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def write_descriptions(folder, files, url):
    (folder / "src" / CONFIG).write_text(
        "// The runtime of firmware: one worker, no devices, errors as numbers (scripts/explain.py).\n"
        "#pragma once\n#ifndef TENON_FIRMWARE\n#define TENON_FIRMWARE\n#endif\n"
        "#ifndef TENON_WITHOUT_WORDS\n#define TENON_WITHOUT_WORDS\n#endif\n")
    (folder / "src" / "Tenon.h").write_text(
        '// For sketches: the whole interface.\n#pragma once\n#include "tenon/tenon.h"\n')
    (folder / "library.properties").write_text(
        f"name=Tenon\nversion={version()}\nauthor=Tenon\nmaintainer=Tenon\nsentence={DESCRIPTION}.\n"
        "paragraph=The model is compiled on a workstation to C source with a plan that stays in flash; "
        "memory is the sketch's.\ncategory=Data Processing\n"
        f"url={url}\narchitectures=*\nincludes=Tenon.h\n")
    (folder / "library.json").write_text(json.dumps({
        "name": "Tenon", "version": version(), "description": DESCRIPTION, "keywords": KEYWORDS,
        "license": "Apache-2.0", "frameworks": "*", "platforms": "*", "headers": "Tenon.h",
        "build": {"srcDir": "src", "includeDir": "src", "flags": [
            "-std=gnu++17", "-fno-exceptions", "-fno-rtti", "-ffp-contract=off"]}}, indent=2) + "\n")
    zephyr = folder / "zephyr"
    zephyr.mkdir()
    (zephyr / "module.yml").write_text(
        "name: tenon\nbuild:\n  cmake: zephyr\n  kconfig: zephyr/Kconfig\n")
    (zephyr / "Kconfig").write_text(
        "config TENON\n\tbool \"Tenon, a runtime for neural networks\"\n\tdepends on CPP\n"
        "\tdepends on STD_CPP17 || STD_CPP20 || STD_CPP2B\n\thelp\n"
        f"\t  {DESCRIPTION}.\n")
    listed = "".join(f"  ${{TENON_SOURCES}}/{file}\n" for file in sorted(files))
    (zephyr / "CMakeLists.txt").write_text(
        "if(CONFIG_TENON)\n  set(TENON_SOURCES ${CMAKE_CURRENT_LIST_DIR}/../src)\n"
        "  zephyr_include_directories(${TENON_SOURCES})\n  zephyr_library_named(tenon)\n"
        "  zephyr_library_compile_options(-ffp-contract=off\n"
        "    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions> $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)\n"
        f"  zephyr_library_sources(\n{listed}  )\nendif()\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True,
                        help="a folder that is not there yet")
    parser.add_argument("--build", type=pathlib.Path, action="append",
                        help="default: build/cortex-m7 and build/cortex-m55")
    parser.add_argument("--flatbuffers", type=pathlib.Path, default=pathlib.Path("/usr/include"),
                        help="the folder with flatbuffers/flatbuffers.h")
    parser.add_argument("--url", default="",
                        help="where the library can be had: what Arduino's index wants before it lists one")
    options = parser.parse_args()
    if options.output.exists():
        sys.exit(f"{options.output} is there already")
    builds = [folder.resolve() for folder in options.build or
              [SOURCE / "build" / name for name in ("cortex-m7", "cortex-m55")]]
    guards = guarded_sources(builds)
    source = options.output / "src"
    source.mkdir(parents=True)
    schema = next(path.parent for build in builds for path in build.rglob("plan_generated.h"))
    copy_headers(guards, source, [SOURCE, SOURCE / "sdk/include", schema])
    shutil.copyfile(schema / "plan_generated.h", source / "plan_generated.h")
    shutil.copytree(options.flatbuffers / "flatbuffers", source / "flatbuffers")
    for header in (SOURCE / "sdk/include/tenon").glob("*.h"):
        if header.name != "debug.h":
            (source / "tenon").mkdir(exist_ok=True)
            shutil.copyfile(header, source / "tenon" / header.name)
    copy_sources(guards, source)
    write_descriptions(options.output, guards, options.url)
    shutil.copyfile(SOURCE / "LICENSE", options.output / "LICENSE")
    print(f"{options.output}: {len(guards)} sources")


if __name__ == "__main__":
    main()
