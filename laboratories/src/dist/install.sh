#!/bin/sh
# Installs cassay, checked by its digest, for all users (as root, into /usr/local) or for you (into
# ~/.local); and takes it away again.
#
# usage: sh install.sh [--to FOLDER] [--from FOLDER or URL] [--uninstall]
#
#   --to FOLDER    where `bin` and `share` are; otherwise /usr/local or ~/.local
#   --from PLACE   where the archive is: a folder or a URL (or CASSAY_FROM); otherwise the folder that
#                  this file is in, then where the release was published
#   --uninstall    removes the files that were installed there, and no others
#
# It begins to do anything in its last line: a copy of which the end is missing does nothing.
set -eu

# Written by `cargo xtask dist`.
version='@VERSION@'
published='@PUBLISHED@'
digest_of() {
  case $1 in
    x86_64) echo '@SHA256_X86_64@' ;;
    aarch64) echo '@SHA256_AARCH64@' ;;
  esac
}

fail() {
  printf 'cassay: %s\n' "$1" >&2
  exit 1
}

usage() {
  echo "usage: sh install.sh [--to FOLDER] [--from FOLDER or URL] [--uninstall]"
}

# What this machine has, as the archives are named.
processor() {
  system=$(uname -s)
  machine=$(uname -m)
  case $system in
    Linux) ;;
    *) fail "it runs on Linux, and this is $system; hint: take a virtual machine or a container of Linux" ;;
  esac
  case $machine in
    x86_64 | amd64) echo x86_64 ;;
    aarch64 | arm64) echo aarch64 ;;
    *) fail "there is no program for $machine, only for x86_64 and aarch64; hint: build it from its sources with cargo" ;;
  esac
}

# takes URL FILE
download() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsSL -o "$2" "$1" || fail "$1 cannot be had; hint: is it the address of a release? --from takes another place"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" "$1" || fail "$1 cannot be had; hint: is it the address of a release? --from takes another place"
  else
    fail "neither curl nor wget is here; hint: install one, or bring the archive and say --from its folder"
  fi
}

digest() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum <"$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 <"$1" | cut -d ' ' -f 1
  else
    fail "neither sha256sum nor shasum is here, and what is not checked is not installed; hint: install coreutils"
  fi
}

# takes ARCHIVE FILE: brings the archive from where it is
bring() {
  from=$place
  if [ -z "$from" ] && [ -f "$0" ]; then
    case $0 in
      */*) beside=${0%/*} ;;
      *) beside=. ;;
    esac
    [ ! -f "$beside/$1" ] || from=$beside
  fi
  [ -n "$from" ] || from=$published
  case $from in
    '') fail "$1 is not beside this file, and the release has no address; hint: --from takes the folder or the URL it is at" ;;
    *://*)
      echo "taking ${from%/}/$1" >&2
      download "${from%/}/$1" "$2"
      ;;
    *)
      [ -f "$from/$1" ] || fail "there is no $1 in $from; hint: --from takes the folder or the URL it is at"
      cp "$from/$1" "$2"
      ;;
  esac
}

# The files of an earlier one and the folders that were made for it (which end with a slash), from
# its list; a line that leads elsewhere is no line of ours.
listed() {
  [ -f "$to/$list" ] || return 0
  if grep -qE '^/|^$|(^|/)\.\.(/|$)' "$to/$list"; then
    fail "$to/$list names what is not below $to; hint: look at it, and remove the files by hand"
  fi
  cat "$to/$list"
}

# takes FILE: the files of a list, but not the list itself
remove_files() {
  grep -vxF -e "$list" "$1" | grep -v '/$' | while IFS= read -r path; do
    rm -f "$to/$path"
  done
}

# takes FILE: the folders of a list, from the inside; what others have put there keeps its folder
remove_folders() {
  grep '/$' "$1" | LC_ALL=C sort -r | while IFS= read -r path; do
    rmdir "$to/${path#./}" 2>/dev/null || true
  done
}

uninstall() {
  [ -f "$to/$list" ] || fail "there is no $to/$list, so nothing was installed there by this; hint: --to names another folder"
  listed >"$work/old"
  remove_files "$work/old" || fail "not all could be removed from $to; hint: run it as who has installed it"
  # Last: until here it can be begun again.
  rm -f "$to/$list"
  remove_folders "$work/old"
  echo "removed cassay from $to"
  for left in "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/cassay" "${XDG_STATE_HOME:-${HOME:-/nonexistent}/.local/state}/cassay"; do
    [ ! -d "$left" ] || echo "what it had fetched and kept is in $left: rm -r removes it"
  done
}

# The folders that are not there yet, outer ones first.
make_folders() {
  while IFS= read -r folder; do
    if [ ! -d "$to/$folder" ]; then
      mkdir -m 755 "$to/$folder" || fail "$to/$folder cannot be made; hint: --to takes a folder that you may write to"
      printf '%s\n' "$folder" >>"$work/list"
    fi
  done
}

# Puts one file in its place at once: who runs or reads it has the old or the new one.
put() {
  [ ! -d "$to/$1" ] || fail "$to/$1 is a folder; hint: move it away"
  rm -f "$to/$1.new"
  if ! { cp "$unpacked/$1" "$to/$1.new" && chmod "$2" "$to/$1.new" && mv -f "$to/$1.new" "$to/$1"; }; then
    rm -f "$to/$1.new"
    fail "$to/$1 cannot be written; hint: --to takes a folder that you may write to"
  fi
}

install() {
  kind=$(processor)
  expected=$(digest_of "$kind")
  [ -n "$expected" ] || fail "this release has no program for $kind"
  name=cassay-$version-$kind-unknown-linux-musl
  bring "$name.tar.gz" "$work/archive"
  found=$(digest "$work/archive")
  [ "$found" = "$expected" ] || fail "$name.tar.gz has the digest $found and should have $expected: it is damaged or another one, and nothing was installed"
  mkdir "$work/unpacked"
  tar -xzf "$work/archive" -C "$work/unpacked" || fail "$name.tar.gz cannot be unpacked"
  unpacked=$work/unpacked/$name
  mkdir -p "$unpacked/${list%/*}"
  (cd "$unpacked" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) >"$work/files"
  printf '%s\n' "$list" >>"$work/files"

  # What the earlier one has made is on the list before anything changes: if this is interrupted,
  # `--uninstall` finds all of it.
  listed >"$work/old"
  (cd "$unpacked" && find . -type d | sed -n 's|^\./\(.*\)|\1/|p' | LC_ALL=C sort) >"$work/folders"
  grep -xF -e ./ -f "$work/folders" "$work/old" >"$work/list" || true
  if [ ! -d "$to/" ]; then
    mkdir -m 755 "$to" || fail "$to cannot be made; hint: --to takes a folder that you may write to"
    echo './' >>"$work/list"
  fi
  make_folders <"$work/folders"
  LC_ALL=C sort -u "$work/list" "$work/old" "$work/files" >"$unpacked/$list"
  put "$list" 644

  grep -vxF -e bin/cassay -e "$list" "$work/files" >"$work/others"
  while IFS= read -r path; do
    put "$path" 644
  done <"$work/others"
  put bin/cassay 755

  LC_ALL=C sort -u "$work/list" "$work/files" >"$work/all"
  grep -vxF -f "$work/all" "$work/old" >"$work/gone" || true
  remove_files "$work/gone"
  remove_folders "$work/gone"
  cp "$work/all" "$unpacked/$list"
  put "$list" 644
  say_where
}

say_where() {
  echo "cassay $version is $to/bin/cassay; manual pages, completions and schemas are below $to/share"
  echo "what was installed is listed in $to/$list; --uninstall removes it"
  case ":$PATH:" in
    *":$to/bin:"*)
      first=$(command -v cassay || true)
      [ "$first" = "$to/bin/cassay" ] || echo "but \`cassay\` is $first, which is earlier on your PATH"
      ;;
    *) echo "$to/bin is not on your PATH; hint: export PATH=\"$to/bin:\$PATH\"" ;;
  esac
}

main() {
  list=share/cassay/installed.txt
  place=${CASSAY_FROM:-}
  to=
  act=install
  while [ $# -gt 0 ]; do
    case $1 in
      --to | --from)
        [ -n "${2:-}" ] || fail "$1 wants a value; $(usage)"
        if [ "$1" = --to ]; then to=$2; else place=$2; fi
        shift 2
        ;;
      --uninstall)
        act=uninstall
        shift
        ;;
      -h | --help)
        usage
        return
        ;;
      *) fail "there is no $1; $(usage)" ;;
    esac
  done
  if [ -z "$to" ]; then
    if [ "$(id -u)" = 0 ]; then
      to=/usr/local
    else
      to=${HOME:?HOME is not set: say --to FOLDER}/.local
    fi
  fi
  case $to in
    /*) ;;
    *) to=$PWD/$to ;;
  esac
  to=${to%/}
  umask 022
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  "$act"
}

{ main "$@"; }
