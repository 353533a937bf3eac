#!/usr/bin/env python3
"""Builds the Python package's wheel from a build folder, and tests it where there is no build.

usage: scripts/build_wheel.py [BUILD_DIR] [--output DIR] [--test]

BUILD_DIR (build/host) was configured with TENON_PYTHON. With auditwheel and patchelf on this machine
the wheel brings along the libraries that it needs, all but a device's driver, and is tagged for
every Linux with this C library or a newer one; without them it says so, and works where Debian's
packages of these libraries are. --test installs it into a fresh virtual environment and runs the
package's tests there.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
# Belongs to a device's driver, of which a machine has one version.
EXCLUDED = ["libxrt_coreutil.so.2"]


def run(*words, **options):
    """Tools installed beside this Python come before the system's."""
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    options.setdefault("env", os.environ | {"PATH": path})
    print("+", " ".join(map(str, words)), flush=True)
    subprocess.run([str(word) for word in words], check=True, **options)


def version():
    text = (SOURCE / "sdk/include/tenon/version.h").read_text()
    lines = [line.split() for line in text.splitlines() if line.startswith("#define TENON_VERSION_")]
    return ".".join(line[2] for line in lines if len(line) == 3 and line[2].isdigit())


def copy_program(source, target, rpath):
    """A stripped copy that finds its libraries relative to itself."""
    shutil.copy(source.resolve(), target)
    run("strip", "--strip-unneeded", target)
    run("patchelf", "--set-rpath", rpath, target)


def stage(build, folder):
    """What the wheel holds, without its description."""
    package = folder / "tenon"
    (package / "bin").mkdir(parents=True)
    for path in (SOURCE / "python/tenon").iterdir():
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            shutil.copy(path, package)
    native = next((build / "python/tenon").glob("_runtime.*.so"), None)
    if native is None:
        sys.exit(f"build_wheel.py: error: '{build}' has no Python package: configure with "
                 "TENON_PYTHON=ON, build target tenon_python")
    copy_program(native, package / native.name, "$ORIGIN")
    for library in sorted((build / "shared").glob("libtenon*.so.*")):
        if library.is_symlink():  # by its SONAME
            copy_program(library, package / library.name, "$ORIGIN")
    copy_program(build / "package/bin/tenon", package / "bin/tenon", "$ORIGIN/..")
    return native.name


def numpy_wanted(build):
    """pybind11 before 2.12 works with NumPy 1 alone (python/src/module.cpp)."""
    cache = (build / "CMakeCache.txt").read_text()
    folder = pathlib.Path(re.search(r"^pybind11_DIR:PATH=(.*)$", cache, re.MULTILINE)[1])
    text = (folder / "pybind11ConfigVersion.cmake").read_text()
    number = re.search(r'set\(PACKAGE_VERSION "(\d+)\.(\d+)', text)
    return "numpy>=1.22" if (int(number[1]), int(number[2])) >= (2, 12) else "numpy>=1.22,<2"


def describe(build, folder, native):
    """Writes the wheel's description; returns its tag."""
    python = "cp" + native.split("cpython-")[1].split("-")[0]
    tag = f"{python}-{python}-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = folder / f"tenon-{version()}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: tenon\nVersion: {version()}\n"
        "Summary: Embedded inference for heterogeneous edge accelerators\n"
        f"License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: {numpy_wanted(build)}\n"
        "Description-Content-Type: text/markdown\n\n"
        + (SOURCE / "docs/python.md").read_text())
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: tenon build_wheel\n"
                                f"Root-Is-Purelib: false\nTag: {tag}\n")
    (info / "entry_points.txt").write_text("[console_scripts]\ntenon = tenon.__main__:main\n")
    shutil.copy(SOURCE / "LICENSE", info)
    return tag


def pack(folder, wheel):
    """A zip file with a record of every file's digest."""
    record = f"tenon-{version()}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if not path.is_file():
                continue
            name = path.relative_to(folder).as_posix()
            digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest())
            lines.append(f"{name},sha256={digest.rstrip(b'=').decode()},{path.stat().st_size}")
            archive.write(path, name)
        archive.writestr(record, "\n".join([*lines, f"{record},,"]) + "\n")


def make(build, output):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tag = describe(build, folder / "wheel", stage(build, folder / "wheel"))
        plain = folder / f"tenon-{version()}-{tag}.whl"
        pack(folder / "wheel", plain)
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob("tenon-*.whl"):
            old.unlink()
        beside = pathlib.Path(sys.executable).with_name("auditwheel")
        auditwheel = beside if beside.exists() else shutil.which("auditwheel")
        if auditwheel is None:
            print("build_wheel.py: no auditwheel here: the wheel needs the libraries of "
                  "scripts/install-dependencies.sh where it is installed")
            return pathlib.Path(shutil.copy(plain, output))
        excluded = [word for library in EXCLUDED for word in ("--exclude", library)]
        run(auditwheel, "repair", "-w", output, *excluded, plain)
        return next(output.glob("tenon-*.whl"))


def test(wheel):
    """Installs into a fresh environment and runs the tests there, away from the tree."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(sys.executable, "-m", "venv", folder / "venv")
        python = folder / "venv/bin/python"
        run(python, "-m", "pip", "install", "-q", wheel)
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("PYTHONPATH", "LD_LIBRARY_PATH", "XILINX_XRT")}
        environment["SOURCE_DIR"] = str(SOURCE)
        shutil.copytree(SOURCE / "python/tests", folder / "tests")
        for test in ("test_tenon.py", "test_hazards.py"):
            run(python, folder / "tests" / test, cwd=folder, env=environment)
        run(folder / "venv/bin/tenon", "--version", cwd=folder, env=environment)
        run(python, "-c", "import tenon; print(tenon.backends(), tenon.__file__)", cwd=folder,
            env=environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=SOURCE / "build/host")
    parser.add_argument("--output", type=pathlib.Path, help="folder of the wheel (BUILD_DIR/wheel)")
    parser.add_argument("--test", action="store_true", help="install and test it")
    given = parser.parse_args()
    wheel = make(given.build.resolve(), (given.output or given.build / "wheel").resolve())
    print(f"{wheel}: {wheel.stat().st_size} bytes")
    if given.test:
        test(wheel)


if __name__ == "__main__":
    main()
