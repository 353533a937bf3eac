#!/bin/sh
# build_and_test.sh PRESET FOLDER HOST_TOOLS [REGEX TARGET...]: builds one of the bare-metal presets in
# FOLDER and runs its quick tests on the emulated board: those that REGEX names, for which these
# targets are enough, or all, and then those cases of quick tests that take long as well. Status 77,
# and the reason, where the tools are missing.
set -eu
preset=$1
folder=$2
host_tools=$3
tests=${4-.}
shift "$(($# < 4 ? $# : 4))"

for tool in arm-none-eabi-g++ qemu-system-arm; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool (toolchains/install-cortex-m.sh installs it)"
    exit 77
  fi
done
cd "$(dirname "$0")/../.."
cmake --preset "$preset" -B "$folder" -DTENON_HOST_TOOLS="$host_tools" --log-level=WARNING
cmake --build "$folder" ${1:+--target "$@"}
test_board() { ctest --test-dir "$folder" "$@" --no-tests=error -j 2 --output-on-failure; }
test_board -L quick -R "$tests"
[ "$tests" != . ] || test_board -R '_test_long$'
