#!/bin/sh
# Installs what building and testing Tenon needs on Debian 12. Does nothing where all is there.
set -eu
cd "$(dirname "$0")/.."

# Compiler and tools; FlatBuffers (runtime and converter); oneDNN, whose CMake package wants OpenCL
# (tests and benchmarks compare with it); ONNX and Protobuf, JSON, command line and text formatting, CBC, which solves
# mixed-integer programs (converter and `tenon`);
# doctest, Python and pkg-config (tests); pybind11 and NumPy (the Python
# package); benchmark (micro-benchmarks); PoCL, an OpenCL device made of CPU cores, and oclgrind, which checks kernels (OpenCL backend); Xilinx XRT (FPGA backend), Verilator
# and yosys (its simulated board, and what its accelerator takes of a chip; no package of Debian's has the
# yosys that reads all of the accelerator: backends/fpga/rtl/README.md); stb_image (examples with pictures).
packages="
  cmake g++ ninja-build pkg-config python3
  libflatbuffers-dev flatbuffers-compiler
  libdnnl-dev ocl-icd-opencl-dev opencl-headers
  libonnx-dev libprotobuf-dev protobuf-compiler
  nlohmann-json3-dev libcli11-dev libfmt-dev
  coinor-libcbc-dev
  doctest-dev libbenchmark-dev
  pocl-opencl-icd oclgrind
  python3-dev python3-numpy pybind11-dev
  libxrt-dev libxrt1 uuid-dev verilator yosys
  libstb-dev
"

# shellcheck disable=SC2086  # one word per package
./toolchains/install-packages.sh $packages
# Firmware is built and run in emulation by the tests.
./toolchains/install-cortex-m.sh
