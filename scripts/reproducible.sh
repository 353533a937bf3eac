#!/bin/bash
# Two builds of the same sources in two folders give the same bytes, and so do two conversions.
# usage: reproducible.sh [TARGET...] (default: tenon). Takes two whole builds of those targets.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
targets=("${@:-tenon}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
for copy in one two/deeper; do
  mkdir -p "$folder/$copy"
  git -C "$root" archive HEAD | tar -x -C "$folder/$copy"
  (cd "$folder/$copy" && cmake --preset host >/dev/null &&
    CCACHE_DISABLE=1 nice cmake --build --preset host --target "${targets[@]}" >/dev/null)
done
status=0
compare() {
  if cmp -s "$folder/one/$1" "$folder/two/deeper/$1"; then
    echo "same: $1 ($(stat -c %s "$folder/one/$1") bytes)"
  else
    echo "DIFFERENT: $1"
    status=1
  fi
}
while read -r file; do compare "$file"; done < <(
  cd "$folder/one" && find build/host/bin build/host/runtime build/host/backends build/host/sdk \
    \( -name '*.a' -o -perm -u+x -type f \) | sort)
for copy in one two/deeper; do
  [ -x "$folder/$copy/build/host/bin/tenon" ] || continue
  "$folder/$copy/build/host/bin/tenon" convert "$folder/$copy/sdk/models/digits/digits.onnx" \
    -o "$folder/$copy/build/digits.tenon" --board x86-64 -q
done
[ ! -f "$folder/one/build/digits.tenon" ] || compare build/digits.tenon
exit $status
