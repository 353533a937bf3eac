#!/bin/sh
# run-cortex-m.sh MACHINE PROGRAM [ARGUMENT...]: runs a firmware program on one of QEMU's boards.
# Its output and exit status come back over semihosting, through which it may also read and write
# files here. TENON_QEMU_OPTIONS: further options for QEMU, "-icount shift=5" say.
set -eu
machine=$1
program=$2
shift 2

# In QEMU's option lists a comma inside a value is written twice.
semihosting="enable=on,target=native,arg=$(basename "$program")"
for argument in "$@"; do
  semihosting="$semihosting,arg=$(printf %s "$argument" | sed 's/,/,,/g')"
done
# shellcheck disable=SC2086  # one word per option
exec qemu-system-arm -M "$machine" -nographic -monitor none -serial none \
  -semihosting-config "$semihosting" ${TENON_QEMU_OPTIONS-} -kernel "$program"
