#!/usr/bin/env python3
"""Makes the Debian packages and the tarball of a build, and uses what is in them.

usage: packages_test.py SOURCE_DIR BINARY_DIR WORK_DIR

Packages are unpacked, not installed: this machine stays as it is.
"""

import pathlib
import re
import shutil
import subprocess
import sys

SOURCE, BINARY, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
APP = SOURCE / "tests/install/shared_app"


def run(*command, **options):
    words = [str(word) for word in command]
    print("+", " ".join(words), flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)
    print(done.stdout[-4000:], flush=True)
    if done.returncode != 0:
        sys.exit(f"FAILED with status {done.returncode}: {' '.join(words)}")
    return done.stdout


def pack(generator):
    """The packages that CPack makes of the build as it stands."""
    folder = WORK / generator
    run("cpack", "-G", generator, "-B", folder, "--config", BINARY / "CPackConfig.cmake",
        "-D", f"CPACK_OUTPUT_FILE_PREFIX={folder}", cwd=BINARY)
    pattern = "*.deb" if generator == "DEB" else "*.tar.gz"
    return sorted(folder.glob(pattern))


def field(package, name):
    return subprocess.run(["dpkg-deb", "-f", package, name], check=True, text=True,
                          capture_output=True).stdout.strip()


def build_app(name, prefix):
    build = WORK / name
    run("cmake", "-S", APP, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    return build / "shared_app"


def backends(printed):
    return re.findall(r"backend (\w+)", printed)


def use(prefix, name):
    """The command and a program with the shared library run from there."""
    run(prefix / "bin/tenon", "--version")
    plan = WORK / f"{name}.tenon"
    run(prefix / "bin/tenon", "convert", SOURCE / "sdk/models/digits/digits.onnx", "-o", plan,
        "--board", "x86-64", "--batch", "1")
    if "probability" not in run(prefix / "bin/tenon", "run", plan, "--zeros"):
        sys.exit("FAILED: the plan's output is not printed")
    return backends(run(build_app(name, prefix)))


def check_development_package(package):
    """What the CMake package looks for, and says where Debian has it, is what the package brings along."""
    brought = set(re.findall(r"[\w.+-]+", field(package, "Depends") + " " + field(package, "Recommends")))
    folder = WORK / "development"
    run("dpkg-deb", "-x", package, folder)
    for module in sorted(folder.rglob("cmake/tenon/Find*.cmake")):
        for names in re.findall(r"Debian has it in ([^\"]+)", module.read_text()):
            for name in names.split(" and "):
                if name not in brought:
                    sys.exit(f"FAILED: libtenon-dev does not bring '{name}', which {module.name} wants")


def check_debs():
    packages = {field(package, "Package"): package for package in pack("DEB")}
    print(sorted(packages))
    library = next(name for name in packages if name.startswith("libtenon0"))
    for name in ("tenon-tools", "libtenon-dev"):
        if name not in packages:
            sys.exit(f"FAILED: no package '{name}'")
    if "libc6" not in field(packages[library], "Depends"):
        sys.exit("FAILED: the library's package does not name the libraries that it needs")
    if "libxrt" in field(packages["tenon-tools"], "Depends"):
        sys.exit("FAILED: the command's package needs a device's driver")
    check_development_package(packages["libtenon-dev"])
    root = WORK / "root"
    devices = [name for name in packages if name.startswith("tenon-backend-")]
    for name, package in packages.items():
        if name not in devices:
            run("dpkg-deb", "-x", package, root)
    if use(root / "usr", "by_deb") != ["cpu"]:
        sys.exit("FAILED: without their packages there are backends of devices")
    for name in devices:
        run("dpkg-deb", "-x", packages[name], root)
    found = backends(run(WORK / "by_deb/shared_app"))
    if found != ["cpu", *(name.removeprefix("tenon-backend-") for name in ("tenon-backend-opencl",
                          "tenon-backend-fpga") if name in devices)]:
        sys.exit(f"FAILED: with the packages {devices} there are the backends {found}")


def check_tarball():
    (tarball,) = pack("TGZ")
    moved = WORK / "somewhere else"
    moved.mkdir()
    run("tar", "xzf", tarball, "-C", moved, "--strip-components=1")
    use(moved, "by_tarball")


def check_sources():
    """All that git tracks, and nothing that was built: a build folder may lie among the sources."""
    run("cpack", "-B", WORK / "source", "--config", BINARY / "CPackSourceConfig.cmake",
        "-D", f"CPACK_OUTPUT_FILE_PREFIX={WORK / 'source'}", cwd=BINARY)
    (tarball,) = (WORK / "source").glob("tenon-*-source.tar.gz")
    names = subprocess.run(["tar", "tzf", tarball], check=True, text=True, capture_output=True).stdout.splitlines()
    packed = {name.partition("/")[2] for name in names if not name.endswith("/")}
    tracked = set(subprocess.run(["git", "-C", SOURCE, "ls-files"], check=True, text=True,
                                 capture_output=True).stdout.splitlines())
    built = [name for name in packed if name.startswith(("build/", ".git/")) or "/__pycache__/" in name]
    if built or not tracked <= packed:
        sys.exit(f"FAILED: packed {built[:5]}, missing {sorted(tracked - packed)[:5]}")


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    if (SOURCE / ".git").exists():
        check_sources()
    check_tarball()
    check_debs()


main()
