#!/bin/sh
# Makes bin/panels/panels.js and panels.css, which draw panels of a dashboard with Grafana's
# published front-end libraries (`make pictures`): npm fetches some 460 MB for it, which are removed
# again.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../bin/panels
sum=$(cat "$here"/*.js* "$here/build.sh" | sha256sum)
if [ -e "$out/made" ] && [ "$(cat "$out/made")" = "$sum" ]; then
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$here"/*.js* "$dir"
cd "$dir"
echo "fetching Grafana's front-end libraries ..." >&2
npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts --legacy-peer-deps
mkdir -p "$out"
npx esbuild panels.jsx --bundle --minify --format=iife --jsx=automatic --outfile="$out/panels.js" --log-level=error \
	--loader:.svg=dataurl --loader:.png=dataurl --loader:.woff2=dataurl --loader:.ttf=empty \
	--define:process.env.NODE_ENV='"production"' --define:global=window --alias:react-custom-scrollbars-2=./scrollbars.js
echo "$sum" >"$out/made"
