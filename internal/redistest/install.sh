#!/bin/sh
# Installs redis-server and redis-cli where they are missing (`make redis`).
# The server itself is never started here: the tests start their own.
set -eu

if command -v redis-server >/dev/null && command -v redis-cli >/dev/null; then
	redis-server --version
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "install.sh: no apt-get here; install Redis 7.0 to 7.2 (redis-server and redis-cli) by other means" >&2
	exit 1
fi
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
echo "installing redis-server and redis-tools ..."
# Keep the package from starting the service: a policy that denies it, removed again.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
	$sudo chmod +x "$policy"
	trap '$sudo rm -f "$policy"' EXIT
fi
$sudo apt-get update -q
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends redis-server redis-tools
redis-server --version
