#!/bin/sh
# Prints where promtool is, which tests the rules of alerts.yaml. Where it is not
# installed, it is fetched once into .cache/promtool: Debian's package of
# Prometheus is unpacked there, and nothing is installed.
set -eu

if command -v promtool; then
	exit 0
fi
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$root/.cache"
dir=$(cd "$root/.cache" && pwd -P)/promtool
tool=$dir/promtool
# Parallel runs wait here; the second finds the work done.
exec 9>"$root/.cache/promtool.lock"
flock 9
if [ ! -e "$tool" ]; then
	if ! command -v apt-get >/dev/null; then
		echo "promtool.sh: no apt-get here; install promtool, a part of Prometheus, by other means" >&2
		exit 1
	fi
	echo "fetching promtool into $dir (19 MB, once) ..." >&2
	rm -rf "$dir"
	mkdir -p "$dir"
	cd "$dir"
	# The lists of packages may be missing, or older than what the mirrors hold.
	if ! apt-get download -qq prometheus >&2; then
		sudo=
		[ "$(id -u)" -eq 0 ] || sudo=sudo
		$sudo apt-get update -q >&2
		apt-get download -qq prometheus >&2
	fi
	dpkg-deb -x prometheus_*.deb unpacked
	mv unpacked/usr/bin/promtool .
	rm -rf unpacked prometheus_*.deb
fi
echo "$tool"
