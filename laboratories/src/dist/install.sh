#!/bin/sh
# Installs or uninstalls cassay. Checks the digest of the archive before it installs anything. As root, it
# installs for all users (into /usr/local), and otherwise for you (into ~/.local).
#
# usage: sh install.sh [--to FOLDER] [--from FOLDER or URL] [--uninstall]
#
#   --to FOLDER    folder of `bin` and `share`; default: /usr/local or ~/.local
#   --from PLACE   folder or URL of the archive (also CASSAY_FROM); default: the folder of this file,
#                  and then the address at which the release was published
#   --uninstall    removes the installed files, and no others
#
# Only the last line of this script starts any work, so a truncated copy does nothing.
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

# Prints the processor of this machine, as in the names of the archives.
processor() {
  system=$(uname -s)
  machine=$(uname -m)
  case $system in
    Linux) ;;
    *) fail "cassay runs on Linux, and this is $system; hint: use a virtual machine or a container with Linux" ;;
  esac
  case $machine in
    x86_64 | amd64) echo x86_64 ;;
    aarch64 | arm64) echo aarch64 ;;
    *) fail "cassay has no program for $machine, only for x86_64 and aarch64; hint: build cassay from its sources with cargo" ;;
  esac
}

# Downloads a URL into a file: download URL FILE
download() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsSL -o "$2" "$1" || fail "cannot download $1; hint: check that this is the address of a release, or name another one with --from"
  elif command -v wget >/dev/null 2>&1; then
    wget -q -O "$2" "$1" || fail "cannot download $1; hint: check that this is the address of a release, or name another one with --from"
  else
    fail "this machine has neither curl nor wget; hint: install one of them, or copy the archive here and name its folder with --from"
  fi
}

digest() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum <"$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 <"$1" | cut -d ' ' -f 1
  else
    fail "this machine has neither sha256sum nor shasum, so the archive cannot be checked; hint: install coreutils"
  fi
}

# Copies or downloads the archive into a file: bring ARCHIVE FILE
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
    '') fail "$1 is not in the folder of this script, and the release has no address; hint: name the folder or URL of the archive with --from" ;;
    *://*)
      echo "downloading ${from%/}/$1" >&2
      download "${from%/}/$1" "$2"
      ;;
    *)
      [ -f "$from/$1" ] || fail "$from does not contain $1; hint: name the folder or URL of the archive with --from"
      cp "$from/$1" "$2"
      ;;
  esac
}

# Prints the list of an earlier installation: its files, and the folders that it created (which end with
# a slash). Refuses a list with a line that leads out of the folder, because this script writes no such line.
listed() {
  [ -f "$to/$list" ] || return 0
  if grep -qE '^/|^$|(^|/)\.\.(/|$)' "$to/$list"; then
    fail "$to/$list names what is not below $to; hint: inspect this list, and remove the files by hand"
  fi
  cat "$to/$list"
}

# Removes the files of a list, but not the list itself: remove_files LIST
remove_files() {
  grep -vxF -e "$list" "$1" | grep -v '/$' | while IFS= read -r path; do
    rm -f "$to/$path"
  done
}

# Removes the folders of a list, inner folders first: remove_folders LIST. A folder with other files stays.
remove_folders() {
  grep '/$' "$1" | LC_ALL=C sort -r | while IFS= read -r path; do
    rmdir "$to/${path#./}" 2>/dev/null || true
  done
}

uninstall() {
  [ -f "$to/$list" ] || fail "$to/$list does not exist, so nothing was installed there by this script; hint: name another folder with --to"
  listed >"$work/old"
  remove_files "$work/old" || fail "cannot remove all files from $to; hint: run this script as the user who installed cassay"
  # The list is the last file to go, so that an interrupted removal can be repeated.
  rm -f "$to/$list"
  remove_folders "$work/old"
  echo "removed cassay from $to"
  for left in "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/cassay" "${XDG_STATE_HOME:-${HOME:-/nonexistent}/.local/state}/cassay"; do
    [ ! -d "$left" ] || echo "$left contains downloaded and kept files; to remove them: rm -r $left"
  done
}

# Creates the missing folders, outer folders first.
make_folders() {
  while IFS= read -r folder; do
    if [ ! -d "$to/$folder" ]; then
      mkdir -m 755 "$to/$folder" || fail "cannot create $to/$folder; hint: name a folder that you can write to with --to"
      printf '%s\n' "$folder" >>"$work/list"
    fi
  done
}

# Replaces one file in one step: a program that runs or reads it has the old or the new file.
put() {
  [ ! -d "$to/$1" ] || fail "$to/$1 is a folder; hint: move this folder away"
  rm -f "$to/$1.new"
  if ! { cp "$unpacked/$1" "$to/$1.new" && chmod "$2" "$to/$1.new" && mv -f "$to/$1.new" "$to/$1"; }; then
    rm -f "$to/$1.new"
    fail "cannot write $to/$1; hint: name a folder that you can write to with --to"
  fi
}

install() {
  kind=$(processor)
  expected=$(digest_of "$kind")
  [ -n "$expected" ] || fail "this release has no program for $kind"
  name=cassay-$version-$kind-unknown-linux-musl
  bring "$name.tar.gz" "$work/archive"
  found=$(digest "$work/archive")
  [ "$found" = "$expected" ] || fail "$name.tar.gz has the digest $found instead of $expected, so it is damaged or another file; nothing was installed"
  mkdir "$work/unpacked"
  tar -xzf "$work/archive" -C "$work/unpacked" || fail "cannot unpack $name.tar.gz"
  unpacked=$work/unpacked/$name
  mkdir -p "$unpacked/${list%/*}"
  (cd "$unpacked" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) >"$work/files"
  printf '%s\n' "$list" >>"$work/files"

  # The new list contains all files of the earlier installation before any file changes. So
  # `--uninstall` finds all files even if the installation is interrupted.
  listed >"$work/old"
  (cd "$unpacked" && find . -type d | sed -n 's|^\./\(.*\)|\1/|p' | LC_ALL=C sort) >"$work/folders"
  grep -xF -e ./ -f "$work/folders" "$work/old" >"$work/list" || true
  if [ ! -d "$to/" ]; then
    mkdir -m 755 "$to" || fail "cannot create $to; hint: name a folder that you can write to with --to"
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
  echo "$to/$list lists the installed files; --uninstall removes them"
  case ":$PATH:" in
    *":$to/bin:"*)
      first=$(command -v cassay || true)
      [ "$first" = "$to/bin/cassay" ] || echo "but the command \`cassay\` runs $first, which is earlier on your PATH"
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
        [ -n "${2:-}" ] || fail "$1 needs a value; $(usage)"
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
      *) fail "$1 is not an option; $(usage)" ;;
    esac
  done
  if [ -z "$to" ]; then
    if [ "$(id -u)" = 0 ]; then
      to=/usr/local
    else
      to=${HOME:?HOME is not set: use --to FOLDER}/.local
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
