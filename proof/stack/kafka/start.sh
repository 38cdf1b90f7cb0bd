#!/usr/bin/env bash
# The launch sequence of the official image: the wrapper makes server.properties
# of the variables KAFKA_*, formats the storage, and the broker replaces this shell.
set -euo pipefail
java_kafka() { java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.showDateTime=true -cp '/opt/kafka/libs/*' "$@"; }

said=$(java_kafka kafka.docker.KafkaDockerWrapper setup \
  --default-configs-dir /etc/kafka/docker --mounted-configs-dir /mnt/shared/config --final-configs-dir /opt/kafka/config 2>&1) ||
  grep -qi 'already formatted' <<<"$said" || { echo "$said" >&2; exit 1; }
# shellcheck disable=SC2086 # several options in one variable
exec java ${KAFKA_HEAP_OPTS:--Xmx1g -Xms1g} -XX:+UseG1GC -Dorg.slf4j.simpleLogger.showDateTime=true \
  -Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn -Dorg.slf4j.simpleLogger.log.kafka.server.KafkaConfig=warn \
  -cp '/opt/kafka/libs/*' kafka.Kafka /opt/kafka/config/server.properties
