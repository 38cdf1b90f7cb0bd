#!/usr/bin/env bash
# A real schema registry for tests: Apicurio Registry, which has Confluent's HTTP interface at
# /apis/ccompat/v7. It keeps its schemas in memory.
#
#   registry.sh fetch      fetch it once (Maven, 142 MB)
#   registry.sh run PORT   run it on 127.0.0.1. It ends with its standard input, so it never
#                          outlives the process that started it.
#
# Environment: REGISTRY_CACHE  where it is kept (default: .cache/registry of the repository)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${REGISTRY_CACHE:-$here/../../../.cache/registry}
version=2.6.13.Final
jar=$cache/$version/apicurio-registry-app-$version-runner.jar

die() { echo "registry: $*" >&2; exit 1; }

need() { command -v "$1" >/dev/null || die "$1 is not on the PATH: install $2"; }

fetch() {
  [ ! -e "$jar" ] || return 0
  need mvn "Maven (Debian: apt-get install maven)"
  need java "Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless)"
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9
  [ ! -e "$jar" ] || return 0
  echo "registry: fetching Apicurio Registry $version for the tests, 142 MB, once" >&2
  rm -rf "$cache/part"
  mkdir "$cache/part"
  # In a directory of its own, because Maven may leave something there.
  (cd "$cache/part" && mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
    "-Dartifact=io.apicurio:apicurio-registry-app:$version:tar.gz:all" "-DoutputDirectory=$cache/part") >"$cache/maven.log" 2>&1 ||
    { grep ERROR "$cache/maven.log" | head -5 >&2; die "Maven could not fetch it; its whole output is in $cache/maven.log"; }
  mkdir "$cache/part/app"
  tar -xzf "$cache/part/apicurio-registry-app-$version-all.tar.gz" -C "$cache/part/app"
  rm -rf "${cache:?}/$version"
  mv "$cache/part/app" "$cache/$version"
  rm -rf "$cache/part"
}

run() { # PORT
  [ -e "$jar" ] || die "it is not here: make prove fetches it"
  export QUARKUS_HTTP_HOST=127.0.0.1 QUARKUS_HTTP_PORT=$1
  # Without a database: an empty one in memory.
  export QUARKUS_DATASOURCE_DB_KIND=h2 QUARKUS_DATASOURCE_USERNAME=sa QUARKUS_DATASOURCE_PASSWORD=sa
  export QUARKUS_DATASOURCE_JDBC_URL="jdbc:h2:mem:registry;DB_CLOSE_DELAY=-1"
  exec 3<&0
  java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -jar "$jar" </dev/null 3<&- &
  registry=$!
  { cat <&3 >/dev/null; kill -KILL $registry; } 2>/dev/null &
  reader=$!
  trap 'kill -KILL $registry $reader 2>/dev/null' EXIT
  trap '' INT HUP
  wait $registry || true
}

case ${1:-} in
  fetch) fetch ;;
  run) [ -n "${2:-}" ] || die "run PORT"; run "$2" ;;
  *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
