#!/usr/bin/env python3
"""The packages on a clean Debian 12, and the quick starts as printed there, each timed.

usage: clean_machine_test.py SOURCE_DIR BINARY_DIR WORK_DIR

Makes the Debian packages of the build, a system of Debian's minimal packages in WORK_DIR by debootstrap,
installs with apt there, and runs what docs/quick-start.md prints for each role, with the installed `tenon`
for `build/host/bin/tenon`; then a program against the installed library, shared and static. Exit status 77:
not root, no debootstrap, or no mirror of Debian's.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

SOURCE, BINARY, WORK = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
ROOT = WORK / "root"
PACKAGES = WORK / "packages"
# What a build from sources makes, and a minimal Debian has not.
OF_A_BUILD = ("cmake --preset", "toolchains/", "./scripts")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run_inside(command):
    """Seconds that a command takes inside the clean system; ends the test if it fails."""
    begin = time.monotonic()
    done = subprocess.run(["chroot", ROOT, "/bin/sh", "-c", f"cd /src && {command}"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})
    seconds = time.monotonic() - begin
    print(f"{seconds:7.2f} s  {command}", flush=True)
    if done.returncode != 0:
        sys.exit(f"FAILED with status {done.returncode}: {command}\n{done.stdout[-3000:]}")
    return seconds


def install(*names):
    return run_inside("apt-get install -y -qq " + " ".join(names))


def packages(pattern):
    return [f"/packages/{path.name}" for path in sorted((ROOT / "packages").glob(pattern))]


def make_system():
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        skip("needs root and debootstrap")
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    subprocess.run(["cpack", "-G", "DEB", "-B", PACKAGES, "--config", BINARY / "CPackConfig.cmake", "-D",
                    f"CPACK_OUTPUT_FILE_PREFIX={PACKAGES}"], cwd=BINARY, check=True, capture_output=True)
    if subprocess.run(["debootstrap", "--variant=minbase", "bookworm", ROOT], capture_output=True).returncode != 0:
        skip("debootstrap found no mirror of Debian's")
    shutil.copy("/etc/resolv.conf", ROOT / "etc")
    (ROOT / "packages").mkdir()
    for package in PACKAGES.glob("*.deb"):
        shutil.copy(package, ROOT / "packages")
    for folder in ("docs", "sdk/models", "sdk/examples"):
        shutil.copytree(SOURCE / folder, ROOT / "src" / folder)


def quick_starts():
    """Commands by role, as docs/quick-start.md prints them."""
    roles, role = {}, ""
    for part in re.split(r"(?m)^(## .*|```sh\n(?:.*\n)*?```)$", (SOURCE / "docs/quick-start.md").read_text()):
        if part.startswith("## "):
            role = part[3:].split(":")[0]
        elif part.startswith("```sh"):
            roles.setdefault(role, []).extend(part.splitlines()[1:-1])
    return roles


def use_library():
    app = ROOT / "src/app"
    app.mkdir()
    shutil.copy(SOURCE / "sdk/examples/c_api/c_api.c", app)
    for kind, components in (("shared", " COMPONENTS shared"), ("runtime", "")):
        (app / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(app LANGUAGES C CXX)\n"
            f"find_package(tenon 0.1 REQUIRED{components})\n"
            f"add_executable(app c_api.c)\ntarget_link_libraries(app PRIVATE tenon::{kind})\n")
        run_inside(f"cmake -S app -B app/{kind} && cmake --build app/{kind} && app/{kind}/app out/digits.tenon")
    run_inside("cc app/c_api.c $(pkg-config --cflags --libs tenon-shared) -o app/by_pkg_config && "
               "app/by_pkg_config out/digits.tenon")


def main():
    make_system()
    run_inside("apt-get update -qq")
    installed = install(*packages("libtenon0*"), *packages("tenon-tools*"))
    for role, commands in quick_starts().items():
        seconds = sum(run_inside(command.replace("build/host/bin/tenon", "tenon")) for command in commands
                      if not command.startswith(OF_A_BUILD))
        print(f"{role}: {installed + seconds:.1f} s, installing included")
    install(*packages("libtenon-dev*"))
    install("g++", "cmake", "make", "pkg-config")
    use_library()


main()
