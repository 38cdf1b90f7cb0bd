#!/bin/sh
# Fetches Chromium and axe-core for the tests of the page, once, into .cache/browser
# (`make tools`). Nothing is installed: Debian's packages are unpacked there, with the
# libraries that this machine lacks. Where chromium is installed, that one is used.
set -eu

axe=4.14.1 axe_sha=29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$root/.cache"
dir=$(cd "$root/.cache" && pwd -P)/browser
done=$dir/complete-1

if [ -e "$done" ]; then
	exit 0
fi
# Parallel runs wait here; the second finds the work done.
exec 9>"$root/.cache/browser.lock"
flock 9
if [ -e "$done" ]; then
	exit 0
fi
rm -rf "$dir"
mkdir -p "$dir/packages" "$dir/root/usr/share/fonts"
if ! command -v chromium >/dev/null; then
	if ! command -v apt-get >/dev/null; then
		echo "fetch.sh: no apt-get here; install chromium by other means" >&2
		exit 1
	fi
	echo "fetching chromium into $dir (some 120 MB, once) ..." >&2
	cd "$dir/packages"
	list() { apt-get install --print-uris -qq --no-install-recommends chromium fonts-liberation | sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p"; }
	names=$(list)
	# The lists of packages may be missing, or older than what the mirrors hold.
	if [ -z "$names" ] || ! apt-get download -qq $names; then
		sudo=
		[ "$(id -u)" -eq 0 ] || sudo=sudo
		$sudo apt-get update -q
		apt-get download -qq $(list)
	fi
	for p in *.deb; do
		dpkg-deb -x "$p" "$dir/root"
	done
fi
cd "$dir/packages"
npm pack --silent "axe-core@$axe" >/dev/null
tar xzf "axe-core-$axe.tgz" -C "$dir" package/axe.min.js package/LICENSE
mv "$dir/package" "$dir/axe"
echo "$axe_sha  $dir/axe/axe.min.js" | sha256sum --quiet -c -
cat >"$dir/fonts.conf" <<EOF
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><include ignore_missing="yes">/etc/fonts/fonts.conf</include><dir>/usr/share/fonts</dir><dir>$dir/root/usr/share/fonts</dir><cachedir>$dir/fonts</cachedir></fontconfig>
EOF
rm -rf "$dir/packages"
touch "$done"
