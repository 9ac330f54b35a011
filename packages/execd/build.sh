#!/bin/sh
# Builds execd as one static file, dist/execd-linux-<arch>: for this machine, or for the one that is named (x64, arm64).
# Does nothing when no source is newer than the last build.
set -eu
cd "$(dirname "$0")"

case ${1:-$(uname -m)} in
  x64 | x86_64) arch=x64 machine=x86_64 ;;
  arm64 | aarch64) arch=arm64 machine=aarch64 ;;
  *) echo "execd: no build for ${1:-$(uname -m)}; there are x64 and arm64" >&2; exit 1 ;;
esac
out=dist/execd-linux-$arch

size() { echo "$out $(wc -c <"$out") bytes$1"; }

if [ -x "$out" ] && [ -z "$(find src .cargo Cargo.toml Cargo.lock build.sh -newer "$out" | head -n 1)" ]; then
  size ' (unchanged)'
  exit 0
fi
if ! command -v cargo >/dev/null; then
  echo 'execd: cargo is missing. Get it from https://rustup.rs, or install the packages rustc and cargo (1.90 or newer).' >&2
  exit 1
fi
# With musl the file is half as large. It is there after `rustup target add`; a distribution's Rust has glibc alone.
target=$machine-unknown-linux-musl
if [ ! -d "$(rustc --print target-libdir --target "$target")" ]; then
  target=$machine-unknown-linux-gnu
fi
# Two builds at once must not meet in the middle of a file; cargo itself waits for its own lock.
mkdir -p dist
temporary=dist/.execd-$$
started=dist/.started-$$
touch "$started"
trap 'rm -f "$temporary" "$started"' EXIT
cargo build --quiet --release --locked --target "$target"
cp "target/$target/release/execd" "$temporary"
chmod 755 "$temporary"
# A source that changed while this was built is newer than the file then, and is built next time.
touch -r "$started" "$temporary"
mv -f "$temporary" "$out"
size " ($target)"
