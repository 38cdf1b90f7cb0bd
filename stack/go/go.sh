#!/bin/sh
# Runs Go with a build cache that holds what this machine has compiled already. A build
# of weir's image begins with an empty one.
set -eu
if [ -n "${GOCACHE:-}" ]; then
	mkdir -p "$GOCACHE"
	cp -Rn /compiled/. "$GOCACHE"
fi
exec /usr/local/go/bin/go "$@"
