#!/bin/sh
# Makes the root file system of an image that holds one static program and nothing else: no shell, no /etc/passwd, no /tmp.
# Usage: noshell.sh OUTPUT.tar
set -eu
output=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
"${CC:-cc}" -O2 -static -o "$work/root/hello" "$(dirname "$0")/hello.c"
tar -c --numeric-owner --owner=0 --group=0 -C "$work/root" -f "$output" hello
