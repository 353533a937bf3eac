#!/bin/sh
# Installs what the Linux cross presets need on Debian or Ubuntu: cross compilers and qemu-user; and,
# with --opencl, the OpenCL loader of arm64 for programs that run under emulation.
# Usage: install-linux-cross.sh [--opencl] [aarch64] [arm] [riscv64]   (default: all three)
set -eu

sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
opencl=no
targets=""
for argument in "$@"; do
  case "$argument" in
    --opencl) opencl=yes ;;
    aarch64 | arm | riscv64) targets="$targets $argument" ;;
    *)
      echo "usage: $0 [--opencl] [aarch64] [arm] [riscv64]" >&2
      exit 2
      ;;
  esac
done
[ -n "$targets" ] || targets="aarch64 arm riscv64"

packages="qemu-user-static qemu-user"
for target in $targets; do
  case "$target" in
    aarch64) packages="$packages g++-aarch64-linux-gnu" ;;
    arm) packages="$packages g++-arm-linux-gnueabihf" ;;
    riscv64) packages="$packages g++-riscv64-linux-gnu" ;;
  esac
done
if [ "$opencl" = yes ]; then
  $sudo dpkg --add-architecture arm64
  packages="$packages ocl-icd-libopencl1:arm64"
fi

$sudo apt-get update
# shellcheck disable=SC2086
$sudo apt-get install --yes --no-install-recommends $packages
