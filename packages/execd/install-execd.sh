#!/bin/sh
# Puts execd where a shell is: sh install-execd.sh FILE-OR-URL SHA256 [TARGET]
# TARGET is /usr/local/bin/execd when absent. It is replaced in one step, and only by a file with that checksum.
# Needs sha256sum, shasum or openssl; for a URL curl or wget. Exit 1: TARGET is as it was, and stderr says why.
set -eu

stop() { echo "install-execd: $*" >&2; exit 1; }

[ $# -ge 2 ] && [ $# -le 3 ] || { echo 'usage: install-execd.sh FILE-OR-URL SHA256 [TARGET]' >&2; exit 2; }
source=$1
wanted=$(printf %s "$2" | tr ABCDEF abcdef)
target=${3:-/usr/local/bin/execd}

case $wanted in *[!0-9a-f]*) stop "not a SHA-256 (64 hexadecimal digits): $2" ;; esac
[ ${#wanted} -eq 64 ] || stop "not a SHA-256 (64 hexadecimal digits): $2"
case $target in /*) ;; *) stop "not an absolute path: $target" ;; esac
[ ! -d "$target" ] || stop "a folder is there: $target"

sha256_of() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum <"$1"
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 <"$1"
  elif command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 -r <"$1"
  else stop 'none of sha256sum, shasum and openssl is here: nothing is installed unchecked'
  fi | cut -d' ' -f1
}

if [ -f "$target" ] && [ -x "$target" ] && [ "$(sha256_of "$target")" = "$wanted" ]; then
  echo "$target (unchanged)"
  exit 0
fi

# Beside the target, so that it is renamed within one file system; in a folder that nobody else can write to.
folder=$(dirname "$target")
mkdir -p "$folder" || stop "can not make $folder"
work=$(umask 077 && mktemp -d "$folder/.install-execd-XXXXXX") || stop "can not write to $folder"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
new=$work/execd

case $source in
  https://* | http://*)
    if command -v curl >/dev/null 2>&1; then curl -fsSL --retry 3 -o "$new" "$source" || stop "can not get $source"
    elif command -v wget >/dev/null 2>&1; then wget -q -O "$new" "$source" || stop "can not get $source"
    else stop 'neither curl nor wget is here: copy the file, and give its path'
    fi ;;
  *) cat <"$source" >"$new" || stop "can not read $source" ;;
esac

found=$(sha256_of "$new")
[ "$found" = "$wanted" ] || stop "refused: $source has the SHA-256 $found, not $wanted"
chmod 755 "$new"
mv -f "$new" "$target"
echo "$target"
