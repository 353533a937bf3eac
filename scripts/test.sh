#!/bin/sh
# From a fresh machine to passed tests: installs what is missing, builds everything, runs the tests
# that take minutes. Words after the command go to ctest instead of "-L quick".
set -eu
cd "$(dirname "$0")/.."

./scripts/install-dependencies.sh
cmake --preset host
cmake --build --preset host
if [ $# -eq 0 ]; then set -- -L quick; fi
# Two at a time: several tests use threads of their own.
exec ctest --preset host -j 2 "$@"
