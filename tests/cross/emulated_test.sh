#!/bin/sh
# Builds a target's preset in a folder of its own and runs its tests under emulation.
# Usage: emulated_test.sh SOURCE BUILD HOST_BIN TARGET quick|full
# TARGET: aarch64-linux-gnu, arm-linux-gnueabihf or riscv64-linux-gnu. quick: the kernels of its
# instruction sets, all operators and some models; full: all of its tests. 77: skipped, with the reason.
set -eu
source=$1
build=$2
host_bin=$3
target=$4
extent=$5

skip() {
  echo "skipped: $1 (toolchains/install-linux-cross.sh installs it)"
  exit 77
}
case $target in
  aarch64-*) qemu=qemu-aarch64 ;;
  arm-*) qemu=qemu-arm ;;
  *) qemu=qemu-riscv64 ;;
esac
command -v "$target-g++" > /dev/null || skip "no $target-g++"
command -v "$qemu-static" > /dev/null || command -v "$qemu" > /dev/null || skip "no $qemu"

if [ "$extent" = quick ]; then
  kernels="q8_conv_test q8_matmul_test q8_depthwise_test f32_matmul_test"
  programs="$kernels plan_server"
  tests="$(echo "$kernels" | tr ' ' '|')|target_conformance|target_tflite_models|target_quantized_random"
  if [ "$target" = aarch64-linux-gnu ]; then
    programs="$programs kernel_instructions count_instructions"
    tests="$tests|kernel_instructions_test|.*_without_dot_products"
  fi
  cmake -S "$source" -B "$build" --preset "$target" -DTENON_HOST_TOOLS="$host_bin" \
    -DTENON_BACKEND_OPENCL=OFF -DTENON_EXAMPLES=OFF > /dev/null
  # shellcheck disable=SC2086
  cmake --build "$build" --target $programs
  exec ctest --test-dir "$build" --output-on-failure --no-tests=error -R "^($tests)\$"
fi
cmake -S "$source" -B "$build" --preset "$target" -DTENON_HOST_TOOLS="$host_bin" > /dev/null
cmake --build "$build"
exec ctest --test-dir "$build" --output-on-failure --no-tests=error
