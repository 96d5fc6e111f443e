#!/bin/sh
# The image of debian.sh with what agents install software with: npm, pip, and the Node that runs the tests, because Debian's is often too old.
# Usage: software.sh OUTPUT.tar
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(dirname "$0")/debian.sh" "$work/image.tar" ca-certificates npm python3-pip
mkdir -p "$work/more/usr/local/bin"
cp -L "$(command -v node)" "$work/more/usr/local/bin/node"
tar -r --numeric-owner --owner=0 --group=0 -C "$work/more" -f "$work/image.tar" ./usr/local/bin/node
mv "$work/image.tar" "$1"
