#!/bin/sh
# pyclient.sh makes a Python environment with ClickHouse's own client,
# clickhouse-connect, in .cache/pyclient of the checkout, once. It is what
# `make pyclient` runs; the test of the embedded engine uses it.
set -eu

version=1.12.0
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$root/.cache/pyclient
done=$dir/clickhouse-connect-$version

if [ -e "$done" ]; then
	exit 0
fi
if ! command -v python3 >/dev/null; then
	echo "pyclient: python3 is needed, with its venv module" >&2
	exit 1
fi
mkdir -p "$root/.cache"
# Parallel runs wait here; the second finds the work done.
exec 9>"$root/.cache/pyclient.lock"
flock 9
if [ -e "$done" ]; then
	exit 0
fi
echo "pyclient: installing clickhouse-connect $version into $dir" >&2
rm -rf "$dir"
python3 -m venv "$dir"
"$dir/bin/pip" install --quiet --disable-pip-version-check "clickhouse-connect==$version"
touch "$done"
