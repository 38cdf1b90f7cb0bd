#!/usr/bin/env bash
# What kafka-topics.sh of a Kafka distribution runs.
# shellcheck disable=SC2086 # several options in one variable
exec java ${KAFKA_HEAP_OPTS:--Xmx256m} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
  -cp '/opt/kafka/libs/*' org.apache.kafka.tools.TopicCommand "$@"
