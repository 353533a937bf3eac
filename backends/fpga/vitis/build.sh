#!/bin/sh
# Makes accelerator.xclbin for a board with Vivado and Vitis. Not run where this was written: README.md.
# usage: build.sh kv260|zcu104 --platform FILE.xpfm -o FOLDER [--build BUILD] [NAME=VALUE...]
#   --build      the project's build folder, for the description of the kernel; build/host by default
#   NAME=VALUE   parameters of the accelerator's top module
set -eu
here=$(cd "$(dirname "$0")" && pwd)
usage() {
  sed -n '3,5s/^# //p' "$0" >&2
  exit 2
}

[ $# -gt 0 ] || usage
board=$1
shift
platform='' output='' build=$here/../../../build/host parameters=''
while [ $# -gt 0 ]; do
  case $1 in
    --platform) platform=$2; shift 2 ;;
    -o) output=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    *=*) parameters="$parameters $1"; shift ;;
    *) usage ;;
  esac
done
if [ -z "$platform" ] || [ -z "$output" ]; then usage; fi
case $board in
  kv260) part=xck26-sfvc784-2LV-c ;;
  zcu104) part=xczu7ev-ffvc1156-2-e ;;
  *) usage ;;
esac
for program in vivado v++; do
  command -v "$program" >/dev/null || {
    echo "$program is not there: source settings64.sh of Vitis" >&2
    exit 5
  }
done
describe=$build/bin/tenon_fpga_xclbin
[ -x "$describe" ] || {
  echo "$describe is not there: cmake --build --preset host --target tenon_fpga_xclbin" >&2
  exit 5
}

mkdir -p "$output"
output=$(cd "$output" && pwd)
cd "$output"
"$describe" "$board" kernel.xml
# shellcheck disable=SC2086  # one word per parameter
vivado -mode batch -log vivado.log -journal vivado.jou -source "$here/package_kernel.tcl" \
  -tclargs "$part" "$here/../rtl" accelerator tenon_cnn kernel.xml tenon_cnn.xo $parameters
v++ --link --target hw --platform "$platform" --config "$here/$board.cfg" --save-temps \
  --temp_dir link -o accelerator.xclbin tenon_cnn.xo
echo "$output/accelerator.xclbin"
