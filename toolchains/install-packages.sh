#!/bin/sh
# install-packages.sh PACKAGE...: installs those of these Debian packages that are missing.
set -eu

missing=""
for package in "$@"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
  echo "dependencies: all there"
  exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-packages.sh: error: needs root or sudo to install:$missing" >&2
    exit 1
  fi
  as_root=sudo
fi
echo "dependencies: installing$missing"
$as_root apt-get update -q
# shellcheck disable=SC2086  # one word per package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
