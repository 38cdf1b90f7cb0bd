#!/bin/sh
# suite.sh fetches Redis's own tests into .cache/redis-suite of the checkout, once: the
# folder tests of Debian's source package of redis, which apt-get verifies. They need tclsh,
# which it installs where it is missing. `make prove` runs it.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$root/.cache/redis-suite
if [ -e "$dir/done" ] && command -v tclsh >/dev/null; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "suite.sh: no apt-get here; put the folder tests of Redis 7.0 into $dir, an empty file done beside it, and install tclsh" >&2
	exit 1
fi
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
if ! command -v tclsh >/dev/null; then
	$sudo apt-get update -q
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends tcl
fi
rm -rf "$dir"
mkdir -p "$dir/lists/partial"
cd "$dir"
# Source packages of this release, in lists of their own: the machine's stay as they are.
. /etc/os-release
key=/usr/share/keyrings/debian-archive-keyring.gpg
cat >sources.list <<END
deb-src [signed-by=$key] http://deb.debian.org/debian $VERSION_CODENAME main
deb-src [signed-by=$key] http://deb.debian.org/debian-security $VERSION_CODENAME-security main
END
apt() {
	apt-get -q -o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$dir/lists" "$@"
}
apt update
apt source --download-only redis
tar -xzf redis_*.orig.tar.gz --strip-components=1 --wildcards '*/tests'
rm -rf lists redis_* sources.list
touch done
