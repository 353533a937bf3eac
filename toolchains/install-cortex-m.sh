#!/bin/sh
# Installs what building and testing for bare-metal Cortex-M cores needs on Debian 12: the compiler,
# its C and C++ libraries, and QEMU, which runs the programs. Does nothing where all is there.
set -eu
exec "$(dirname "$0")/install-packages.sh" gcc-arm-none-eabi libnewlib-arm-none-eabi \
  libstdc++-arm-none-eabi-newlib qemu-system-arm
