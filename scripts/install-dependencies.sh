#!/bin/sh
# Installs what building and testing Tenon needs on Debian 12. Does nothing where all is there.
set -eu

# Compiler and tools; FlatBuffers (runtime and converter); oneDNN, whose CMake package wants OpenCL
# (CPU backend); ONNX and Protobuf, JSON, command line and text formatting (converter and `tenon`);
# doctest, Python and pkg-config (tests); benchmark (micro-benchmarks); PoCL, an OpenCL device made of
# CPU cores, and oclgrind, which checks kernels (OpenCL backend).
packages="
  cmake g++ ninja-build pkg-config python3
  libflatbuffers-dev flatbuffers-compiler
  libdnnl-dev ocl-icd-opencl-dev opencl-headers
  libonnx-dev libprotobuf-dev protobuf-compiler
  nlohmann-json3-dev libcli11-dev libfmt-dev
  doctest-dev libbenchmark-dev
  pocl-opencl-icd oclgrind
"

missing=""
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
  echo "dependencies: all there"
  exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-dependencies.sh: error: needs root or sudo to install:$missing" >&2
    exit 1
  fi
  as_root=sudo
fi
echo "dependencies: installing$missing"
$as_root apt-get update -q
# shellcheck disable=SC2086  # one word per package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
