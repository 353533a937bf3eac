#!/bin/sh
# Which lines of a build run in its tests, by folder. Builds the preset host-coverage first.
#   scripts/coverage.sh [CTEST OPTIONS]            builds all, runs the tests, prints the table
#   scripts/coverage.sh --built PROGRAM...         runs these of its test programs, as they are
#   scripts/coverage.sh --table [FOLDER...]        prints only; of a folder: the lines that never ran
# Bars: 95 % of the plan format and its check, the engine and the importers, 90 % of the kernels.
set -eu
cd "$(dirname "$0")/.."
build=build/host-coverage
export TENON_SOURCE_DIR="$PWD" TENON_BINARY_DIR="$PWD/$build"
case "${1:-}" in
  --table) shift ;;
  --built)
    shift
    for program; do nice "$build/tests/$program" | tail -3; done
    set -- ;;
  *)
    cmake --preset host-coverage >/dev/null
    nice cmake --build --preset host-coverage
    nice ctest --preset host-coverage -j 2 "$@" || echo "coverage.sh: some tests failed" >&2
    set -- ;;
esac
exec python3 scripts/coverage_table.py "$build" "$@"
