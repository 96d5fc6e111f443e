#!/bin/sh
# Makes the root file system of an image like python:3.11-slim from the distribution's own packages: sh, bash, coreutils, apt, python3 with venv and pip,
# and the C++ library that a Node which is mounted into a sandbox needs.
# Unpacks without running any package's scripts, which needs no root and takes seconds where debootstrap takes most of a minute.
# Usage: debian.sh OUTPUT.tar [PACKAGE...]: with further packages, and then with this machine's certificates of authorities too.
set -eu
output=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/archives/partial" "$work/root" "$work/lists/partial"
: > "$work/status"

packages="apt base-files base-passwd bash coreutils dash diffutils findutils grep gzip hostname libc-bin libstdc++6 login mawk passwd procps python3 python3-venv sed tar usr-is-merged util-linux $*"

# An empty status file makes apt resolve for a machine on which nothing is installed yet.
download() {
  apt-get -y -qq --no-install-recommends --download-only -o Debug::NoLocking=1 -o "APT::Sandbox::User=$(id -un)" \
    -o "Dir::State::Status=$work/status" -o "Dir::Cache::Archives=$work/archives" "$@" install $packages > "$work/log" 2>&1
}
if ! download; then
  # This machine has no package lists, or old ones; private ones leave its own alone.
  lists="Dir::State::Lists=$work/lists"
  apt-get -qq -o Debug::NoLocking=1 -o "APT::Sandbox::User=$(id -un)" -o "$lists" -o Acquire::Retries=2 -o Acquire::https::Timeout=15 update > "$work/update-log" 2>&1 || true
  download -o "$lists" || { cat "$work/update-log" "$work/log" >&2; exit 1; }
fi

for directory in bin sbin lib lib32 lib64 libx32; do
  mkdir -p "$work/root/usr/$directory"
  ln -s "usr/$directory" "$work/root/$directory"
done
for archive in "$work"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$archive" | tar -xp --keep-directory-symlink -C "$work/root"
  # So that apt knows what is installed.
  { dpkg-deb -f "$archive" | sed 's/^Package: .*/&\nStatus: install ok installed/'; echo; } >> "$work/installed"
done
mkdir -p "$work/root/var/lib/dpkg/info" "$work/root/var/lib/dpkg/updates"
mv "$work/installed" "$work/root/var/lib/dpkg/status"

# What the packages' scripts would have done, as far as programs notice.
cp "$work/root/usr/share/base-passwd/passwd.master" "$work/root/etc/passwd"
cp "$work/root/usr/share/base-passwd/group.master" "$work/root/etc/group"
ln -sf mawk "$work/root/usr/bin/awk"
rm -rf "$work/root/usr/share/doc" "$work/root/usr/share/man" "$work/root/usr/share/locale" "$work/root/usr/share/info" "$work/root/usr/share/lintian"

if [ $# -gt 0 ]; then
  mkdir -p "$work/root/etc/ssl/certs"
  cp -L /etc/ssl/certs/ca-certificates.crt "$work/root/etc/ssl/certs/"
fi

tar -c --numeric-owner --owner=0 --group=0 --sort=name -C "$work/root" -f "$output" .
