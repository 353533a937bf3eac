#!/bin/sh
# build_and_test.sh PRESET FOLDER HOST_TOOLS: builds one of the bare-metal presets in FOLDER and runs
# its quick tests on the emulated board. Status 77, and the reason, where the tools are missing.
set -eu
preset=$1
folder=$2
host_tools=$3

for tool in arm-none-eabi-g++ qemu-system-arm; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool (toolchains/install-cortex-m.sh installs it)"
    exit 77
  fi
done
cd "$(dirname "$0")/../.."
cmake --preset "$preset" -B "$folder" -DTENON_HOST_TOOLS="$host_tools" --log-level=WARNING
cmake --build "$folder"
exec ctest --test-dir "$folder" -L quick -j 2 --output-on-failure
