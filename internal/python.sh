#!/bin/sh
# python.sh TARGET PACKAGE VERSION makes a Python environment with a package in
# .cache/TARGET of the checkout, once. `make TARGET` runs it; a test runs the package as a
# client.
set -eu

target=$1 package=$2 version=$3
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/.cache/$target
done=$dir/$package-$version

if [ -e "$done" ]; then
	exit 0
fi
if ! command -v python3 >/dev/null; then
	echo "$target: python3 is needed, with its venv module" >&2
	exit 1
fi
mkdir -p "$root/.cache"
# Parallel runs wait here; the second finds the work done.
exec 9>"$root/.cache/$target.lock"
flock 9
if [ -e "$done" ]; then
	exit 0
fi
echo "$target: installing $package $version into $dir" >&2
rm -rf "$dir"
python3 -m venv "$dir"
"$dir/bin/pip" install --quiet --disable-pip-version-check "$package==$version"
touch "$done"
