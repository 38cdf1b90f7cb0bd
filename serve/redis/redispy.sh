#!/bin/sh
# redispy.sh makes a Python environment with redis-py in .cache/redispy of the
# checkout, once. It is what `make redispy` runs; the test of the Redis
# endpoint uses it.
set -eu

version=5.2.1
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$root/.cache/redispy
done=$dir/redis-$version

if [ -e "$done" ]; then
	exit 0
fi
if ! command -v python3 >/dev/null; then
	echo "redispy: python3 is needed, with its venv module" >&2
	exit 1
fi
mkdir -p "$root/.cache"
# Parallel runs wait here; the second finds the work done.
exec 9>"$root/.cache/redispy.lock"
flock 9
if [ -e "$done" ]; then
	exit 0
fi
echo "redispy: installing redis $version into $dir" >&2
rm -rf "$dir"
python3 -m venv "$dir"
"$dir/bin/pip" install --quiet --disable-pip-version-check "redis==$version"
touch "$done"
