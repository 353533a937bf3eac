#!/bin/bash
# Coverage-guided fuzzing of one reader. usage: fuzz.sh TARGET SECONDS [libFuzzer options]
#
# TARGET: plan firmware_plan onnx tflite caffe board profile npy kernel_cache. Builds the target
# (preset host-fuzz, clang) and the small inputs to begin with, goes on with what earlier calls have
# found in build/host-fuzz/corpus/TARGET, and ends with a line of figures. Whatever crashes, hangs
# for 30 s or takes over 2 GB is left in build/host-fuzz/found/TARGET; exit status 1 then.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -lt 2 ]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
target=$1
seconds=$2
shift 2
build=build/host-fuzz
command -v clang++ >/dev/null || { echo "fuzz.sh: clang++ is needed" >&2; exit 2; }
[ -f "$build/build.ninja" ] || cmake --preset host-fuzz >/dev/null
nice cmake --build "$build" --target "${target}_fuzz" >"$build/$target.build.log" 2>&1 ||
  { tail -20 "$build/$target.build.log" >&2; exit 2; }
tenon=${TENON:-build/host/bin/tenon}
if [ ! -d "$build/seeds/$target" ]; then
  [ -x "$tenon" ] || { echo "fuzz.sh: build the preset host first, or set TENON" >&2; exit 2; }
  python3 tests/fuzz/make_corpus.py "$build/seeds" --tenon "$tenon" \
    --flatc "${FLATC:-$(command -v flatc || true)}"
fi
mkdir -p "$build/corpus/$target" "$build/found/$target"
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1
log=$build/$target.log
status=0
# Plans may ask for arenas of any size, which are not touched unless there is room: what counts is
# the memory in use.
nice "$build/fuzz/${target}_fuzz" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 \
  -malloc_limit_mb=1048576 \
  -max_len=65536 -print_final_stats=1 -artifact_prefix="$build/found/$target/" "$@" \
  "$build/corpus/$target" "$build/seeds/$target" >"$log" 2>&1 || status=1
runs=$(grep -oE 'stat::number_of_executed_units: *[0-9]+' "$log" | grep -oE '[0-9]+$' || echo 0)
coverage=$(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -1 || true)
echo "$target: ${runs:-0} executions in $seconds s, ${coverage:-no coverage}, status $status"
[ $status -eq 0 ] || { grep -m1 -E 'ERROR|runtime error|SUMMARY|CHECK' "$log" || tail -5 "$log"; }
exit $status
