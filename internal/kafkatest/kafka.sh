#!/usr/bin/env bash
# A real Apache Kafka broker for tests.
#
#   kafka.sh jars      fetch the jars once (Maven, about 43 MB) and make the class archive
#                      that halves a broker's start; says nothing when all is there
#   kafka.sh run DIR   run the broker that DIR/server.properties describes, after formatting
#                      its storage if new; log in DIR/broker.log. The line "kill" on
#                      standard input is kill -9, and so is its end. So a broker never
#                      outlives the process that started it.
#
# Environment: KAFKA_CACHE  where the jars are kept (default: .cache/kafka of the repository)
#              KAFKA_FORMAT more arguments for the formatting, one per line (--add-scram ...)
#              KAFKA_FORGET a directory to remove when standard input ends
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${KAFKA_CACHE:-$here/../../.cache/kafka}
lib=$cache/lib
archive=$cache/classes.jsa
snapshots=$cache/snapshots

say() { echo "kafka: $*" >&2; }
die() { say "$*"; exit 1; }

need_java() {
  command -v java >/dev/null ||
    die "java is not on the PATH. The tests run a real Kafka broker: install Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless)"
}

# A small heap, the serial collector and the quick compiler: 150 MB and a second to start.
# Replaces the shell that calls it, so that a process id is Java's and not a shell's.
java_kafka() {
  local shared=(-Xshare:auto)
  [ -e "$archive" ] && shared+=("-XX:SharedArchiveFile=$archive")
  exec java -Xms64m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "${shared[@]}" ${more_java:-} \
    -Dorg.slf4j.simpleLogger.showDateTime=true -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS \
    -Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn \
    -Dorg.slf4j.simpleLogger.log.kafka.server.KafkaConfig=warn \
    -cp "$lib/*" "$@"
}

complete() { [ "$(cat "$cache/complete" 2>/dev/null)" = "$(cksum <"$here/pom.xml")" ]; }

jars() {
  complete && return
  need_java
  mkdir -p "$cache"
  if command -v flock >/dev/null; then # test packages run side by side: one of them fetches
    exec 9>"$cache/lock"
    flock 9
    complete && { exec 9>&-; return; }
  fi
  command -v mvn >/dev/null ||
    die "mvn is not on the PATH. It fetches the broker's jars, once: install Maven (Debian: apt-get install maven)"
  say "fetching the Kafka broker for the tests, about 43 MB, once"
  rm -rf "$lib.part" "$archive" "$snapshots"
  local line count=0
  if ! mvn -B -f "$here/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$lib.part" 2>&1 | tee "$cache/maven.log" | while read -r line; do
      case $line in *Downloaded*.jar*)
        count=$((count + 1))
        if [ -t 2 ]; then printf '\rkafka: %d files' "$count" >&2
        elif [ $((count % 20)) = 0 ]; then say "$count files"; fi ;;
      esac
    done; then
    [ -t 2 ] && echo >&2
    grep -E 'ERROR' "$cache/maven.log" | head -5 >&2
    die "Maven could not fetch the jars; its whole output is in $cache/maven.log"
  fi
  [ -t 2 ] && echo >&2
  rm -rf "$lib"
  mv "$lib.part" "$lib"
  make_archive || say "no class archive (brokers will start a second slower)"
  cksum <"$here/pom.xml" >"$cache/complete"
  say "ready: $(ls "$lib" | wc -l) jars in .cache/kafka"
  exec 9>&- || true
}

# One throw-away run that writes down which classes a start loads.
make_archive() (
  set +e
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  port=$((15000 + RANDOM % 14000))
  cat >"$dir/server.properties" <<END
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:$((port + 1))
log.dirs=$dir/data
END
  format "$dir" || exit 1
  more_java=-XX:ArchiveClassesAtExit=$archive.part
  (java_kafka kafka.Kafka "$dir/server.properties") >"$dir/broker.log" 2>&1 </dev/null &
  for _ in $(seq 600); do
    grep -q 'Kafka Server started' "$dir/broker.log" && break
    sleep 0.1
  done
  kill %1 && wait %1
  [ -s "$archive.part" ] && mv "$archive.part" "$archive"
)

# Kafka's formatting tool is a Java process of its own, more than a second of computing.
# Of what it writes, the first snapshot of the metadata is the same for every broker with the
# same KAFKA_FORMAT, so it is kept; the rest is the names in meta.properties.
format() { # DIR
  local id snapshot scratch more=()
  id=$(cat "$1/cluster.id" 2>/dev/null) || id=weirtestclusterAAAAAAA
  snapshot=$snapshots/$(cksum <<<"${KAFKA_FORMAT:-}" | tr ' ' -)
  if [ ! -e "$snapshot" ]; then
    [ -z "${KAFKA_FORMAT:-}" ] || mapfile -t more <<<"$KAFKA_FORMAT"
    scratch=$1/format
    mkdir -p "$scratch" "$snapshots"
    sed "s|^log.dirs=.*|log.dirs=$scratch|" "$1/server.properties" >"$scratch.properties"
    (java_kafka kafka.tools.StorageTool format -t "$id" -c "$scratch.properties" "${more[@]}") >"$1/format.log" 2>&1 || return
    cp "$scratch/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint" "$snapshot.$$"
    mv "$snapshot.$$" "$snapshot" # at once: others may be here at the same time
  fi
  mkdir -p "$1/data/__cluster_metadata-0"
  cp "$snapshot" "$1/data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
  {
    echo version=1
    echo "cluster.id=$id"
    grep '^node.id=' "$1/server.properties"
    echo "directory.id=$(head -c 16 /dev/urandom | base64 | tr +/ xy | cut -c 1-22)"
  } >"$1/data/meta.properties"
}

run() { # DIR
  local dir=$1
  if ! grep -qs . "$dir/data/meta.properties"; then
    format "$dir" || { cat "$dir/format.log" >&2; die "formatting $dir/data failed"; }
  fi
  exec 3<&0
  (java_kafka kafka.Kafka "$dir/server.properties") >>"$dir/broker.log" 2>&1 </dev/null 3<&- &
  broker=$! # not local: the trap needs it when this function is over
  {
    while read -r -u 3 word; do
      [ "$word" != kill ] || kill -KILL $broker
    done
    touch "$dir/orphan"
    kill -KILL $broker
  } >/dev/null 2>&1 &
  reader=$!
  trap 'kill -KILL $broker $reader 2>/dev/null' EXIT
  trap '' INT HUP # a terminal's ctrl-C reaches us too; our starter decides
  wait $broker 2>/dev/null || true
  kill $reader 2>/dev/null || true
  [ ! -e "$dir/orphan" ] || rm -rf ${KAFKA_FORGET:+"$KAFKA_FORGET"}
}

case ${1:-} in
  jars) jars ;;
  run)
    [ -n "${2:-}" ] || die "run DIR"
    need_java
    run "$2"
    ;;
  *) sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
