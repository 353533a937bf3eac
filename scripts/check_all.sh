#!/bin/bash
# The checks that take hours, for releases: sanitizers over the tests, clang-tidy over the tree.
#   check_all.sh [PART...] [-- CTEST OPTIONS]
# PART: asan (AddressSanitizer and UndefinedBehaviorSanitizer), tsan (ThreadSanitizer), tidy; all of
# them without. Words after -- go to ctest instead of "-L quick": "-- -R stream" for a few tests.
# Each part ends with a dated line for docs/results.md; one that fails does not stop the others.
set -euo pipefail
cd "$(dirname "$0")/.."
parts=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case "$1" in
    asan | tsan | tidy) parts+=("$1") ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
[ $# -eq 0 ] || shift
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(-L quick)
[ ${#parts[@]} -gt 0 ] || parts=(tidy asan tsan)
machine="$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
summary=()

# One line: what was checked, how it ended, how long it took.
note() {
  summary+=("| $(date -u +%F) | $1 | $2 | $(((SECONDS - began) / 60)) min | $machine |")
  echo "${summary[-1]}"
}

check_sanitizer() {
  local preset=$1 name=$2 log
  log=build/$preset/check_all.log
  cmake --preset "$preset" >/dev/null
  if ! cmake --build --preset "$preset" >"build/$preset/check_all.build.log" 2>&1; then
    tail -20 "build/$preset/check_all.build.log"
    note "$name" "does not build"
    return 1
  fi
  local status=0
  ctest --preset "$preset" -j 2 "${tests[@]}" >"$log" 2>&1 || status=1
  grep -E 'The following tests|^\s+[0-9]+ - ' "$log" || true
  note "$name, \`ctest ${tests[*]}\`" "$(grep -oE '[0-9]+% tests passed.*' "$log" || tail -1 "$log")"
  return $status
}

check_tidy() {
  local log=build/host/lint.log status=0
  # Headers that the build makes must be there.
  cmake --preset host >/dev/null
  cmake --build --preset host >build/host/check_all.build.log 2>&1 || return 1
  scripts/lint.sh >"$log" 2>&1 || status=1
  grep -E 'error:|warning:' "$log" | sort -u || true
  note "clang-tidy" "$(tail -1 "$log" | sed 's/^lint.sh: //')"
  return $status
}

status=0
for part in "${parts[@]}"; do
  began=$SECONDS
  case "$part" in
    asan) check_sanitizer host-asan "ASan, UBSan" || status=1 ;;
    tsan) check_sanitizer host-tsan "TSan" || status=1 ;;
    tidy) check_tidy || status=1 ;;
  esac
done
printf '%s\n' "" "${summary[@]}"
exit $status
