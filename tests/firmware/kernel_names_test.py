#!/usr/bin/env python3
"""Kernels' link names are their ids: `tenon_kernel_` and the id with '_' for '.'.

usage: kernel_names_test.py NM ARCHIVE...
"""

import pathlib
import re
import subprocess
import sys


def main():
    nm, archives = sys.argv[1], sys.argv[2:]
    symbols = set()
    ids = set()
    for archive in archives:
        listing = subprocess.run([nm, "--defined-only", archive], check=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        symbols |= set(re.findall(r" [RVDrd] (tenon_kernel_\w+)$", listing.stdout, re.MULTILINE))
        ids |= {found.decode() for found in
                re.findall(rb"cpu\.[a-z0-9_]+\.[a-z0-9_]+(?=\0)", pathlib.Path(archive).read_bytes())}
    names = {"tenon_kernel_" + kernel.replace(".", "_") for kernel in ids}
    print(f"{len(symbols)} kernels with link names, {len(ids)} ids")
    for name in sorted(symbols - names):
        print(f"FAILED: no kernel has the id that '{name}' stands for")
    for name in sorted(names - symbols):
        print(f"FAILED: a kernel's id wants the link name '{name}'")
    sys.exit(0 if symbols and symbols == names else 1)


main()
