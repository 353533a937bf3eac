#!/bin/bash
# Coverage-guided fuzzing of what reads files that nobody trusts (preset host-fuzz: clang, sanitizers).
#   fuzz.sh TARGET SECONDS [libFuzzer options]   one run of one target
#   fuzz.sh all HOURS [SECONDS]     all targets in turn, SECONDS (300) of each, until HOURS are over
#   fuzz.sh table                   what all runs so far have tried and found, by target
#   fuzz.sh plans [FOLDER...]       plans of every model in the folders (those that the targets onnx and
#                                   tflite have found) that reach more, for the targets of plans
#   fuzz.sh keep TARGET [COUNT]     adds to tests/fuzz/corpus the inputs found that reach most
# TARGET: convert inspect plan tflite onnx profile caffe board firmware_plan npy kernel_cache. With
# --built before all of these the programs are taken as they are.
#
# Every run goes on with what earlier ones found: in the folder TENON_FUZZ_FOLDER (build/host-fuzz)
# corpus/TARGET has the inputs, found/TARGET what crashed, hung for 30 s or took over 2 GB, and
# runs.tsv a line for each run. Exit status 1 where anything was found. Seconds are the clock's;
# the table has the processor's.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/host-fuzz
folder=${TENON_FUZZ_FOLDER:-$build}
# Plans may ask for arenas of any size: what counts is the memory in use. Above 4 GB they get none,
# as on a machine without room, since the sanitizer works for seconds on what nobody touches.
asan_options=allocator_may_return_null=1:max_allocation_size_mb=4096:detect_leaks=1
limits=(-timeout=30 -rss_limit_mb=2048 -malloc_limit_mb=1048576 -max_len=65536)
all_targets=(convert inspect plan tflite onnx profile caffe board firmware_plan npy kernel_cache)

fail() {
  echo "fuzz.sh: $*" >&2
  exit 2
}

prepare() {
  local target=$1 tenon=${TENON:-build/host/bin/tenon}
  command -v clang++ >/dev/null || fail "clang++ is needed"
  [ -f "$build/build.ninja" ] || cmake --preset host-fuzz >/dev/null
  [ -n "$is_built" ] || cmake --build "$build" --target "${target}_fuzz" >"$build/$target.build.log" 2>&1 ||
    { tail -20 "$build/$target.build.log" >&2; exit 2; }
  [ -x "$build/fuzz/${target}_fuzz" ] || fail "there is no target '$target', or it is not built"
  if [ ! -d "$build/seeds/$target" ]; then
    [ -x "$tenon" ] || fail "build the preset host first, or set TENON"
    python3 tests/fuzz/make_corpus.py "$build/seeds" --tenon "$tenon" \
      --flatc "${FLATC:-$(command -v flatc || true)}"
  fi
  mkdir -p "$folder/corpus/$target" "$folder/found/$target"
}

# A number of libFuzzer's log, or 0.
figure() { { grep -aoE "$1" "$2" || echo 0; } | tail -1 | grep -oE '[0-9]+$'; }

# Runs the target TARGET for SECONDS, and adds the line of figures.
run() {
  local target=$1 seconds=$2
  shift 2
  local log=$folder/$target.log started status=0 before found
  local kept=()
  [ ! -d "tests/fuzz/corpus/$target" ] || kept=("tests/fuzz/corpus/$target")
  started=$(date -u +%FT%T)
  before=$(find "$folder/found/$target" -type f | wc -l)
  local TIMEFORMAT='%R %U %S' times
  times=$({ time ASAN_OPTIONS=$asan_options "$build/fuzz/${target}_fuzz" \
    -max_total_time="$seconds" "${limits[@]}" \
    -print_final_stats=1 -artifact_prefix="$folder/found/$target/" "$@" \
    "$folder/corpus/$target" "$build/seeds/$target" "${kept[@]}" \
    >"$log" 2>&1; } 2>&1) || status=1
  found=$(($(find "$folder/found/$target" -type f | wc -l) - before))
  local runs first last
  runs=$(figure 'stat::number_of_executed_units: *[0-9]+' "$log")
  first=$(grep -am1 -oE 'INITED +cov: [0-9]+ ft: [0-9]+' "$log" | grep -oE '[0-9]+' | xargs || true)
  last=$(grep -aoE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -1 | grep -oE '[0-9]+' | xargs || true)
  [ -n "$first" ] || first="0 0"
  [ -n "$last" ] || last="0 0"
  # shellcheck disable=SC2086  # each is several words, and a column each
  printf '%s\t' "$started" "$target" $times "$runs" $first $last >>"$folder/runs.tsv"
  printf '%s\n' "$found" >>"$folder/runs.tsv"
  echo "$target: $runs executions in $seconds s, cov, ft from $first to $last, findings $found, status $status"
  [ $status -eq 0 ] || { grep -am1 -E 'ERROR|runtime error|SUMMARY|CHECK' "$log" || tail -5 "$log"; }
  [ "$found" -eq 0 ] || cp "$log" "$folder/found/$target.$(date -u +%H%M%S).log"
  return $status
}

is_built=
if [ "${1:-}" = --built ]; then
  is_built=yes
  shift
fi
case "${1:-}" in
  table) exec python3 scripts/fuzz_table.py "$folder/runs.tsv" ;;
  keep)
    [ $# -ge 2 ] || fail "keep which target?"
    prepare "$2"
    exec python3 scripts/fuzz_keep.py "$build/fuzz/$2_fuzz" --out "tests/fuzz/corpus/$2" \
      --known "$build/seeds/$2" --count "${3:-24}" "$folder/corpus/$2"
    ;;
  plans)
    shift
    [ $# -gt 0 ] || set -- "$folder/corpus/onnx" "$folder/corpus/tflite"
    for target in plan inspect firmware_plan; do prepare "$target"; done
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    status=0
    python3 tests/fuzz/plans_of_models.py "$made" "$@" --tenon "${TENON:-build/host/bin/tenon}" || status=1
    for target in plan inspect firmware_plan; do
      ASAN_OPTIONS=$asan_options "$build/fuzz/${target}_fuzz" -merge=1 "${limits[@]}" \
        -artifact_prefix="$folder/found/$target/" "$folder/corpus/$target" "$made" 2>&1 | tail -1
    done
    exit $status
    ;;
  all)
    [ $# -ge 2 ] || fail "for how many hours?"
    end=$(python3 -c "import sys, time; print(int(time.time() + 3600 * float(sys.argv[1])))" "$2")
    for target in "${all_targets[@]}"; do prepare "$target"; done
    status=0
    while [ "$(date +%s)" -lt "$end" ]; do
      for target in "${all_targets[@]}"; do
        left=$((end - $(date +%s)))
        [ $left -gt 0 ] || break
        run "$target" $((left < ${3:-300} ? left : ${3:-300})) || status=1
      done
    done
    python3 scripts/fuzz_table.py "$folder/runs.tsv"
    exit $status
    ;;
  "" | -*)
    sed -n '2,16s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
  *)
    [ $# -ge 2 ] || fail "for how many seconds?"
    prepare "$1"
    run "$@"
    ;;
esac
