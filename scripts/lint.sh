#!/bin/sh
# clang-tidy over the sources of a configured build, with the checks of .clang-tidy.
#   scripts/lint.sh [BUILD_DIR [PATH_PREFIX...]]     default: build/host, every folder of ours
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/host}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- runtime backends sdk converter python tests
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || {
  echo "lint.sh: skipped: clang-tidy is not installed"
  exit 77
}
[ -f "$build/compile_commands.json" ] || {
  echo "lint.sh: error: '$build' is not configured: run cmake --preset host" >&2
  exit 1
}
# Precompiled headers are of the compiler's own format, which clang does not read, and each file of a
# batch is looked at by itself.
commands="$build/lint"
mkdir -p "$commands"
python3 - "$build" "$commands" <<'END'
import json, pathlib, re, sys

entries = []
for entry in json.loads(pathlib.Path(sys.argv[1], "compile_commands.json").read_text()):
    command = re.sub(r" -Winvalid-pch -include \S*cmake_pch\.hxx", "", entry["command"])
    files = [entry["file"]]
    if "/Unity/unity_" in entry["file"]:
        files = re.findall(r'#include "(.*)"', pathlib.Path(entry["file"]).read_text())
    for file in files:
        own = command.replace(entry["file"], file)
        entries.append({"directory": entry["directory"], "command": own, "file": file})
pathlib.Path(sys.argv[2], "compile_commands.json").write_text(json.dumps(entries, indent=0))
END
# Only what this build compiles: other files have no command in the database.
git ls-files -- "$@" | grep '\.cpp$' | while read -r file; do
  if grep -q "/$file\"" "$commands/compile_commands.json"; then echo "$file"; fi
done > "$commands/files"
# The build leaves out some of GCC's warnings that clang does not know.
status=0
xargs -P "$(nproc)" -n 4 "$tidy" -p "$commands" --quiet --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option < "$commands/files" || status=1
echo "lint.sh: $(wc -l < "$commands/files") files, $([ $status -eq 0 ] && echo clean || echo with findings)"
exit $status
