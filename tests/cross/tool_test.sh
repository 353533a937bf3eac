#!/bin/sh
# The `tenon` command on a target: what it does with a plan that the build machine has made, and what
# it says of what it has not. 77: skipped, with the reason.
# Usage: tool_test.sh HOST_TENON MODEL COMMAND... (COMMAND: the target's tenon under its emulator)
host=$1
model=$2
shift 2
if [ ! -x "$host" ]; then
  echo "skipped: no '$host': build the host preset first, or set TENON_HOST_TOOLS to its bin folder"
  exit 77
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "failed: $*"
  exit 1
}

"$host" convert "$model" -o "$folder/a.tenon" --batch 1 --board kv260 -q || fail "convert"
"$@" check "$folder/a.tenon" || fail "check"
"$@" run "$folder/a.tenon" --zeros --output-dir "$folder/target" || fail "run"
"$host" run "$folder/a.tenon" --zeros --output-dir "$folder/host" > /dev/null || fail "run here"
for output in "$folder"/host/*.npy; do
  name=$(basename "$output" .npy)
  "$@" run "$folder/a.tenon" --zeros --expect "$name=$output" --rtol 1e-4 || fail "compare $name"
done

# A plan that is cut short is refused, in words.
head -c 200 "$folder/a.tenon" > "$folder/short.tenon"
"$@" check "$folder/short.tenon" 2> "$folder/errors" && fail "a short plan passes"
grep -q "tenon: error: " "$folder/errors" || fail "no words for a short plan"

"$@" convert "$model" -o "$folder/b.tenon" --board kv260 2> "$folder/errors" && fail "convert there"
[ "$(cat "$folder/errors")" = \
  "tenon: error: this build has no 'convert': build with TENON_CONVERTER=ON" ] ||
  fail "convert says: $(cat "$folder/errors")"
