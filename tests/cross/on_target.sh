#!/bin/sh
# Runs a test program of the build machine whose plans are run by a target's plan_server. Passes if
# the program does and the target has run some. 77: skipped, with the reason.
# Usage: on_target.sh 'COMMAND OF plan_server' PROGRAM [ARGUMENTS]
runner=$1
shift
if [ ! -x "$1" ]; then
  echo "skipped: no '$1': build the host preset first, or set TENON_HOST_TOOLS to its bin folder"
  exit 77
fi
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# The server writes to the same pipe, so that this ends when both have.
{ TENON_TARGET_RUNNER=$runner "$@" 2>&1; echo "exit status $?"; } | tee "$log"
if ! grep -q '^plan_server: [1-9][0-9]* plans' "$log"; then
  echo "the target has run no plan"
  exit 1
fi
grep -q '^exit status 0$' "$log"
