-- database
CREATE DATABASE IF NOT EXISTS `weir` ON CLUSTER 'main';

-- weir_schema
CREATE TABLE IF NOT EXISTS `weir`.`weir_schema` ON CLUSTER 'main'
(
    `applied_at` DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when the statement was run',
    `object` String COMMENT 'what the statement made or changed',
    `sql` String COMMENT 'the statement'
)
ENGINE = ReplicatedMergeTree
ORDER BY (applied_at, object)
SETTINGS auto_statistics_types = ''
COMMENT 'Every statement that weir migrate has run.';

-- weir_jobs
CREATE TABLE IF NOT EXISTS `weir`.`weir_jobs` ON CLUSTER 'main'
(
    `job` LowCardinality(String) COMMENT 'the name of the job',
    `version` UInt32 COMMENT 'the version of the job; another one counts the whole log for itself',
    `measure` String COMMENT 'the measure; empty: the row is of the job',
    `meaning` String COMMENT 'what decides the stored values',
    `topic` String COMMENT 'the topic in Kafka',
    `keep` UInt32 COMMENT 'for how many seconds state rows are kept',
    `groups` Array(String) COMMENT 'the group columns',
    `rollup` String COMMENT 'the rollup: its table, or the seconds of its windows',
    `seconds` UInt32 COMMENT 'the length of the windows of the shortest rollup',
    `bits` UInt64 COMMENT 'of a Bloom measure: the third argument of weirBloomHas',
    `created_at` DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when the row was written'
)
ENGINE = ReplicatedMergeTree
ORDER BY (job, version, measure, created_at)
SETTINGS auto_statistics_types = ''
COMMENT 'What each version of a job means, once for the job and once for each measure. The earliest row is valid.';

-- weir_ledger
CREATE TABLE IF NOT EXISTS `weir`.`weir_ledger` ON CLUSTER 'main'
(
    `job` LowCardinality(String) COMMENT 'the name of the job',
    `version` UInt32 COMMENT 'the version of the job; another one counts the whole log for itself',
    `epoch` UInt8 COMMENT 'a number for each topic that was counted under this name',
    `partition` UInt16 COMMENT 'the partition in Kafka',
    `chunk` UInt64 COMMENT 'the first offset of the aligned chunk',
    `first` UInt64 COMMENT 'the first offset that was read of the chunk',
    `next` SimpleAggregateFunction(max, UInt64) COMMENT 'the offset behind the last one that was read',
    `counted` SimpleAggregateFunction(max, UInt64),
    `late` SimpleAggregateFunction(max, UInt64),
    `future` SimpleAggregateFunction(max, UInt64),
    `malformed` SimpleAggregateFunction(max, UInt64),
    `duplicate` SimpleAggregateFunction(max, UInt64),
    `filtered` SimpleAggregateFunction(max, UInt64),
    `throttled` SimpleAggregateFunction(max, UInt64),
    `gap` SimpleAggregateFunction(max, UInt64),
    `events` SimpleAggregateFunction(max, UInt64) COMMENT 'how many events the records had, where a record is an array of them',
    `events_counted` SimpleAggregateFunction(max, UInt64),
    `events_late` SimpleAggregateFunction(max, UInt64),
    `events_future` SimpleAggregateFunction(max, UInt64),
    `events_malformed` SimpleAggregateFunction(max, UInt64),
    `events_duplicate` SimpleAggregateFunction(max, UInt64),
    `events_filtered` SimpleAggregateFunction(max, UInt64),
    `events_throttled` SimpleAggregateFunction(max, UInt64),
    `saved` SimpleAggregateFunction(max, String) CODEC(ZSTD(1)),
    `watermark` SimpleAggregateFunction(max, DateTime64(3, 'UTC')) COMMENT 'the greatest time that the events have passed',
    `topic_id` SimpleAggregateFunction(max, UUID) COMMENT 'the id that the broker gave the topic',
    `flushed_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last written, by the server\'s clock; a TTL uses it, no number does',
    `began` SimpleAggregateFunction(min, DateTime('UTC')) DEFAULT now() COMMENT 'when the reading of the chunk began, by the server\'s clock',
    `slot` UInt64 ALIAS bitOr(bitOr(bitShiftLeft(toUInt64(epoch), 56), bitShiftLeft(toUInt64(partition), 40)), chunk) COMMENT 'epoch, partition and chunk as the counts of state rows name them',
    INDEX flushed_at_range flushed_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
ORDER BY (job, version, epoch, partition, chunk, first)
SETTINGS merge_selector_base = 16, auto_statistics_types = ''
COMMENT 'The outcomes of all offsets: one line for each chunk, all figures are maxima. Read it with FINAL.';

-- weir_dead_letters
CREATE TABLE IF NOT EXISTS `weir`.`weir_dead_letters` ON CLUSTER 'main'
(
    `job` LowCardinality(String) COMMENT 'the name of the job',
    `version` UInt32 COMMENT 'the version of the job; another one counts the whole log for itself',
    `epoch` UInt8 COMMENT 'a number for each topic that was counted under this name',
    `partition` UInt16 COMMENT 'the partition in Kafka',
    `offset` UInt64 COMMENT 'the offset of the record',
    `topic` LowCardinality(String) COMMENT 'the topic in Kafka',
    `outcome` LowCardinality(String) COMMENT 'why it was not counted: late, future or malformed',
    `reason` String COMMENT 'what was wrong, and with which field',
    `record_time` DateTime64(3, 'UTC') COMMENT 'the time that the record has in Kafka',
    `payload` String COMMENT 'the first 16 KiB of the record\'s value' CODEC(ZSTD(1)),
    `payload_bytes` UInt64 COMMENT 'how long the value was',
    `flushed_at` DateTime('UTC') DEFAULT now() COMMENT 'when the row was last written, by the server\'s clock; a TTL uses it, no number does'
)
ENGINE = ReplicatedReplacingMergeTree
ORDER BY (job, version, epoch, partition, offset)
TTL flushed_at + toIntervalDay(30)
SETTINGS auto_statistics_types = ''
COMMENT 'Records that were not counted, with the reason. A payload of more than 16 KiB is cut: payload_bytes says how long it was. A repeated row is equal to the first: read it with FINAL.';

-- weir_rollups
CREATE TABLE IF NOT EXISTS `weir`.`weir_rollups` ON CLUSTER 'main'
(
    `job` LowCardinality(String) COMMENT 'the name of the job',
    `version` UInt32 COMMENT 'the version of the job; another one counts the whole log for itself',
    `rollup` UInt32 COMMENT 'the rollup: its table, or the seconds of its windows',
    `opened` SimpleAggregateFunction(max, UInt64) COMMENT 'the greatest round that was opened',
    `done` SimpleAggregateFunction(max, UInt64) COMMENT 'the rollup has all rows of the rounds before this one',
    `complete_until` SimpleAggregateFunction(max, DateTime64(3, 'UTC')) COMMENT 'windows that end by then are complete'
)
ENGINE = ReplicatedAggregatingMergeTree
ORDER BY (job, version, rollup)
SETTINGS auto_statistics_types = ''
COMMENT 'The current round of each job (the greatest opened), and how far each rollup is: it may lack rows of round done and later; windows that end by complete_until are complete.';

-- clicks_state
CREATE TABLE IF NOT EXISTS `weir`.`clicks_state` ON CLUSTER 'main'
(
    `page` LowCardinality(String) COMMENT 'a group of the job',
    `country` LowCardinality(String) COMMENT 'a group of the job',
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(maxMap, Map(UInt64, UInt64)) COMMENT 'how many events were counted; adds up over windows and groups',
    `users` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges' CODEC(ZSTD(1)),
    `active` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure active (bitmap), which groupBitmapMergeState(`active`) merges' CODEC(ZSTD(1)),
    `seen` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure seen (bloom), which groupBitmapMergeState(`seen`) merges' CODEC(ZSTD(1)),
    `flushed_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last written, by the server\'s clock; a TTL uses it, no number does',
    `flushed_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last written',
    INDEX flushed_at_range flushed_at TYPE minmax GRANULARITY 1,
    INDEX flushed_in_range flushed_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMMDD(window_start)
ORDER BY (window_start, `page`, `country`)
TTL flushed_at + toIntervalSecond(1728000000)
SETTINGS index_granularity = 1024, index_granularity_bytes = 1048576, ttl_only_drop_parts = 1, merge_selector_base = 16, auto_statistics_types = ''
COMMENT 'What weir writes: counts by slot and sketch states, by window and group. Rows with equal keys merge.';

-- clicks_places_state
CREATE TABLE IF NOT EXISTS `weir`.`clicks_places_state` ON CLUSTER 'main'
(
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `member` String COMMENT 'whose position it is' CODEC(ZSTD(1)),
    `last` SimpleAggregateFunction(max, Tuple(ts DateTime64(3, 'UTC'), slot UInt64, off UInt64, score UInt64)) COMMENT 'the last position: its time, the slot and offset of its record, and its 52-bit cell' CODEC(ZSTD(1)),
    `flushed_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last written, by the server\'s clock; a TTL uses it, no number does',
    INDEX flushed_at_range flushed_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMMDD(window_start)
ORDER BY (window_start, member)
TTL flushed_at + toIntervalSecond(1728000000)
SETTINGS ttl_only_drop_parts = 1, merge_selector_base = 16, auto_statistics_types = ''
COMMENT 'The last position of each member in each window: the greatest (time, slot, offset) stays.';

-- clicks_1m_rollup
CREATE TABLE IF NOT EXISTS `weir`.`clicks_1m_rollup` ON CLUSTER 'main'
(
    `page` LowCardinality(String) COMMENT 'a group of the job',
    `country` LowCardinality(String) COMMENT 'a group of the job',
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(max, UInt64) COMMENT 'how many events were counted; adds up over windows and groups',
    `flushed` SimpleAggregateFunction(max, Tuple(hits UInt64, measures UInt64)) COMMENT 'of how many events whole rows gave their numbers, and of which measures',
    `users` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure users, which views show',
    `active` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure active, which views show',
    `seen` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure seen, which views show',
    `rolled_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last made, by the server\'s clock; a TTL uses it, no number does',
    `rolled_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last made',
    INDEX rolled_at_range rolled_at TYPE minmax GRANULARITY 1,
    INDEX rolled_in_range rolled_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMMDD(window_start)
ORDER BY (`page`, `country`, window_start)
SETTINGS index_granularity_bytes = 4194304, auto_statistics_types = ''
COMMENT 'Finished numbers of windows of 1m.';

-- clicks_1h_rollup
CREATE TABLE IF NOT EXISTS `weir`.`clicks_1h_rollup` ON CLUSTER 'main'
(
    `page` LowCardinality(String) COMMENT 'a group of the job',
    `country` LowCardinality(String) COMMENT 'a group of the job',
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(max, UInt64) COMMENT 'how many events were counted; adds up over windows and groups',
    `users` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure users, which views show',
    `active` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure active, which views show',
    `seen` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure seen, which views show',
    `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges' CODEC(ZSTD(1)),
    `active_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure active (bitmap), which groupBitmapMergeState(`active`) merges' CODEC(ZSTD(1)) TTL rolled_at + toIntervalSecond(2592000),
    `seen_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure seen (bloom), which groupBitmapMergeState(`seen`) merges' CODEC(ZSTD(1)) TTL rolled_at + toIntervalSecond(2592000),
    `rolled_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last made, by the server\'s clock; a TTL uses it, no number does',
    `rolled_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last made',
    INDEX rolled_at_range rolled_at TYPE minmax GRANULARITY 1,
    INDEX rolled_in_range rolled_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMM(window_start)
ORDER BY (`page`, `country`, window_start)
SETTINGS index_granularity_bytes = 4194304, auto_statistics_types = ''
COMMENT 'Finished numbers of windows of 1h.';

-- clicks_1d_rollup
CREATE TABLE IF NOT EXISTS `weir`.`clicks_1d_rollup` ON CLUSTER 'main'
(
    `page` LowCardinality(String) COMMENT 'a group of the job',
    `country` LowCardinality(String) COMMENT 'a group of the job',
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(max, UInt64) COMMENT 'how many events were counted; adds up over windows and groups',
    `users` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure users, which views show',
    `active` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure active, which views show',
    `seen` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure seen, which views show',
    `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges' CODEC(ZSTD(1)),
    `active_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure active (bitmap), which groupBitmapMergeState(`active`) merges' CODEC(ZSTD(1)),
    `seen_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure seen (bloom), which groupBitmapMergeState(`seen`) merges' CODEC(ZSTD(1)),
    `rolled_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last made, by the server\'s clock; a TTL uses it, no number does',
    `rolled_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last made',
    INDEX rolled_at_range rolled_at TYPE minmax GRANULARITY 1,
    INDEX rolled_in_range rolled_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYear(window_start)
ORDER BY (`page`, `country`, window_start)
SETTINGS index_granularity_bytes = 4194304, auto_statistics_types = ''
COMMENT 'Finished numbers of windows of 1d.';

-- locations_v3_state
CREATE TABLE IF NOT EXISTS `weir`.`locations_v3_state` ON CLUSTER 'main'
(
    `cell` String COMMENT 'a group of the job',
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(maxMap, Map(UInt64, UInt64)) COMMENT 'how many events were counted; adds up over windows and groups',
    `users` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges' CODEC(ZSTD(1)),
    `flushed_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last written, by the server\'s clock; a TTL uses it, no number does',
    `flushed_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last written',
    INDEX flushed_at_range flushed_at TYPE minmax GRANULARITY 1,
    INDEX flushed_in_range flushed_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMMDD(window_start)
ORDER BY (window_start, `cell`)
TTL flushed_at + toIntervalSecond(604800)
SETTINGS index_granularity = 1024, index_granularity_bytes = 1048576, ttl_only_drop_parts = 1, merge_selector_base = 16, auto_statistics_types = ''
COMMENT 'What weir writes: counts by slot and sketch states, by window and group. Rows with equal keys merge.';

-- locations_v3_places_state
CREATE TABLE IF NOT EXISTS `weir`.`locations_v3_places_state` ON CLUSTER 'main'
(
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `member` String COMMENT 'whose position it is' CODEC(ZSTD(1)),
    `last` SimpleAggregateFunction(max, Tuple(ts DateTime64(3, 'UTC'), slot UInt64, off UInt64, score UInt64)) COMMENT 'the last position: its time, the slot and offset of its record, and its 52-bit cell' CODEC(ZSTD(1)),
    `flushed_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last written, by the server\'s clock; a TTL uses it, no number does',
    INDEX flushed_at_range flushed_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMMDD(window_start)
ORDER BY (window_start, member)
TTL flushed_at + toIntervalSecond(604800)
SETTINGS ttl_only_drop_parts = 1, merge_selector_base = 16, auto_statistics_types = ''
COMMENT 'The last position of each member in each window: the greatest (time, slot, offset) stays.';

-- locations_v3_1m_rollup
CREATE TABLE IF NOT EXISTS `weir`.`locations_v3_1m_rollup` ON CLUSTER 'main'
(
    `cell` String COMMENT 'a group of the job',
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(max, UInt64) COMMENT 'how many events were counted; adds up over windows and groups',
    `flushed` SimpleAggregateFunction(max, Tuple(hits UInt64, measures UInt64)) COMMENT 'of how many events whole rows gave their numbers, and of which measures',
    `users` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure users, which views show',
    `rolled_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last made, by the server\'s clock; a TTL uses it, no number does',
    `rolled_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last made',
    INDEX rolled_at_range rolled_at TYPE minmax GRANULARITY 1,
    INDEX rolled_in_range rolled_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMMDD(window_start)
ORDER BY (`cell`, window_start)
TTL rolled_at + toIntervalSecond(2592000)
SETTINGS index_granularity_bytes = 4194304, auto_statistics_types = ''
COMMENT 'Finished numbers of windows of 1m.';

-- locations_v3_1h_rollup
CREATE TABLE IF NOT EXISTS `weir`.`locations_v3_1h_rollup` ON CLUSTER 'main'
(
    `cell` String COMMENT 'a group of the job',
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(max, UInt64) COMMENT 'how many events were counted; adds up over windows and groups',
    `users` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure users, which views show',
    `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges' CODEC(ZSTD(1)),
    `rolled_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last made, by the server\'s clock; a TTL uses it, no number does',
    `rolled_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last made',
    INDEX rolled_at_range rolled_at TYPE minmax GRANULARITY 1,
    INDEX rolled_in_range rolled_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMM(window_start)
ORDER BY (`cell`, window_start)
SETTINGS index_granularity_bytes = 4194304, auto_statistics_types = ''
COMMENT 'Finished numbers of windows of 1h.';

-- total_state
CREATE TABLE IF NOT EXISTS `weir`.`total_state` ON CLUSTER 'main'
(
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(maxMap, Map(UInt64, UInt64)) COMMENT 'how many events were counted; adds up over windows and groups',
    `users` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges' CODEC(ZSTD(1)),
    `flushed_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last written, by the server\'s clock; a TTL uses it, no number does',
    `flushed_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last written',
    INDEX flushed_at_range flushed_at TYPE minmax GRANULARITY 1,
    INDEX flushed_in_range flushed_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMMDD(window_start)
ORDER BY window_start
TTL flushed_at + toIntervalSecond(604800)
SETTINGS index_granularity = 1024, index_granularity_bytes = 1048576, ttl_only_drop_parts = 1, merge_selector_base = 16, auto_statistics_types = ''
COMMENT 'What weir writes: counts by slot and sketch states, by window and group. Rows with equal keys merge.';

-- total_5m_rollup
CREATE TABLE IF NOT EXISTS `weir`.`total_5m_rollup` ON CLUSTER 'main'
(
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(max, UInt64) COMMENT 'how many events were counted; adds up over windows and groups',
    `users` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure users, which views show',
    `rolled_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last made, by the server\'s clock; a TTL uses it, no number does',
    `rolled_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last made',
    INDEX rolled_at_range rolled_at TYPE minmax GRANULARITY 1,
    INDEX rolled_in_range rolled_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMMDD(window_start)
ORDER BY window_start
SETTINGS index_granularity_bytes = 4194304, auto_statistics_types = ''
COMMENT 'Finished numbers of windows of 5m.';

-- total_1h_rollup
CREATE TABLE IF NOT EXISTS `weir`.`total_1h_rollup` ON CLUSTER 'main'
(
    `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC',
    `hits` SimpleAggregateFunction(max, UInt64) COMMENT 'how many events were counted; adds up over windows and groups',
    `users` SimpleAggregateFunction(max, UInt64) COMMENT 'finished numbers of the measure users, which views show',
    `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges' CODEC(ZSTD(1)),
    `rolled_at` SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'when the row was last made, by the server\'s clock; a TTL uses it, no number does',
    `rolled_in` SimpleAggregateFunction(max, UInt64) COMMENT 'the round in which the row was last made',
    INDEX rolled_at_range rolled_at TYPE minmax GRANULARITY 1,
    INDEX rolled_in_range rolled_in TYPE minmax GRANULARITY 1
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMM(window_start)
ORDER BY window_start
SETTINGS index_granularity_bytes = 4194304, auto_statistics_types = ''
COMMENT 'Finished numbers of windows of 1h.';

-- weir_schema
INSERT INTO `weir`.`weir_schema` (object, sql) VALUES ('database id', '…');

-- weirPfCount
CREATE OR REPLACE FUNCTION weirPfCount ON CLUSTER 'main' AS state -> if(length(CAST(state, 'String')) <= 514, toUInt64(arrayUniq(arrayMap(k -> bitAnd(k, 16383), reinterpret(substring(CAST(state, 'String'), 3), 'Array(UInt64)')))), arrayMap((hist, parts) -> arrayMap(e -> toUInt64(least(e + 0.5 * (e < 4503599627370496), 9223372036854775808.)), [0.7213475204444817 * 268435456 / (arrayFold((z, c) -> (z + c) * 0.5, arrayReverse(arraySlice(hist, 2, 50)), 16384 * (arrayFold((a, i) -> (sqrt(a.1), a.2 * 0.5, a.3 - (1 - sqrt(a.1)) * (1 - sqrt(a.1)) * (a.2 * 0.5)), range(if(hist[52] = 0, 0, 24)), ((16384 - hist[52]) / 16384, toFloat64(1), hist[52] / 16384)).3 / 3)) + arraySum(parts) / 1125899906842624 + 16384 * arrayFold((a, i) -> (a.1 * a.1, a.2 * 2, a.3 + a.1 * a.1 * a.2), range(22), (toFloat64((hist[1] - length(parts)) / 16384), toFloat64(1), toFloat64((hist[1] - length(parts)) / 16384))).3)])[1], [reinterpret(if(startsWith(CAST(state, 'String'), unhex('03')), substring(CAST(state, 'String'), 12290, 208), concat(unhex('00400000'), repeat('\0', 204))), 'Array(UInt32)')], [arrayMap(codes -> arrayMap(c -> bitShiftRight(1125899906842624, bitAnd(c, 63)), arrayFilter((c, next) -> intDiv(c, 64) != intDiv(next, 64), codes, arrayShiftLeft(codes, 1, 4294967295))), [arraySort(arrayMap(k -> toUInt32(bitAnd(k, 16383) * 64 + least(bitCount(bitXor(bitShiftRight(k, 14), bitShiftRight(k, 14) - 1)), 51)), reinterpret(if(startsWith(CAST(state, 'String'), unhex('03')), '', substring(CAST(state, 'String'), if(reinterpretAsUInt8(substring(CAST(state, 'String'), 2, 1)) < 128, 3, 4))), 'Array(UInt64)')))])[1]])[1]);

-- weirUniq
CREATE OR REPLACE FUNCTION weirUniq ON CLUSTER 'main' AS state -> weirPfCount(uniqCombined64MergeState(14)(state));

-- weirSetCount
CREATE OR REPLACE FUNCTION weirSetCount ON CLUSTER 'main' AS state -> toUInt64(floor(0.5 - 4294967296. * log1p(-least(bitmapCardinality(state), 4294967295) / 4294967296.)));

-- weirSetHas
CREATE OR REPLACE FUNCTION weirSetHas ON CLUSTER 'main' AS (state, id) -> bitmapContains(state, toUInt32(bitAnd(xxHash64(toString(id)), 4294967295)));

-- weirSetUniq
CREATE OR REPLACE FUNCTION weirSetUniq ON CLUSTER 'main' AS state -> weirSetCount(groupBitmapMergeState(state));

-- weirBloomHas
CREATE OR REPLACE FUNCTION weirBloomHas ON CLUSTER 'main' AS (state, value, bits) -> bitmapHasAll(state, bitmapBuild(arrayMap((salt, word) -> assumeNotNull(toUInt32(bitShiftRight(bitShiftRight(xxHash64(toString(value)), 32) * intDiv(bits, 256), 32) * 256 + word * 32 + bitShiftRight(bitAnd(bitAnd(xxHash64(toString(value)), 4294967295) * salt, 4294967295), 27))), [1203114875, 1150766481, 2284105051, 2729912477, 1884591559, 770785867, 2667333959, 1550580529], [0, 1, 2, 3, 4, 5, 6, 7])));

-- weirQuantile
CREATE OR REPLACE FUNCTION weirQuantile ON CLUSTER 'main' AS (state, level) -> arrayMap((words, sums) -> arrayMap(q -> if(empty(sums), NULL, arrayMap(b -> arrayMap((scale, place) -> sign(place) * exp2((abs(place) - 1) / exp2(scale) - 1023) * (2 - 2 / (1 + exp2(exp2(-scale)))), [toFloat64(bitShiftRight(b, 28))], [toInt64(bitAnd(b, 268435455)) - 134217728])[1], [toUInt32(bitShiftRight(words[arrayFirstIndex(n -> n > least(toUInt64(q * sums[length(sums)]), toUInt64(sums[length(sums)] - 1)), sums)], 32))])[1]), [level + throwIf(NOT (level >= 0 AND level <= 1), 'the level of weirQuantile has to be 0 to 1')]), [arrayMap(words -> if(bitShiftRight(words[1], 60) = bitShiftRight(words[-1], 60), words, arraySort(w -> arrayMap(b -> arrayMap((scale, place) -> sign(place) * exp2((abs(place) - 1) / exp2(scale) - 1023) * (2 - 2 / (1 + exp2(exp2(-scale)))), [toFloat64(bitShiftRight(b, 28))], [toInt64(bitAnd(b, 268435455)) - 134217728])[1], [toUInt32(bitShiftRight(w, 32))])[1], words)), [arraySort(reinterpret(reverse(arrayStringConcat(groupArrayArray(tupleElement(mapValues(state), 2)))), 'Array(UInt64)'))])[1]], [arrayCumSum(w -> bitAnd(w, 4294967295), arrayMap(words -> if(bitShiftRight(words[1], 60) = bitShiftRight(words[-1], 60), words, arraySort(w -> arrayMap(b -> arrayMap((scale, place) -> sign(place) * exp2((abs(place) - 1) / exp2(scale) - 1023) * (2 - 2 / (1 + exp2(exp2(-scale)))), [toFloat64(bitShiftRight(b, 28))], [toInt64(bitAnd(b, 268435455)) - 134217728])[1], [toUInt32(bitShiftRight(w, 32))])[1], words)), [arraySort(reinterpret(reverse(arrayStringConcat(groupArrayArray(tupleElement(mapValues(state), 2)))), 'Array(UInt64)'))])[1])])[1][1];

-- weirTopK
CREATE OR REPLACE FUNCTION weirTopK ON CLUSTER 'main' AS (state, k) -> tupleElement(arrayMap((events, floors, all) -> (events, arrayMax(arrayPushBack(arrayMap(e -> toUInt64(toInt64(floors) + tupleElement(e, 3)), arraySlice(all, k + 1)), floors)), arrayMap(e -> (tupleElement(e, 2), toUInt64(-tupleElement(e, 1)), toUInt64(toUInt64(toInt64(floors) + tupleElement(e, 3)) - toUInt64(-tupleElement(e, 1)))), arraySlice(all, 1, k))), [sum(tupleElement(state[18446744073709551615], 1))], [sum(tupleElement(state[18446744073709551615], 2))], [arrayMap(l -> arraySort(arrayMap((key, n, over) -> (-toInt64(n), key, over), tupleElement(l, 1), tupleElement(l, 2), tupleElement(l, 3))), [sumMap(tupleElement(tupleElement(state[18446744073709551615], 3), 1), tupleElement(tupleElement(state[18446744073709551615], 3), 2), arrayMap(e -> toInt64(tupleElement(e, 2) + tupleElement(e, 3)) - toInt64(tupleElement(state[18446744073709551615], 2)), tupleElement(state[18446744073709551615], 3)))])[1]])[1], 3);

-- weirLon
CREATE OR REPLACE FUNCTION weirLon ON CLUSTER 'main' AS score -> least(greatest(((-180 + tupleElement(mortonDecode(2, score), 2) / 67108864 * 360) + (-180 + (tupleElement(mortonDecode(2, score), 2) + 1) / 67108864 * 360)) / 2, -180), 180);

-- weirLat
CREATE OR REPLACE FUNCTION weirLat ON CLUSTER 'main' AS score -> least(greatest(((-85.05112878 + tupleElement(mortonDecode(2, score), 1) / 67108864 * 170.10225756) + (-85.05112878 + (tupleElement(mortonDecode(2, score), 1) + 1) / 67108864 * 170.10225756)) / 2, -85.05112878), 85.05112878);

-- weirGeohash
CREATE OR REPLACE FUNCTION weirGeohash ON CLUSTER 'main' AS (score, precision) -> substring(concat(geohashEncode(if(weirLon(score) = 180, -180, weirLon(score)), weirLat(score), 10), '0'), 1, precision);

-- weirGeoDist
CREATE OR REPLACE FUNCTION weirGeoDist ON CLUSTER 'main' AS (score1, score2) -> arrayMap((lon1, lat1, lon2, lat2) -> 12745595.121712 * asin(sqrt(pow(sin((lat2 - lat1) / 2), 2) + cos(lat1) * cos(lat2) * pow(sin((lon2 - lon1) / 2), 2))), [radians(weirLon(score1))], [radians(weirLat(score1))], [radians(weirLon(score2))], [radians(weirLat(score2))])[1];

-- clicks_1m
CREATE OR REPLACE VIEW `weir`.`clicks_1m` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` UInt64 COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` UInt64 COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(complete_until, rollup = 60)) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1)) AS _tail
SELECT
    `page`, `country`, window_start,
    toUInt64(_f.hits) AS hits,
    toUInt64(_f.`users`) AS `users`,
    toUInt64(_f.`active`) AS `active`,
    toUInt64(_f.`seen`) AS `seen`,
    toUInt8(ifNull(window_start + 60 <= _at.2, 0)) AS complete
FROM
(
    SELECT `page`, `country`, window_start, max(_t.hits) AS hits, max(_t.`users`) AS `users`, max(_t.`active`) AS `active`, max(_t.`seen`) AS `seen`
    FROM
    (
        SELECT `page`, `country`, window_start, hits, weirPfCount(_w.`users`) AS `users`, bitmapCardinality(_w.`active`) AS `active`, bitmapCardinality(_w.`seen`) AS `seen`
    FROM
    (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits,
            uniqCombined64MergeState(14)(_s.`users`) AS `users`,
            groupBitmapMergeState(_s.`active`) AS `active`,
            groupBitmapMergeState(_s.`seen`) AS `seen`
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
    ) AS _w
        UNION ALL
        SELECT `page`, `country`, window_start, hits, `users`, `active`, `seen`
        FROM `weir`.`clicks_1m_rollup`
        WHERE window_start IN (_tail.1)
    ) AS _t
    GROUP BY `page`, `country`, window_start
    UNION ALL
    SELECT `page`, `country`, window_start, hits, `users`, `active`, `seen`
    FROM `weir`.`clicks_1m_rollup` FINAL
    WHERE window_start NOT IN (_tail.1)
) AS _f
COMMENT 'A window of 1m of each group, exact as of the last flush. weir migrate made it: 2552291dc3bcdeaf';

-- clicks_1m_states
CREATE OR REPLACE VIEW `weir`.`clicks_1m_states` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges', `active_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure active (bitmap), which groupBitmapMergeState(`active`) merges', `seen_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure seen (bloom), which groupBitmapMergeState(`seen`) merges')
AS SELECT `page`, `country`, window_start AS window_start, `users` AS `users_state`, `active` AS `active_state`, `seen` AS `seen_state`
FROM `weir`.`clicks_state`
COMMENT 'Sketches of windows of 1m: several rows of a window and group, to be merged. weir migrate made it: 9d08a2f40876ce9e';

-- clicks_1h
CREATE OR REPLACE VIEW `weir`.`clicks_1h` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` UInt64 COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` UInt64 COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 3600)) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    `page`, `country`, window_start,
    toUInt64(_f.hits) AS hits,
    toUInt64(_f.`users`) AS `users`,
    toUInt64(_f.`active`) AS `active`,
    toUInt64(_f.`seen`) AS `seen`,
    toUInt8(ifNull(window_start + 3600 <= _at.3, 0)) AS complete
FROM
(
    SELECT `page`, `country`, window_start, max(_t.hits) AS hits, max(_t.`users`) AS `users`, max(_t.`active`) AS `active`, max(_t.`seen`) AS `seen`
    FROM
    (
        SELECT `page`, `country`, window_start, hits, defaultValueOfTypeName('UInt64') AS `users`, defaultValueOfTypeName('UInt64') AS `active`, defaultValueOfTypeName('UInt64') AS `seen`
    FROM
    (
        SELECT `page`, `country`, _start AS window_start, sum(_w.hits) AS hits
        FROM
        (
            SELECT `page`, `country`, toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') AS _start, max(_v.hits) AS hits
            FROM
            (
            SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                UNION ALL
                SELECT `page`, `country`, window_start, hits
                FROM `weir`.`clicks_1m_rollup`
                WHERE window_start >= arrayMin(_tail.2) AND toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') IN (_tail.2)
            ) AS _v
            GROUP BY `page`, `country`, window_start
        ) AS _w
        GROUP BY `page`, `country`, _start
    ) AS _h
    UNION ALL
    SELECT `page`, `country`, _start, 0, weirPfCount(uniqCombined64MergeState(14)(_w.`users`)), bitmapCardinality(groupBitmapMergeState(_w.`active`)), bitmapCardinality(groupBitmapMergeState(_w.`seen`))
    FROM
    (
        SELECT `page`, `country`, toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') AS _start, `users` AS `users`, `active` AS `active`, `seen` AS `seen`
        FROM `weir`.`clicks_state`
        WHERE window_start IN (_tail.3)
        UNION ALL
        SELECT `page`, `country`, window_start, `users_state`, `active_state`, `seen_state`
        FROM `weir`.`clicks_1h_rollup`
        WHERE window_start IN (_tail.2)
    ) AS _w
    GROUP BY `page`, `country`, _start
        UNION ALL
        SELECT `page`, `country`, window_start, hits, `users`, `active`, `seen`
        FROM `weir`.`clicks_1h_rollup`
        WHERE window_start IN (_tail.2)
    ) AS _t
    GROUP BY `page`, `country`, window_start
    UNION ALL
    SELECT `page`, `country`, window_start, hits, `users`, `active`, `seen`
    FROM `weir`.`clicks_1h_rollup` FINAL
    WHERE window_start NOT IN (_tail.2)
) AS _f
COMMENT 'A window of 1h of each group, exact as of the last flush. weir migrate made it: a783024ca2251fa2';

-- clicks_1h_states
CREATE OR REPLACE VIEW `weir`.`clicks_1h_states` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges', `active_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure active (bitmap), which groupBitmapMergeState(`active`) merges', `seen_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure seen (bloom), which groupBitmapMergeState(`seen`) merges')
AS SELECT `page`, `country`, window_start, `users_state`, `active_state`, `seen_state`
FROM `weir`.`clicks_1h_rollup`
COMMENT 'Sketches of windows of 1h: several rows of a window and group, to be merged. weir migrate made it: 9905a243025996cc';

-- clicks_1d
CREATE OR REPLACE VIEW `weir`.`clicks_1d` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` UInt64 COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` UInt64 COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 86400)) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    `page`, `country`, window_start,
    toUInt64(_f.hits) AS hits,
    toUInt64(_f.`users`) AS `users`,
    toUInt64(_f.`active`) AS `active`,
    toUInt64(_f.`seen`) AS `seen`,
    toUInt8(ifNull(window_start + 86400 <= _at.4, 0)) AS complete
FROM
(
    SELECT `page`, `country`, window_start, max(_t.hits) AS hits, max(_t.`users`) AS `users`, max(_t.`active`) AS `active`, max(_t.`seen`) AS `seen`
    FROM
    (
        SELECT `page`, `country`, window_start, hits, defaultValueOfTypeName('UInt64') AS `users`, defaultValueOfTypeName('UInt64') AS `active`, defaultValueOfTypeName('UInt64') AS `seen`
    FROM
    (
        SELECT `page`, `country`, _start AS window_start, sum(_w.hits) AS hits
        FROM
        (
            SELECT `page`, `country`, toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC') AS _start, max(_v.hits) AS hits
            FROM
            (
            SELECT `page`, `country`, _start AS window_start, sum(_w.hits) AS hits
        FROM
        (
            SELECT `page`, `country`, toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') AS _start, max(_v.hits) AS hits
            FROM
            (
            SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                UNION ALL
                SELECT `page`, `country`, window_start, hits
                FROM `weir`.`clicks_1m_rollup`
                WHERE window_start >= arrayMin(_tail.2) AND toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') IN (_tail.2)
            ) AS _v
            GROUP BY `page`, `country`, window_start
        ) AS _w
        GROUP BY `page`, `country`, _start
                UNION ALL
                SELECT `page`, `country`, window_start, hits
                FROM `weir`.`clicks_1h_rollup`
                WHERE window_start >= arrayMin(_tail.3) AND toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC') IN (_tail.3)
            ) AS _v
            GROUP BY `page`, `country`, window_start
        ) AS _w
        GROUP BY `page`, `country`, _start
    ) AS _h
    UNION ALL
    SELECT `page`, `country`, _start, 0, weirPfCount(uniqCombined64MergeState(14)(_w.`users`)), bitmapCardinality(groupBitmapMergeState(_w.`active`)), bitmapCardinality(groupBitmapMergeState(_w.`seen`))
    FROM
    (
        SELECT `page`, `country`, toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC') AS _start, `users` AS `users`, `active` AS `active`, `seen` AS `seen`
        FROM `weir`.`clicks_state`
        WHERE window_start IN (_tail.4)
        UNION ALL
        SELECT `page`, `country`, toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), `users_state`, `active_state`, `seen_state`
        FROM `weir`.`clicks_1h_rollup`
        WHERE rolled_in >= _at.3
        UNION ALL
        SELECT `page`, `country`, window_start, `users_state`, `active_state`, `seen_state`
        FROM `weir`.`clicks_1d_rollup`
        WHERE window_start IN (_tail.3)
    ) AS _w
    GROUP BY `page`, `country`, _start
        UNION ALL
        SELECT `page`, `country`, window_start, hits, `users`, `active`, `seen`
        FROM `weir`.`clicks_1d_rollup`
        WHERE window_start IN (_tail.3)
    ) AS _t
    GROUP BY `page`, `country`, window_start
    UNION ALL
    SELECT `page`, `country`, window_start, hits, `users`, `active`, `seen`
    FROM `weir`.`clicks_1d_rollup` FINAL
    WHERE window_start NOT IN (_tail.3)
) AS _f
COMMENT 'A window of 1d of each group, exact as of the last flush. weir migrate made it: c84fbd4e22a3fe2d';

-- clicks_1d_states
CREATE OR REPLACE VIEW `weir`.`clicks_1d_states` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges', `active_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure active (bitmap), which groupBitmapMergeState(`active`) merges', `seen_state` AggregateFunction(groupBitmap, UInt32) COMMENT 'states of the measure seen (bloom), which groupBitmapMergeState(`seen`) merges')
AS SELECT `page`, `country`, window_start, `users_state`, `active_state`, `seen_state`
FROM `weir`.`clicks_1d_rollup`
COMMENT 'Sketches of windows of 1d: several rows of a window and group, to be merged. weir migrate made it: 60cd2287dae1f504';

-- clicks_places
CREATE OR REPLACE VIEW `weir`.`clicks_places` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `member` String COMMENT 'whose position it is', `score` UInt64 COMMENT 'the 52-bit cell that Redis keeps of the position: weirLon, weirLat, weirGeohash, weirGeoDist', `lon` Float64 COMMENT 'degrees east', `lat` Float64 COMMENT 'degrees north', `geohash` String COMMENT 'the position as a geohash', `ts` DateTime64(3, 'UTC') COMMENT 'the time of the event')
AS SELECT
    window_start,
    member,
    _t.latest.score AS score,
    weirLon(score) AS lon,
    weirLat(score) AS lat,
    weirGeohash(score, 11) AS geohash,
    _t.latest.ts AS ts
FROM
(
    SELECT window_start, member, max(last) AS latest
    FROM `weir`.`clicks_places_state`
    GROUP BY window_start, member
) AS _t
COMMENT 'The last position of each member in each window. weir migrate made it: f6faa852d66aa654';

-- clicks_range
CREATE OR REPLACE VIEW `weir`.`clicks_range` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    `page`, `country`, toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT `page`, `country`, arrayJoin([_step]) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT `page`, `country`, intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 2, 1)))
        GROUP BY `page`, `country`, _step
    ) AS _s
) AS _o
GROUP BY `page`, `country`, _window
HAVING (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) % 3600 = 0)
COMMENT 'One number for a range, from and to, of each group. weir migrate made it: f9a6c444acee8e8e';

-- clicks_range_total
CREATE OR REPLACE VIEW `weir`.`clicks_range_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT arrayJoin([_step]) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) % 3600 = 0)
COMMENT 'One number for a range, from and to, of all groups together. weir migrate made it: d2c21ae91558d695';

-- clicks_last
CREATE OR REPLACE VIEW `weir`.`clicks_last` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf(NOT match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write span as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    `page`, `country`, toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT `page`, `country`, arrayJoin([_step]) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT `page`, `country`, intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 2, 1)))
        GROUP BY `page`, `country`, _step
    ) AS _s
) AS _o
GROUP BY `page`, `country`, _window
HAVING (intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) % 3600 = 0)
COMMENT 'One number for the last span, such as \'1h\', of each group. weir migrate made it: 52daf40c9eaf82ba';

-- clicks_last_total
CREATE OR REPLACE VIEW `weir`.`clicks_last_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf(NOT match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write span as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT arrayJoin([_step]) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) % 3600 = 0)
COMMENT 'One number for the last span, such as \'1h\', of all groups together. weir migrate made it: 7f64dcff46ca36fb';

-- clicks_tumble
CREATE OR REPLACE VIEW `weir`.`clicks_tumble` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job clicks'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; clicks_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    `page`, `country`, toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT `page`, `country`, arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT `page`, `country`, intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1)))
        GROUP BY `page`, `country`, _step
    ) AS _s
) AS _o
GROUP BY `page`, `country`, _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'Windows of a size, such as \'10m\', of each group, the first one at from. weir migrate made it: dafd05611caa4e84';

-- clicks_tumble_total
CREATE OR REPLACE VIEW `weir`.`clicks_tumble_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job clicks'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; clicks_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'Windows of a size, such as \'10m\', of all groups together, the first one at from. weir migrate made it: 594a9049e497459d';

-- clicks_hop
CREATE OR REPLACE VIEW `weir`.`clicks_hop` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job clicks'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job clicks'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; clicks_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    `page`, `country`, toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT `page`, `country`, arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT `page`, `country`, intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) * gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1)))
        GROUP BY `page`, `country`, _step
    ) AS _s
) AS _o
GROUP BY `page`, `country`, _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 1727999400 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'Windows of a size, one every so long, of each group, the first one at from. weir migrate made it: e7f83577d359756f';

-- clicks_hop_total
CREATE OR REPLACE VIEW `weir`.`clicks_hop_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job clicks'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job clicks'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; clicks_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) * gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 1727999400 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'Windows of a size, one every so long, of all groups together, the first one at from. weir migrate made it: 07461199304a4882';

-- clicks_calendar
CREATE OR REPLACE VIEW `weir`.`clicks_calendar` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job clicks do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT ((toUnixTimestamp(toDateTime({from:Date}, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toUnixTimestamp(toDateTime({from:Date}, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date}), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    `page`, `country`, toDateTime(toUnixTimestamp(toDateTime(_window, {zone:String})), 'UTC') AS window_start,
    toDateTime(toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT `page`, `country`, arrayJoin(if(_step >= {from:Date} AND _step < {to:Date}, [_step], [])) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT `page`, `country`, toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String})), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String})), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1)))
        GROUP BY `page`, `country`, _step
    ) AS _s
) AS _o
GROUP BY `page`, `country`, _window
HAVING (toUnixTimestamp(toDateTime(_window, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toUnixTimestamp(toDateTime(_window, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})) % 3600 = 0)
COMMENT 'Days, weeks, months, quarters or years (unit) of a time zone, of each group. weir migrate made it: 16cc798f4ce92d2e';

-- clicks_calendar_total
CREATE OR REPLACE VIEW `weir`.`clicks_calendar_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job clicks do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT ((toUnixTimestamp(toDateTime({from:Date}, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toUnixTimestamp(toDateTime({from:Date}, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date}), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    toDateTime(toUnixTimestamp(toDateTime(_window, {zone:String})), 'UTC') AS window_start,
    toDateTime(toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT arrayJoin(if(_step >= {from:Date} AND _step < {to:Date}, [_step], [])) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String})), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String})), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (toUnixTimestamp(toDateTime(_window, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toUnixTimestamp(toDateTime(_window, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})) % 3600 = 0)
COMMENT 'Days, weeks, months, quarters or years (unit) of a time zone, of all groups together. weir migrate made it: bb63150e7d25838b';

-- clicks_cumulate
CREATE OR REPLACE VIEW `weir`.`clicks_cumulate` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job clicks do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job clicks'), throwIf(dateDiff('day', {from:Date}, multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date})) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: a period has at most 1500 steps'), throwIf(dateDiff('day', {from:Date}, {to:Date}) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or a greater every: an answer has at most 10000 windows'), throwIf(NOT ((toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(({from:Date}, 0).1, 1), {unit:String} = 'week', addWeeks(({from:Date}, 0).1, 1), {unit:String} = 'month', addMonths(({from:Date}, 0).1, 1), {unit:String} = 'quarter', addQuarters(({from:Date}, 0).1, 1), {unit:String} = 'year', addYears(({from:Date}, 0).1, 1), ({from:Date}, 0).1), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    `page`, `country`, toDateTime(toUnixTimestamp(toDateTime(_window.1, {zone:String})), 'UTC') AS window_start,
    toDateTime(least(toUnixTimestamp(toDateTime(_window.1, {zone:String})) + (_window.2 + 1) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String}))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT `page`, `country`, arrayJoin(if(_step.1 >= {from:Date} AND _step.1 < {to:Date}, arrayMap(i -> (_step.1, i), range(toUInt64(_step.2), toUInt64(intDiv(greatest(least(toInt64(toUnixTimestamp(now())), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_step.1, 1), {unit:String} = 'week', addWeeks(_step.1, 1), {unit:String} = 'month', addMonths(_step.1, 1), {unit:String} = 'quarter', addQuarters(_step.1, 1), {unit:String} = 'year', addYears(_step.1, 1), _step.1), {zone:String})) - 1) - toUnixTimestamp(toDateTime(_step.1, {zone:String})) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), [])) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT `page`, `country`, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), intDiv(toUnixTimestamp(_start) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1)))
        GROUP BY `page`, `country`, _step
    ) AS _s
) AS _o
GROUP BY `page`, `country`, _window
HAVING (toUnixTimestamp(toDateTime(_window.1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(_window.1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String})) % 3600 = 0)
COMMENT 'What had come in a day (or another unit) by then, each step of every later, of each group. weir migrate made it: b14877bee187f9a7';

-- clicks_cumulate_total
CREATE OR REPLACE VIEW `weir`.`clicks_cumulate_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `active` Nullable(UInt64) COMMENT 'bitmap: keeps the ids themselves, unsigned integers below 2^32; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `seen` Nullable(UInt64) COMMENT 'bloom: answers whether an id was seen; does not add up: of several windows or groups ask clicks_range, clicks_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job clicks do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job clicks'), throwIf(dateDiff('day', {from:Date}, multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date})) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: a period has at most 1500 steps'), throwIf(dateDiff('day', {from:Date}, {to:Date}) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or a greater every: an answer has at most 10000 windows'), throwIf(NOT ((toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(({from:Date}, 0).1, 1), {unit:String} = 'week', addWeeks(({from:Date}, 0).1, 1), {unit:String} = 'month', addMonths(({from:Date}, 0).1, 1), {unit:String} = 'quarter', addQuarters(({from:Date}, 0).1, 1), {unit:String} = 'year', addYears(({from:Date}, 0).1, 1), ({from:Date}, 0).1), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    toDateTime(toUnixTimestamp(toDateTime(_window.1, {zone:String})), 'UTC') AS window_start,
    toDateTime(least(toUnixTimestamp(toDateTime(_window.1, {zone:String})) + (_window.2 + 1) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String}))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`active`)))) AS `active`,
    if(max(_o._gone), NULL, toUInt64(bitmapCardinality(groupBitmapMergeState(_o.`seen`)))) AS `seen`,
    toUInt8(ifNull(window_end <= _at.4, 0)) AS complete
FROM
(
    SELECT arrayJoin(if(_step.1 >= {from:Date} AND _step.1 < {to:Date}, arrayMap(i -> (_step.1, i), range(toUInt64(_step.2), toUInt64(intDiv(greatest(least(toInt64(toUnixTimestamp(now())), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_step.1, 1), {unit:String} = 'week', addWeeks(_step.1, 1), {unit:String} = 'month', addMonths(_step.1, 1), {unit:String} = 'quarter', addQuarters(_step.1, 1), {unit:String} = 'year', addYears(_step.1, 1), _step.1), {zone:String})) - 1) - toUnixTimestamp(toDateTime(_step.1, {zone:String})) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), [])) AS _window, hits, `users`, `active`, `seen`, _gone
    FROM
    (
        SELECT (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), intDiv(toUnixTimestamp(_start) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`, groupBitmapMergeState(_p.`active`) AS `active`, groupBitmapMergeState(_p.`seen`) AS `seen`, max(_p._gone) AS _gone
        FROM
        (
            SELECT `page`, `country`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `active`, bitmapBuild(CAST([], 'Array(UInt32)')) AS `seen`, 0 AS _gone
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `page`, `country`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`clicks_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `page`, `country`, window_start
                ) AS _l
                UNION ALL
                SELECT `page`, `country`, window_start, 1, hits
                FROM `weir`.`clicks_1m_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, hits
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, hits
                FROM `weir`.`clicks_1d_rollup`
            ) AS _v
            GROUP BY `page`, `country`, _start, _level
            UNION ALL
            SELECT `page`, `country`, window_start, 1, if(window_start IN (_tail.4), 2, 1), 0, `users`, `active`, `seen`, 0
            FROM `weir`.`clicks_state`
            UNION ALL
            SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), 0, `users_state`, `active_state`, `seen_state`, rolled_at <= now('UTC') - 2592000
            FROM `weir`.`clicks_1h_rollup`
            UNION ALL
            SELECT `page`, `country`, window_start, 3, 1, 0, `users_state`, `active_state`, `seen_state`, 0
            FROM `weir`.`clicks_1d_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (toUnixTimestamp(toDateTime(_window.1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(_window.1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String})) % 3600 = 0)
COMMENT 'What had come in a day (or another unit) by then, each step of every later, of all groups together. weir migrate made it: 144f9255eeb52abe';

-- clicks_retention
CREATE OR REPLACE VIEW `weir`.`clicks_retention` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `cohort` UInt64 COMMENT 'how many ids were there in the window', `later` DateTime('UTC') COMMENT 'when the later window begins, UTC', `returned` UInt64 COMMENT 'how many of these were there in the later window, too', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job clicks do not divide days of this time zone'), throwIf(NOT ((toUnixTimestamp(toDateTime({from:Date}, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toUnixTimestamp(toDateTime({from:Date}, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date}), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired'), throwIf({measure:String} NOT IN ('active'), 'write a measure that holds ids, a set or a bitmap: active of job clicks'), throwIf((if({to:Date} > {from:Date}, dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), {to:Date} - 1) + NOT (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date}), 0)) > 64, 'write a shorter range or longer periods: an answer has at most 64')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    `page`, `country`, toDateTime(toUnixTimestamp(toDateTime(_window, {zone:String})), 'UTC') AS window_start,
    toDateTime(toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})), 'UTC') AS window_end,
    toUInt64(toUInt64(_of)) AS cohort,
    toDateTime(toUnixTimestamp(toDateTime(_later, {zone:String})), 'UTC') AS later,
    toUInt64(toUInt64(_of) + toUInt64(_in) - least(toUInt64((_of + _in - _both)), toUInt64(_of) + toUInt64(_in))) AS returned,
    toUInt8(ifNull(toDateTime(toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_later, 1), {unit:String} = 'week', addWeeks(_later, 1), {unit:String} = 'month', addMonths(_later, 1), {unit:String} = 'quarter', addQuarters(_later, 1), {unit:String} = 'year', addYears(_later, 1), _later), {zone:String})), 'UTC') <= _at.4, 0)) AS complete
FROM
(
    SELECT
        `page`, `country`, multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))) AS _window, multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))) AS _later,
        bitmapCardinality(_a.2) AS _of, bitmapCardinality(_b.2) AS _in, bitmapAndCardinality(_a.2, _b.2) AS _both
    FROM
    (
        SELECT `page`, `country`, groupArray((_period, _set)) AS _sets
        FROM
        (
            SELECT `page`, `country`, _period, groupBitmapState(toUInt32(_number)) AS _set
            FROM
            (
                SELECT `page`, `country`, rowNumberInAllBlocks() AS _number, arrayJoin(bitPositionsToArray(_bits)) AS _period
                FROM
                (
                    SELECT `page`, `country`, _id, groupBitOr(bitShiftLeft(toUInt64(1), _place)) AS _bits
                    FROM (SELECT `page`, `country`, _place, arrayJoin(_ids) AS _id FROM (
            SELECT `page`, `country`, toInt32(dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String})) - (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})) AS _place, if(throwIf(_gone AND _level = 2, 'ids of windows of 1h in the range are not kept any more (keep_states 30d): ask for later ones'), [], _r._ids) AS _ids
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, if(window_start IN (_tail.4), 2, 1) AS _part, bitmapToArray(`active`) AS _ids, 0 AS _gone
                FROM `weir`.`clicks_state`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), bitmapToArray(`active_state`), rolled_at <= now('UTC') - 2592000
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, 1, bitmapToArray(`active_state`), 0
                FROM `weir`.`clicks_1d_rollup`
            ) AS _r
            WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND toInt32(dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String})) - (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})) >= 0 AND toInt32(dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String})) - (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})) < least((if({to:Date} > {from:Date}, dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), {to:Date} - 1) + NOT (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date}), 0)), 64) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String})), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String})), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1)))) AS _s)
                    GROUP BY `page`, `country`, _id
                )
            )
            GROUP BY `page`, `country`, _period
        )
        GROUP BY `page`, `country`
    )
    ARRAY JOIN _sets AS _a
    ARRAY JOIN _sets AS _b
    WHERE _a.1 <= _b.1
)
WHERE (toUnixTimestamp(toDateTime(_window, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toUnixTimestamp(toDateTime(_window, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})) % 3600 = 0)
COMMENT 'How many ids of a window (cohort) were there in a later one (returned), of a measure that holds ids. weir migrate made it: 3bfb317dc4b6b282';

-- clicks_retention_total
CREATE OR REPLACE VIEW `weir`.`clicks_retention_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `cohort` UInt64 COMMENT 'how many ids were there in the window', `later` DateTime('UTC') COMMENT 'when the later window begins, UTC', `returned` UInt64 COMMENT 'how many of these were there in the later window, too', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job clicks do not divide days of this time zone'), throwIf(NOT ((toUnixTimestamp(toDateTime({from:Date}, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toUnixTimestamp(toDateTime({from:Date}, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date}), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired'), throwIf({measure:String} NOT IN ('active'), 'write a measure that holds ids, a set or a bitmap: active of job clicks'), throwIf((if({to:Date} > {from:Date}, dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), {to:Date} - 1) + NOT (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date}), 0)) > 64, 'write a shorter range or longer periods: an answer has at most 64')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    toDateTime(toUnixTimestamp(toDateTime(_window, {zone:String})), 'UTC') AS window_start,
    toDateTime(toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})), 'UTC') AS window_end,
    toUInt64(toUInt64(_of)) AS cohort,
    toDateTime(toUnixTimestamp(toDateTime(_later, {zone:String})), 'UTC') AS later,
    toUInt64(toUInt64(_of) + toUInt64(_in) - least(toUInt64((_of + _in - _both)), toUInt64(_of) + toUInt64(_in))) AS returned,
    toUInt8(ifNull(toDateTime(toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_later, 1), {unit:String} = 'week', addWeeks(_later, 1), {unit:String} = 'month', addMonths(_later, 1), {unit:String} = 'quarter', addQuarters(_later, 1), {unit:String} = 'year', addYears(_later, 1), _later), {zone:String})), 'UTC') <= _at.4, 0)) AS complete
FROM
(
    SELECT
        multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _a.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))) AS _window, multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), _b.1 + (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))) AS _later,
        bitmapCardinality(_a.2) AS _of, bitmapCardinality(_b.2) AS _in, bitmapAndCardinality(_a.2, _b.2) AS _both
    FROM
    (
        SELECT groupArray((_period, _set)) AS _sets
        FROM
        (
            SELECT _period, groupBitmapState(toUInt32(_number)) AS _set
            FROM
            (
                SELECT rowNumberInAllBlocks() AS _number, arrayJoin(bitPositionsToArray(_bits)) AS _period
                FROM
                (
                    SELECT _id, groupBitOr(bitShiftLeft(toUInt64(1), _place)) AS _bits
                    FROM (SELECT _place, arrayJoin(_ids) AS _id FROM (
            SELECT toInt32(dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String})) - (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})) AS _place, if(throwIf(_gone AND _level = 2, 'ids of windows of 1h in the range are not kept any more (keep_states 30d): ask for later ones'), [], _r._ids) AS _ids
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, if(window_start IN (_tail.4), 2, 1) AS _part, bitmapToArray(`active`) AS _ids, 0 AS _gone
                FROM `weir`.`clicks_state`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), bitmapToArray(`active_state`), rolled_at <= now('UTC') - 2592000
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, 1, bitmapToArray(`active_state`), 0
                FROM `weir`.`clicks_1d_rollup`
            ) AS _r
            WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND toInt32(dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String})) - (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})) >= 0 AND toInt32(dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String})) - (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date})) < least((if({to:Date} > {from:Date}, dateDiff(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})), {to:Date} - 1) + NOT (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) < {from:Date}), 0)), 64) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String}))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String})), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399), 'UTC'), {zone:String}), {zone:String})), 3, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1)))) AS _s)
                    GROUP BY _id
                )
            )
            GROUP BY _period
        )
        
    )
    ARRAY JOIN _sets AS _a
    ARRAY JOIN _sets AS _b
    WHERE _a.1 <= _b.1
)
WHERE (toUnixTimestamp(toDateTime(_window, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toUnixTimestamp(toDateTime(_window, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})) % 3600 = 0)
COMMENT 'How many ids of a window (cohort) were there in a later one (returned), of a measure that holds ids. weir migrate made it: 0dbcf8d0be68a055';

-- clicks_retention_tumble
CREATE OR REPLACE VIEW `weir`.`clicks_retention_tumble` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `cohort` UInt64 COMMENT 'how many ids were there in the window', `later` DateTime('UTC') COMMENT 'when the later window begins, UTC', `returned` UInt64 COMMENT 'how many of these were there in the later window, too', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job clicks'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; clicks_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired'), throwIf({measure:String} NOT IN ('active'), 'write a measure that holds ids, a set or a bitmap: active of job clicks'), throwIf((intDiv((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) > 64, 'write a shorter range or longer periods: an answer has at most 64')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    `page`, `country`, toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(toUInt64(_of)) AS cohort,
    toDateTime(_later, 'UTC') AS later,
    toUInt64(toUInt64(_of) + toUInt64(_in) - least(toUInt64((_of + _in - _both)), toUInt64(_of) + toUInt64(_in))) AS returned,
    toUInt8(ifNull(toDateTime(_later + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') <= _at.4, 0)) AS complete
FROM
(
    SELECT
        `page`, `country`, (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + _a.1 * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) AS _window, (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + _b.1 * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) AS _later,
        bitmapCardinality(_a.2) AS _of, bitmapCardinality(_b.2) AS _in, bitmapAndCardinality(_a.2, _b.2) AS _both
    FROM
    (
        SELECT `page`, `country`, groupArray((_period, _set)) AS _sets
        FROM
        (
            SELECT `page`, `country`, _period, groupBitmapState(toUInt32(_number)) AS _set
            FROM
            (
                SELECT `page`, `country`, rowNumberInAllBlocks() AS _number, arrayJoin(bitPositionsToArray(_bits)) AS _period
                FROM
                (
                    SELECT `page`, `country`, _id, groupBitOr(bitShiftLeft(toUInt64(1), _place)) AS _bits
                    FROM (SELECT `page`, `country`, _place, arrayJoin(_ids) AS _id FROM (
            SELECT `page`, `country`, toInt32(intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - (toUnixTimestamp(_start) < intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60)) AS _place, if(throwIf(_gone AND _level = 2, 'ids of windows of 1h in the range are not kept any more (keep_states 30d): ask for later ones'), [], _r._ids) AS _ids
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, if(window_start IN (_tail.4), 2, 1) AS _part, bitmapToArray(`active`) AS _ids, 0 AS _gone
                FROM `weir`.`clicks_state`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), bitmapToArray(`active_state`), rolled_at <= now('UTC') - 2592000
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, 1, bitmapToArray(`active_state`), 0
                FROM `weir`.`clicks_1d_rollup`
            ) AS _r
            WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) AND toInt32(intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - (toUnixTimestamp(_start) < intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60)) >= 0 AND toInt32(intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - (toUnixTimestamp(_start) < intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60)) < least((intDiv((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 64) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1)))) AS _s)
                    GROUP BY `page`, `country`, _id
                )
            )
            GROUP BY `page`, `country`, _period
        )
        GROUP BY `page`, `country`
    )
    ARRAY JOIN _sets AS _a
    ARRAY JOIN _sets AS _b
    WHERE _a.1 <= _b.1
)
WHERE (_window >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'How many ids of a window (cohort) were there in a later one (returned), of a measure that holds ids. weir migrate made it: 260d8c31e48c60e8';

-- clicks_retention_tumble_total
CREATE OR REPLACE VIEW `weir`.`clicks_retention_tumble_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `cohort` UInt64 COMMENT 'how many ids were there in the window', `later` DateTime('UTC') COMMENT 'when the later window begins, UTC', `returned` UInt64 COMMENT 'how many of these were there in the later window, too', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(done, rollup = 86400), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job clicks'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; clicks_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired'), throwIf({measure:String} NOT IN ('active'), 'write a measure that holds ids, a set or a bitmap: active of job clicks'), throwIf((intDiv((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) > 64, 'write a shorter range or longer periods: an answer has at most 64')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 86400) * 86400, 'UTC'), _level <= 2), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`clicks_1m_rollup` WHERE rolled_in >= _at.2 UNION ALL SELECT window_start, 2 FROM `weir`.`clicks_1h_rollup` WHERE rolled_in >= _at.3)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(toUInt64(_of)) AS cohort,
    toDateTime(_later, 'UTC') AS later,
    toUInt64(toUInt64(_of) + toUInt64(_in) - least(toUInt64((_of + _in - _both)), toUInt64(_of) + toUInt64(_in))) AS returned,
    toUInt8(ifNull(toDateTime(_later + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') <= _at.4, 0)) AS complete
FROM
(
    SELECT
        (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + _a.1 * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) AS _window, (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + _b.1 * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) AS _later,
        bitmapCardinality(_a.2) AS _of, bitmapCardinality(_b.2) AS _in, bitmapAndCardinality(_a.2, _b.2) AS _both
    FROM
    (
        SELECT groupArray((_period, _set)) AS _sets
        FROM
        (
            SELECT _period, groupBitmapState(toUInt32(_number)) AS _set
            FROM
            (
                SELECT rowNumberInAllBlocks() AS _number, arrayJoin(bitPositionsToArray(_bits)) AS _period
                FROM
                (
                    SELECT _id, groupBitOr(bitShiftLeft(toUInt64(1), _place)) AS _bits
                    FROM (SELECT _place, arrayJoin(_ids) AS _id FROM (
            SELECT toInt32(intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - (toUnixTimestamp(_start) < intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60)) AS _place, if(throwIf(_gone AND _level = 2, 'ids of windows of 1h in the range are not kept any more (keep_states 30d): ask for later ones'), [], _r._ids) AS _ids
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, if(window_start IN (_tail.4), 2, 1) AS _part, bitmapToArray(`active`) AS _ids, 0 AS _gone
                FROM `weir`.`clicks_state`
                UNION ALL
                SELECT `page`, `country`, window_start, 2, if(rolled_in >= _at.3, 2, 1), bitmapToArray(`active_state`), rolled_at <= now('UTC') - 2592000
                FROM `weir`.`clicks_1h_rollup`
                UNION ALL
                SELECT `page`, `country`, window_start, 3, 1, bitmapToArray(`active_state`), 0
                FROM `weir`.`clicks_1d_rollup`
            ) AS _r
            WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) AND toInt32(intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - (toUnixTimestamp(_start) < intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60)) >= 0 AND toInt32(intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - (toUnixTimestamp(_start) < intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60)) < least((intDiv((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 64) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') NOT IN (_tail.3) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 3, (toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 86400) * 86400, 'UTC') + 86399)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 3, (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1)))) AS _s)
                    GROUP BY _id
                )
            )
            GROUP BY _period
        )
        
    )
    ARRAY JOIN _sets AS _a
    ARRAY JOIN _sets AS _b
    WHERE _a.1 <= _b.1
)
WHERE (_window >= toInt64(toUnixTimestamp(now())) - 1727999400 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'How many ids of a window (cohort) were there in a later one (returned), of a measure that holds ids. weir migrate made it: 24c37398bb48ef31';

-- clicks_sessions
CREATE OR REPLACE VIEW `weir`.`clicks_sessions` ON CLUSTER 'main'
(`page` LowCardinality(String) COMMENT 'a group of the job', `country` LowCardinality(String) COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `least` UInt64 COMMENT 'at least so many', `most` UInt64 COMMENT 'at most so many', `total_most` UInt64 COMMENT 'at most so many in all windows of the answer together', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(complete_until, rollup = 60), throwIf(((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) - (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60)) / 60 > 50000, 'write a shorter range: it has more than 50000 windows of 1m'), throwIf((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60) < toInt64(toUnixTimestamp(now())) - 1727999400, 'ids of windows of 1m are not kept for so long: ask for later ones'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job clicks'), throwIf(NOT match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write gap as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf({measure:String} NOT IN ('active'), 'write a measure that holds ids, a set or a bitmap: active of job clicks'), throwIf(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) < 60, 'write a gap of \'1m\' or more: that is the length of the shortest windows of job clicks'), throwIf(((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or a greater every: an answer has at most 10000 windows'), throwIf((SELECT count() FROM `weir`.`clicks_1m_rollup` WHERE toUnixTimestamp(window_start) >= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60) AND toUnixTimestamp(window_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))) > 1000000, 'write a shorter range: it has more than 1000000 rows of windows and groups')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1)) AS _tail
SELECT
    `page`, `country`, toDateTime(intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + _number * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 'UTC') AS window_start,
    toDateTime(intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (_number + 1) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(_sure) AS least,
    toUInt64(_may + toUInt64(0 * (toFloat64(_may) * _of / 4294967296.))) AS most,
    toUInt64(_all + toUInt64(0 * (toFloat64(_all) * _of / 4294967296.))) AS total_most,
    toUInt8(ifNull(window_end <= _at.2, 0)) AS complete
FROM
(
    SELECT
        `page`, `country`, _number, _sure, _may, _squares, _each,
        sum(if(_number < 0, _may, 0)) OVER (PARTITION BY `page`, `country`) AS _of,
        sum(if(_number < 0, 0, _may)) OVER (PARTITION BY `page`, `country`) AS _all,
        sum(if(_number < 0, _squares, 0)) OVER (PARTITION BY `page`, `country`) AS _all_squares,
        max(if(_number < 0, _each, 0)) OVER (PARTITION BY `page`, `country`) AS _all_each
    FROM
    (
        SELECT
            `page`, `country`, if(_begun = 1, -1, intDiv(toInt64(bitShiftRight(_begun, 1)) - 1 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60), intDiv(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 60))) AS _number,
            sum(bitAnd(_begun, 1)) AS _sure,
            count() AS _may,
            sum(if(_begun = 1, length(_starts) * length(_starts), _most)) AS _squares,
            max(if(_begun = 1, length(_starts), _most)) AS _each
        FROM
        (
            SELECT
                `page`, `country`, arraySort(groupArray(_place)) AS _panes,
                arrayFilter(b -> b > 0, arrayMap(
                    (w, gap) -> if(w > intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) AND gap >= intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))), 60), toUInt64(w) * 2 + (gap > intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60)), 0),
                    _panes, arrayPopFront(arrayDifference(arrayPushFront(_panes, toInt32(-1000000)))))) AS _starts,
                least(length(_starts), toUInt64(intDiv(toUInt64(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) + toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s')))))) AS _most,
                arrayJoin(arrayPushBack(_starts, 1)) AS _begun
            FROM (SELECT `page`, `country`, _place, arrayJoin(_ids) AS _id FROM (
            SELECT `page`, `country`, toUInt32(intDiv(toInt64(toUnixTimestamp(_start)) - (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60), 60) + 1) AS _place, _r._ids AS _ids
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, 1 AS _part, bitmapToArray(`active`) AS _ids
                FROM `weir`.`clicks_state`
            ) AS _r
            WHERE toUnixTimestamp(_start) >= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60) AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))) AS _s)
            GROUP BY `page`, `country`, _id
        )
        GROUP BY `page`, `country`, _number
    )
)
WHERE _number >= 0
COMMENT 'How many sessions begin in a window: events of an id less than a gap apart. weir migrate made it: b688bc87f14361c2';

-- clicks_sessions_total
CREATE OR REPLACE VIEW `weir`.`clicks_sessions_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `least` UInt64 COMMENT 'at least so many', `most` UInt64 COMMENT 'at most so many', `total_most` UInt64 COMMENT 'at most so many in all windows of the answer together', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(complete_until, rollup = 60), throwIf(((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) - (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60)) / 60 > 50000, 'write a shorter range: it has more than 50000 windows of 1m'), throwIf((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60) < toInt64(toUnixTimestamp(now())) - 1727999400, 'ids of windows of 1m are not kept for so long: ask for later ones'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job clicks'), throwIf(NOT match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write gap as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf({measure:String} NOT IN ('active'), 'write a measure that holds ids, a set or a bitmap: active of job clicks'), throwIf(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) < 60, 'write a gap of \'1m\' or more: that is the length of the shortest windows of job clicks'), throwIf(((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or a greater every: an answer has at most 10000 windows'), throwIf((SELECT count() FROM `weir`.`clicks_1m_rollup` WHERE toUnixTimestamp(window_start) >= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60) AND toUnixTimestamp(window_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))) > 1000000, 'write a shorter range: it has more than 1000000 rows of windows and groups')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1)) AS _tail
SELECT
    toDateTime(intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + _number * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 'UTC') AS window_start,
    toDateTime(intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (_number + 1) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(_sure) AS least,
    toUInt64(_may + toUInt64(0 * (toFloat64(_may) * _of / 4294967296.))) AS most,
    toUInt64(_all + toUInt64(0 * (toFloat64(_all) * _of / 4294967296.))) AS total_most,
    toUInt8(ifNull(window_end <= _at.2, 0)) AS complete
FROM
(
    SELECT
        _number, _sure, _may, _squares, _each,
        sum(if(_number < 0, _may, 0)) OVER () AS _of,
        sum(if(_number < 0, 0, _may)) OVER () AS _all,
        sum(if(_number < 0, _squares, 0)) OVER () AS _all_squares,
        max(if(_number < 0, _each, 0)) OVER () AS _all_each
    FROM
    (
        SELECT
            if(_begun = 1, -1, intDiv(toInt64(bitShiftRight(_begun, 1)) - 1 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60), intDiv(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 60))) AS _number,
            sum(bitAnd(_begun, 1)) AS _sure,
            count() AS _may,
            sum(if(_begun = 1, length(_starts) * length(_starts), _most)) AS _squares,
            max(if(_begun = 1, length(_starts), _most)) AS _each
        FROM
        (
            SELECT
                arraySort(groupArray(_place)) AS _panes,
                arrayFilter(b -> b > 0, arrayMap(
                    (w, gap) -> if(w > intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) AND gap >= intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))), 60), toUInt64(w) * 2 + (gap > intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60)), 0),
                    _panes, arrayPopFront(arrayDifference(arrayPushFront(_panes, toInt32(-1000000)))))) AS _starts,
                least(length(_starts), toUInt64(intDiv(toUInt64(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) + toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s')))))) AS _most,
                arrayJoin(arrayPushBack(_starts, 1)) AS _begun
            FROM (SELECT _place, arrayJoin(_ids) AS _id FROM (
            SELECT toUInt32(intDiv(toInt64(toUnixTimestamp(_start)) - (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60), 60) + 1) AS _place, _r._ids AS _ids
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, 1 AS _part, bitmapToArray(`active`) AS _ids
                FROM `weir`.`clicks_state`
            ) AS _r
            WHERE toUnixTimestamp(_start) >= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - intDiv(toInt64(parseTimeDelta(if(match({gap:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {gap:String}, '1s'))) + 59, 60) * 60) AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))) AS _s)
            GROUP BY _id
        )
        GROUP BY _number
    )
)
WHERE _number >= 0
COMMENT 'How many sessions begin in a window: events of an id less than a gap apart. weir migrate made it: 1e5e1d86b16e0620';

-- clicks_funnel
CREATE OR REPLACE VIEW `weir`.`clicks_funnel` ON CLUSTER 'main'
(`step` UInt32 COMMENT 'the number of the step, from 1', `name` String COMMENT 'the step as the query has it', `least` UInt64 COMMENT 'at least so many', `most` UInt64 COMMENT 'at most so many', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(arrayMap(s -> splitByChar(':', s), {steps:Array(String)}) AS _parts, arrayExists(s -> length(s) < 2 OR s[2] = '*', _parts), arrayMap(s -> decodeURLComponent(s[2]), _parts), arrayExists(s -> length(s) < 3 OR s[3] = '*', _parts), arrayMap(s -> decodeURLComponent(s[3]), _parts))) AS _asked,
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(complete_until, rollup = 60), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / 60 > 50000, 'write a shorter range: it has more than 50000 windows of 1m'), throwIf(intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(toUnixTimestamp(now())) - 1727999400, 'ids of windows of 1m are not kept for so long: ask for later ones'), throwIf(empty({steps:Array(String)}) OR length({steps:Array(String)}) > 32, 'write 1 to 32 steps'), throwIf(arrayExists(s -> s[1] NOT IN ('active'), _asked.1), 'begin each step with the name of a measure that holds ids, a set or a bitmap: active of job clicks'), throwIf(arrayExists(s -> length(s) > 3, _asked.1), 'write each step as a measure and, after a colon each, a text or * for the 2 group columns of job clicks'), throwIf(arrayUniq(arrayMap(s -> transform(s[1], ['active'], ['bitmap']), _asked.1)) > 1, 'write steps that are all of sets or all of bitmaps: ids of both are not comparable'), throwIf((SELECT count() FROM `weir`.`clicks_1m_rollup` WHERE toUnixTimestamp(window_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(window_start) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)) > 1000000, 'write a shorter range: it has more than 1000000 rows of windows and groups')) FROM `weir`.`weir_rollups` WHERE job = 'clicks' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`clicks_state` WHERE flushed_in >= _at.1)) AS _tail
SELECT
    toUInt32(_k) AS step,
    {steps:Array(String)}[_k] AS name,
    toUInt64(greatest(0, toInt64(_sure) - toInt64(toUInt64(0 * _mixed)))) AS least,
    toUInt64(_may + toUInt64(0 * _both)) AS most,
    toUInt8(ifNull(toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 'UTC') <= _at.2, 0)) AS complete
FROM
(
    SELECT
        _k, arraySum(w -> w.4 * (w.2 >= _k), _went) AS _sure, arraySum(w -> w.4 * (w.3 >= _k), _went) AS _may,
        toFloat64(arrayMin(arrayMap(j -> arraySum(w -> w.4 * bitTest(w.1, j), _went), range(_k)))) * _n / 4294967296. AS _mixed,
        toFloat64(_may) * _may / 8589934592. AS _both
    FROM
    (
        SELECT groupArray((_steps, _sure, _may, _ids)) AS _went, sum(_ids) AS _n
        FROM
        (
            SELECT
                _steps,
                toUInt8(bitAnd(_least, 63) + (bitAnd(_least, 63) + 1 = _of) * (bitOr(_last, 63) > bitOr(_least, 63)) * (_of > 1)) AS _sure,
                toUInt8(bitAnd(_most, 63) + (bitAnd(_most, 63) + 1 = _of) * (_last > _most) * (_of > 1)) AS _may,
                count() AS _ids
            FROM
            (
                SELECT
                    length({steps:Array(String)}) AS _of,
                    groupBitOr(bitShiftLeft(toUInt32(1), bitAnd(_place, 63) - 1)) AS _steps,
                    minIf(_place, bitAnd(_place, 63) = 1) AS _first,
                    maxIf(_place, bitAnd(_place, 63) = _of) AS _last,
                    arraySort(if(_first > 0, groupArrayIf(_place, toUInt8((bitAnd(_place, 63) > 1) * (bitAnd(_place, 63) < _of))), [])) AS _places,
                    arrayFold((a, p) -> (if(toUInt8((bitAnd(p, 63) = bitAnd(a.1, 63) + 1) * (bitOr(p, 63) > bitOr(a.1, 63))), p, a.1), if(toUInt8((bitAnd(p, 63) = bitAnd(a.2, 63) + 1) * (p > a.2)), p, a.2)), _places, (_first, _first)) AS _reached,
                    _reached.1 AS _least,
                    _reached.2 AS _most
                FROM (SELECT _place, arrayJoin(_ids) AS _id FROM (
            SELECT arrayJoin(arrayMap(_k -> toUInt32(bitShiftLeft(toUInt32(intDiv(toInt64(toUnixTimestamp(_start)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 60) + 1), 6) + _k), arrayFilter((_k, _s) -> _s[1] = 'active' AND (length(_s) < 2 OR _s[2] = '*' OR decodeURLComponent(_s[2]) = toString(`page`)) AND (length(_s) < 3 OR _s[3] = '*' OR decodeURLComponent(_s[3]) = toString(`country`)), arrayEnumerate(_asked.1), _asked.1))) AS _place, _r._ids AS _ids
            FROM
            (
                SELECT `page`, `country`, window_start AS _start, 1 AS _level, 1 AS _part, bitmapToArray(`active`) AS _ids
                FROM `weir`.`clicks_state`
            ) AS _r
            WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) AND arrayExists(s -> s[1] = 'active', _asked.1) AND (_asked.2 OR `page` IN (_asked.3)) AND (_asked.4 OR `country` IN (_asked.5)) AND arrayExists(_s -> _s[1] = 'active' AND (length(_s) < 2 OR _s[2] = '*' OR decodeURLComponent(_s[2]) = toString(`page`)) AND (length(_s) < 3 OR _s[3] = '*' OR decodeURLComponent(_s[3]) = toString(`country`)), _asked.1)) AS _s)
                GROUP BY _id
            )
            GROUP BY _steps, _sure, _may
        )
    )
    ARRAY JOIN arrayEnumerate({steps:Array(String)}) AS _k
)
ORDER BY step
COMMENT 'How many ids took the steps in their order. weir migrate made it: ee9fced007ff92f6';

-- locations_1m
CREATE OR REPLACE VIEW `weir`.`locations_1m` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(complete_until, rollup = 60)) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1)) AS _tail
SELECT
    `cell`, window_start,
    toUInt64(_f.hits) AS hits,
    toUInt64(_f.`users`) AS `users`,
    toUInt8(ifNull(window_start + 60 <= _at.2, 0)) AS complete
FROM
(
    SELECT `cell`, window_start, max(_t.hits) AS hits, max(_t.`users`) AS `users`
    FROM
    (
        SELECT `cell`, window_start, hits, weirPfCount(_w.`users`) AS `users`
    FROM
    (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits,
            uniqCombined64MergeState(14)(_s.`users`) AS `users`
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
    ) AS _w
        UNION ALL
        SELECT `cell`, window_start, hits, `users`
        FROM `weir`.`locations_v3_1m_rollup`
        WHERE window_start IN (_tail.1)
    ) AS _t
    GROUP BY `cell`, window_start
    UNION ALL
    SELECT `cell`, window_start, hits, `users`
    FROM `weir`.`locations_v3_1m_rollup` FINAL
    WHERE window_start NOT IN (_tail.1)
) AS _f
COMMENT 'A window of 1m of each group, exact as of the last flush. weir migrate made it: f789710ab453247f';

-- locations_1m_states
CREATE OR REPLACE VIEW `weir`.`locations_1m_states` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges')
AS SELECT `cell`, window_start AS window_start, `users` AS `users_state`
FROM `weir`.`locations_v3_state`
COMMENT 'Sketches of windows of 1m: several rows of a window and group, to be merged. weir migrate made it: 9abc5c53e5ba3b9c';

-- locations_1h
CREATE OR REPLACE VIEW `weir`.`locations_1h` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 3600)) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    `cell`, window_start,
    toUInt64(_f.hits) AS hits,
    toUInt64(_f.`users`) AS `users`,
    toUInt8(ifNull(window_start + 3600 <= _at.3, 0)) AS complete
FROM
(
    SELECT `cell`, window_start, max(_t.hits) AS hits, max(_t.`users`) AS `users`
    FROM
    (
        SELECT `cell`, window_start, hits, defaultValueOfTypeName('UInt64') AS `users`
    FROM
    (
        SELECT `cell`, _start AS window_start, sum(_w.hits) AS hits
        FROM
        (
            SELECT `cell`, toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') AS _start, max(_v.hits) AS hits
            FROM
            (
            SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                UNION ALL
                SELECT `cell`, window_start, hits
                FROM `weir`.`locations_v3_1m_rollup`
                WHERE window_start >= arrayMin(_tail.2) AND toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') IN (_tail.2)
            ) AS _v
            GROUP BY `cell`, window_start
        ) AS _w
        GROUP BY `cell`, _start
    ) AS _h
    UNION ALL
    SELECT `cell`, _start, 0, weirPfCount(uniqCombined64MergeState(14)(_w.`users`))
    FROM
    (
        SELECT `cell`, toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') AS _start, `users` AS `users`
        FROM `weir`.`locations_v3_state`
        WHERE window_start IN (_tail.3)
        UNION ALL
        SELECT `cell`, window_start, `users_state`
        FROM `weir`.`locations_v3_1h_rollup`
        WHERE window_start IN (_tail.2)
    ) AS _w
    GROUP BY `cell`, _start
        UNION ALL
        SELECT `cell`, window_start, hits, `users`
        FROM `weir`.`locations_v3_1h_rollup`
        WHERE window_start IN (_tail.2)
    ) AS _t
    GROUP BY `cell`, window_start
    UNION ALL
    SELECT `cell`, window_start, hits, `users`
    FROM `weir`.`locations_v3_1h_rollup` FINAL
    WHERE window_start NOT IN (_tail.2)
) AS _f
COMMENT 'A window of 1h of each group, exact as of the last flush. weir migrate made it: 4d5acb9a35dabd00';

-- locations_1h_states
CREATE OR REPLACE VIEW `weir`.`locations_1h_states` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges')
AS SELECT `cell`, window_start, `users_state`
FROM `weir`.`locations_v3_1h_rollup`
COMMENT 'Sketches of windows of 1h: several rows of a window and group, to be merged. weir migrate made it: 764c8f8199bbf747';

-- locations_places
CREATE OR REPLACE VIEW `weir`.`locations_places` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `member` String COMMENT 'whose position it is', `score` UInt64 COMMENT 'the 52-bit cell that Redis keeps of the position: weirLon, weirLat, weirGeohash, weirGeoDist', `lon` Float64 COMMENT 'degrees east', `lat` Float64 COMMENT 'degrees north', `geohash` String COMMENT 'the position as a geohash', `ts` DateTime64(3, 'UTC') COMMENT 'the time of the event')
AS SELECT
    window_start,
    member,
    _t.latest.score AS score,
    weirLon(score) AS lon,
    weirLat(score) AS lat,
    weirGeohash(score, 11) AS geohash,
    _t.latest.ts AS ts
FROM
(
    SELECT window_start, member, max(last) AS latest
    FROM `weir`.`locations_v3_places_state`
    GROUP BY window_start, member
) AS _t
COMMENT 'The last position of each member in each window. weir migrate made it: e3c8157a8ff780ee';

-- locations_range
CREATE OR REPLACE VIEW `weir`.`locations_range` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    `cell`, toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT `cell`, arrayJoin([_step]) AS _window, hits, `users`
    FROM
    (
        SELECT `cell`, intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 2, 1)))
        GROUP BY `cell`, _step
    ) AS _s
) AS _o
GROUP BY `cell`, _window
HAVING (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) % 3600 = 0)
COMMENT 'One number for a range, from and to, of each group. weir migrate made it: ef94c56567c116d7';

-- locations_range_total
CREATE OR REPLACE VIEW `weir`.`locations_range_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin([_step]) AS _window, hits, `users`
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60)), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) % 3600 = 0)
COMMENT 'One number for a range, from and to, of all groups together. weir migrate made it: a429e4524edf40e9';

-- locations_last
CREATE OR REPLACE VIEW `weir`.`locations_last` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf(NOT match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write span as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    `cell`, toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT `cell`, arrayJoin([_step]) AS _window, hits, `users`
    FROM
    (
        SELECT `cell`, intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 2, 1)))
        GROUP BY `cell`, _step
    ) AS _s
) AS _o
GROUP BY `cell`, _window
HAVING (intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) % 3600 = 0)
COMMENT 'One number for the last span, such as \'1h\', of each group. weir migrate made it: 01369420ddc672d9';

-- locations_last_total
CREATE OR REPLACE VIEW `weir`.`locations_last_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf(NOT match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write span as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin([_step]) AS _window, hits, `users`
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60)), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 60) * 60 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 60 - 1, 60) * 60) % 3600 = 0)
COMMENT 'One number for the last span, such as \'1h\', of all groups together. weir migrate made it: a1a6e3e0519861c3';

-- locations_tumble
CREATE OR REPLACE VIEW `weir`.`locations_tumble` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job locations'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; locations_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    `cell`, toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT `cell`, arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`
    FROM
    (
        SELECT `cell`, intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1)))
        GROUP BY `cell`, _step
    ) AS _s
) AS _o
GROUP BY `cell`, _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'Windows of a size, such as \'10m\', of each group, the first one at from. weir migrate made it: 878d9735f80bd4f2';

-- locations_tumble_total
CREATE OR REPLACE VIEW `weir`.`locations_tumble_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job locations'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; locations_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'Windows of a size, such as \'10m\', of all groups together, the first one at from. weir migrate made it: 091066423a8e17e8';

-- locations_hop
CREATE OR REPLACE VIEW `weir`.`locations_hop` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job locations'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job locations'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; locations_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    `cell`, toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT `cell`, arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`
    FROM
    (
        SELECT `cell`, intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) * gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1)))
        GROUP BY `cell`, _step
    ) AS _s
) AS _o
GROUP BY `cell`, _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 604200 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'Windows of a size, one every so long, of each group, the first one at from. weir migrate made it: f2723eccf7d77b70';

-- locations_hop_total
CREATE OR REPLACE VIEW `weir`.`locations_hop_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 60 != 0, 'write size as a multiple of \'1m\', the shortest windows of job locations'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job locations'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; locations_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 >= toInt64(toUnixTimestamp(now())) - 604200 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) * gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 60 - 1, 60) * 60) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 604200 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 60) * 60 % 3600 = 0)
COMMENT 'Windows of a size, one every so long, of all groups together, the first one at from. weir migrate made it: 05b61716f91e47da';

-- locations_calendar
CREATE OR REPLACE VIEW `weir`.`locations_calendar` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job locations do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT ((toUnixTimestamp(toDateTime({from:Date}, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toUnixTimestamp(toDateTime({from:Date}, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date}), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    `cell`, toDateTime(toUnixTimestamp(toDateTime(_window, {zone:String})), 'UTC') AS window_start,
    toDateTime(toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT `cell`, arrayJoin(if(_step >= {from:Date} AND _step < {to:Date}, [_step], [])) AS _window, hits, `users`
    FROM
    (
        SELECT `cell`, toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1)))
        GROUP BY `cell`, _step
    ) AS _s
) AS _o
GROUP BY `cell`, _window
HAVING (toUnixTimestamp(toDateTime(_window, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toUnixTimestamp(toDateTime(_window, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})) % 3600 = 0)
COMMENT 'Days, weeks, months, quarters or years (unit) of a time zone, of each group. weir migrate made it: 48f88925d65e0df5';

-- locations_calendar_total
CREATE OR REPLACE VIEW `weir`.`locations_calendar_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job locations do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT ((toUnixTimestamp(toDateTime({from:Date}, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toUnixTimestamp(toDateTime({from:Date}, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date}), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(toUnixTimestamp(toDateTime(_window, {zone:String})), 'UTC') AS window_start,
    toDateTime(toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin(if(_step >= {from:Date} AND _step < {to:Date}, [_step], [])) AS _window, hits, `users`
    FROM
    (
        SELECT toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (toUnixTimestamp(toDateTime(_window, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toUnixTimestamp(toDateTime(_window, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})) % 3600 = 0)
COMMENT 'Days, weeks, months, quarters or years (unit) of a time zone, of all groups together. weir migrate made it: 1dc92b16e0c6afbb';

-- locations_cumulate
CREATE OR REPLACE VIEW `weir`.`locations_cumulate` ON CLUSTER 'main'
(`cell` String COMMENT 'a group of the job', `window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job locations do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job locations'), throwIf(dateDiff('day', {from:Date}, multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date})) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: a period has at most 1500 steps'), throwIf(dateDiff('day', {from:Date}, {to:Date}) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or a greater every: an answer has at most 10000 windows'), throwIf(NOT ((toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(({from:Date}, 0).1, 1), {unit:String} = 'week', addWeeks(({from:Date}, 0).1, 1), {unit:String} = 'month', addMonths(({from:Date}, 0).1, 1), {unit:String} = 'quarter', addQuarters(({from:Date}, 0).1, 1), {unit:String} = 'year', addYears(({from:Date}, 0).1, 1), ({from:Date}, 0).1), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    `cell`, toDateTime(toUnixTimestamp(toDateTime(_window.1, {zone:String})), 'UTC') AS window_start,
    toDateTime(least(toUnixTimestamp(toDateTime(_window.1, {zone:String})) + (_window.2 + 1) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String}))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT `cell`, arrayJoin(if(_step.1 >= {from:Date} AND _step.1 < {to:Date}, arrayMap(i -> (_step.1, i), range(toUInt64(_step.2), toUInt64(intDiv(greatest(least(toInt64(toUnixTimestamp(now())), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_step.1, 1), {unit:String} = 'week', addWeeks(_step.1, 1), {unit:String} = 'month', addMonths(_step.1, 1), {unit:String} = 'quarter', addQuarters(_step.1, 1), {unit:String} = 'year', addYears(_step.1, 1), _step.1), {zone:String})) - 1) - toUnixTimestamp(toDateTime(_step.1, {zone:String})) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), [])) AS _window, hits, `users`
    FROM
    (
        SELECT `cell`, (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), intDiv(toUnixTimestamp(_start) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1)))
        GROUP BY `cell`, _step
    ) AS _s
) AS _o
GROUP BY `cell`, _window
HAVING (toUnixTimestamp(toDateTime(_window.1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(_window.1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String})) % 3600 = 0)
COMMENT 'What had come in a day (or another unit) by then, each step of every later, of each group. weir migrate made it: 7e149091bc450511';

-- locations_cumulate_total
CREATE OR REPLACE VIEW `weir`.`locations_cumulate_total` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask locations_range, locations_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 60), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 60), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 60 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 60 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 1m of job locations do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 60 != 0, 'write every as a multiple of \'1m\', the shortest windows of job locations'), throwIf(dateDiff('day', {from:Date}, multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date})) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: a period has at most 1500 steps'), throwIf(dateDiff('day', {from:Date}, {to:Date}) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or a greater every: an answer has at most 10000 windows'), throwIf(NOT ((toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(({from:Date}, 0).1, 1), {unit:String} = 'week', addWeeks(({from:Date}, 0).1, 1), {unit:String} = 'month', addMonths(({from:Date}, 0).1, 1), {unit:String} = 'quarter', addQuarters(({from:Date}, 0).1, 1), {unit:String} = 'year', addYears(({from:Date}, 0).1, 1), ({from:Date}, 0).1), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'locations' AND version = 3) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(window_start, _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(window_start, _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`locations_v3_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`locations_v3_1m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(toUnixTimestamp(toDateTime(_window.1, {zone:String})), 'UTC') AS window_start,
    toDateTime(least(toUnixTimestamp(toDateTime(_window.1, {zone:String})) + (_window.2 + 1) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String}))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin(if(_step.1 >= {from:Date} AND _step.1 < {to:Date}, arrayMap(i -> (_step.1, i), range(toUInt64(_step.2), toUInt64(intDiv(greatest(least(toInt64(toUnixTimestamp(now())), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_step.1, 1), {unit:String} = 'week', addWeeks(_step.1, 1), {unit:String} = 'month', addMonths(_step.1, 1), {unit:String} = 'quarter', addQuarters(_step.1, 1), {unit:String} = 'year', addYears(_step.1, 1), _step.1), {zone:String})) - 1) - toUnixTimestamp(toDateTime(_step.1, {zone:String})) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), [])) AS _window, hits, `users`
    FROM
    (
        SELECT (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), intDiv(toUnixTimestamp(_start) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT `cell`, _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT `cell`, window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            `cell`, window_start,
            if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
        FROM `weir`.`locations_v3_state` AS _s
        WHERE window_start IN (_tail.1)
        GROUP BY `cell`, window_start
                ) AS _l
                UNION ALL
                SELECT `cell`, window_start, 1, hits
                FROM `weir`.`locations_v3_1m_rollup`
                UNION ALL
                SELECT `cell`, window_start, 2, hits
                FROM `weir`.`locations_v3_1h_rollup`
            ) AS _v
            GROUP BY `cell`, _start, _level
            UNION ALL
            SELECT `cell`, window_start, 1, if(window_start IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`locations_v3_state`
            UNION ALL
            SELECT `cell`, window_start, 2, 1, 0, `users_state`
            FROM `weir`.`locations_v3_1h_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (toUnixTimestamp(toDateTime(_window.1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(_window.1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String})) % 3600 = 0)
COMMENT 'What had come in a day (or another unit) by then, each step of every later, of all groups together. weir migrate made it: 993e13a5d20b319b';

-- total_5m
CREATE OR REPLACE VIEW `weir`.`total_5m` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask total_range, total_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 300), maxIf(complete_until, rollup = 300)) FROM `weir`.`weir_rollups` WHERE job = 'total' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 0), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`total_state` WHERE flushed_in >= _at.1)) AS _tail
SELECT
    window_start,
    toUInt64(_f.hits) AS hits,
    toUInt64(_f.`users`) AS `users`,
    toUInt8(ifNull(window_start + 300 <= _at.2, 0)) AS complete
FROM
(
    SELECT window_start, max(_t.hits) AS hits, max(_t.`users`) AS `users`
    FROM
    (
        SELECT window_start, hits, weirPfCount(_w.`users`) AS `users`
    FROM
    (
        SELECT
            _start AS window_start,
            sum(_v.hits) AS hits,
            uniqCombined64MergeState(14)(_v.`users`) AS `users`
        FROM
        (
            SELECT
                toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') AS _start,
                if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits,
                uniqCombined64MergeState(14)(_s.`users`) AS `users`
            FROM `weir`.`total_state` AS _s
            WHERE toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.1)
            GROUP BY window_start
        ) AS _v
        GROUP BY _start
    ) AS _w
        UNION ALL
        SELECT window_start, hits, `users`
        FROM `weir`.`total_5m_rollup`
        WHERE window_start IN (_tail.1)
    ) AS _t
    GROUP BY window_start
    UNION ALL
    SELECT window_start, hits, `users`
    FROM `weir`.`total_5m_rollup` FINAL
    WHERE window_start NOT IN (_tail.1)
) AS _f
COMMENT 'A window of 5m of each group, exact as of the last flush. weir migrate made it: 020e286440aa37d9';

-- total_5m_states
CREATE OR REPLACE VIEW `weir`.`total_5m_states` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges')
AS SELECT toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') AS window_start, `users` AS `users_state`
FROM `weir`.`total_state`
COMMENT 'Sketches of windows of 5m: several rows of a window and group, to be merged. weir migrate made it: 3368ab28325f7beb';

-- total_1h
CREATE OR REPLACE VIEW `weir`.`total_1h` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask total_range, total_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 300), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 3600)) FROM `weir`.`weir_rollups` WHERE job = 'total' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`total_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`total_5m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    window_start,
    toUInt64(_f.hits) AS hits,
    toUInt64(_f.`users`) AS `users`,
    toUInt8(ifNull(window_start + 3600 <= _at.3, 0)) AS complete
FROM
(
    SELECT window_start, max(_t.hits) AS hits, max(_t.`users`) AS `users`
    FROM
    (
        SELECT window_start, hits, defaultValueOfTypeName('UInt64') AS `users`
    FROM
    (
        SELECT _start AS window_start, sum(_w.hits) AS hits
        FROM
        (
            SELECT toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') AS _start, max(_v.hits) AS hits
            FROM
            (
            SELECT
            _start AS window_start,
            sum(_v.hits) AS hits
        FROM
        (
            SELECT
                toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') AS _start,
                if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
            FROM `weir`.`total_state` AS _s
            WHERE toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.1)
            GROUP BY window_start
        ) AS _v
        GROUP BY _start
                UNION ALL
                SELECT window_start, hits
                FROM `weir`.`total_5m_rollup`
                WHERE window_start >= arrayMin(_tail.2) AND toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') IN (_tail.2)
            ) AS _v
            GROUP BY window_start
        ) AS _w
        GROUP BY _start
    ) AS _h
    UNION ALL
    SELECT _start, 0, weirPfCount(uniqCombined64MergeState(14)(_w.`users`))
    FROM
    (
        SELECT toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC') AS _start, `users` AS `users`
        FROM `weir`.`total_state`
        WHERE toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.3)
        UNION ALL
        SELECT window_start, `users_state`
        FROM `weir`.`total_1h_rollup`
        WHERE window_start IN (_tail.2)
    ) AS _w
    GROUP BY _start
        UNION ALL
        SELECT window_start, hits, `users`
        FROM `weir`.`total_1h_rollup`
        WHERE window_start IN (_tail.2)
    ) AS _t
    GROUP BY window_start
    UNION ALL
    SELECT window_start, hits, `users`
    FROM `weir`.`total_1h_rollup` FINAL
    WHERE window_start NOT IN (_tail.2)
) AS _f
COMMENT 'A window of 1h of each group, exact as of the last flush. weir migrate made it: e72a7cf66a300a8b';

-- total_1h_states
CREATE OR REPLACE VIEW `weir`.`total_1h_states` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `users_state` AggregateFunction(uniqCombined64(14), UInt64) COMMENT 'states of the measure users (hll), which uniqCombined64MergeState(14)(`users`) merges')
AS SELECT window_start, `users_state`
FROM `weir`.`total_1h_rollup`
COMMENT 'Sketches of windows of 1h: several rows of a window and group, to be merged. weir migrate made it: c65cad4713d85a50';

-- total_range
CREATE OR REPLACE VIEW `weir`.`total_range` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask total_range, total_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 300), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 300), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, 'write a to that is later than from'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'total' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`total_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`total_5m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin([_step]) AS _window, hits, `users`
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            _start AS window_start,
            sum(_v.hits) AS hits
        FROM
        (
            SELECT
                toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') AS _start,
                if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
            FROM `weir`.`total_state` AS _s
            WHERE toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.1)
            GROUP BY window_start
        ) AS _v
        GROUP BY _start
                ) AS _l
                UNION ALL
                SELECT window_start, 1, hits
                FROM `weir`.`total_5m_rollup`
                UNION ALL
                SELECT window_start, 2, hits
                FROM `weir`.`total_1h_rollup`
            ) AS _v
            GROUP BY _start, _level
            UNION ALL
            SELECT toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), 1, if(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`total_state`
            UNION ALL
            SELECT window_start, 2, 1, 0, `users_state`
            FROM `weir`.`total_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300)), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) % 3600 = 0)
COMMENT 'One number for a range, from and to, of each group. weir migrate made it: 351328685d8d1209';

-- total_last
CREATE OR REPLACE VIEW `weir`.`total_last` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask total_range, total_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 300), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 300), throwIf(NOT match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write span as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 300) * 300 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 300) * 300 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 300 - 1, 300) * 300), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 300 - 1, 300) * 300) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'total' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`total_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`total_5m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 300 - 1, 300) * 300), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin([_step]) AS _window, hits, `users`
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 300) * 300 AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            _start AS window_start,
            sum(_v.hits) AS hits
        FROM
        (
            SELECT
                toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') AS _start,
                if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
            FROM `weir`.`total_state` AS _s
            WHERE toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.1)
            GROUP BY window_start
        ) AS _v
        GROUP BY _start
                ) AS _l
                UNION ALL
                SELECT window_start, 1, hits
                FROM `weir`.`total_5m_rollup`
                UNION ALL
                SELECT window_start, 2, hits
                FROM `weir`.`total_1h_rollup`
            ) AS _v
            GROUP BY _start, _level
            UNION ALL
            SELECT toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), 1, if(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`total_state`
            UNION ALL
            SELECT window_start, 2, 1, 0, `users_state`
            FROM `weir`.`total_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 300) * 300 AND toUnixTimestamp(_start) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 300 - 1, 300) * 300) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 300) * 300 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 300 - 1, 300) * 300))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 300) * 300 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 300 - 1, 300) * 300)), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 300) * 300 AND toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) < (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 300 - 1, 300) * 300)), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 300) * 300 >= toInt64(toUnixTimestamp(now())) - 604200 OR intDiv(toInt64(toUnixTimestamp(now())) - toInt64(parseTimeDelta(if(match({span:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {span:String}, '1s'))), 300) * 300 % 3600 = 0) AND (intDiv((intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 300 - 1, 300) * 300), 3600) * 3600 >= toInt64(toUnixTimestamp(now())) - 604200 OR (intDiv(toInt64(toInt64(toUnixTimestamp(now()))) + 300 - 1, 300) * 300) % 3600 = 0)
COMMENT 'One number for the last span, such as \'1h\', of each group. weir migrate made it: 4ef68e361c2e6378';

-- total_tumble
CREATE OR REPLACE VIEW `weir`.`total_tumble` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask total_range, total_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 300), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 300), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 300 != 0, 'write size as a multiple of \'5m\', the shortest windows of job total'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; total_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300) / toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'total' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`total_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`total_5m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            _start AS window_start,
            sum(_v.hits) AS hits
        FROM
        (
            SELECT
                toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') AS _start,
                if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
            FROM `weir`.`total_state` AS _s
            WHERE toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.1)
            GROUP BY window_start
        ) AS _v
        GROUP BY _start
                ) AS _l
                UNION ALL
                SELECT window_start, 1, hits
                FROM `weir`.`total_5m_rollup`
                UNION ALL
                SELECT window_start, 2, hits
                FROM `weir`.`total_1h_rollup`
            ) AS _v
            GROUP BY _start, _level
            UNION ALL
            SELECT toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), 1, if(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`total_state`
            UNION ALL
            SELECT window_start, 2, 1, 0, `users_state`
            FROM `weir`.`total_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) * toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))))), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 % 3600 = 0)
COMMENT 'Windows of a size, such as \'10m\', of each group, the first one at from. weir migrate made it: cc7d387472095c3d';

-- total_hop
CREATE OR REPLACE VIEW `weir`.`total_hop` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask total_range, total_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 300), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 300), throwIf(NOT match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write size as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) % 300 != 0, 'write size as a multiple of \'5m\', the shortest windows of job total'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 300 != 0, 'write every as a multiple of \'5m\', the shortest windows of job total'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) <= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, 'write a to that is later than from'), throwIf((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 < toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), format('write a size of {}s or less: the range is shorter than a window; total_range has one number for a range', toString((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300))), throwIf(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: size is more than 1500 times every'), throwIf(((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300) / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or longer windows: an answer has at most 10000'), throwIf(NOT ((intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 >= toInt64(toUnixTimestamp(now())) - 604200 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'total' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`total_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`total_5m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(_window, 'UTC') AS window_start,
    toDateTime(_window + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin(arrayFilter(w -> w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) > _step AND w >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND w + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) <= (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), arrayMap(i -> intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 + (intDiv(_step - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) - i) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), range(least(intDiv(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) + 1, 1500))))) AS _window, hits, `users`
    FROM
    (
        SELECT intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 + intDiv(toUnixTimestamp(_start) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) * gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            _start AS window_start,
            sum(_v.hits) AS hits
        FROM
        (
            SELECT
                toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') AS _start,
                if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
            FROM `weir`.`total_state` AS _s
            WHERE toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.1)
            GROUP BY window_start
        ) AS _v
        GROUP BY _start
                ) AS _l
                UNION ALL
                SELECT window_start, 1, hits
                FROM `weir`.`total_5m_rollup`
                UNION ALL
                SELECT window_start, 2, hits
                FROM `weir`.`total_1h_rollup`
            ) AS _v
            GROUP BY _start, _level
            UNION ALL
            SELECT toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), 1, if(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`total_state`
            UNION ALL
            SELECT window_start, 2, 1, 0, `users_state`
            FROM `weir`.`total_1h_rollup`
        ) AS _p
        WHERE toUnixTimestamp(_start) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND toUnixTimestamp(_start) < (intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 + toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))) + (intDiv(toInt64(greatest((intDiv(toInt64(toInt64(toUnixTimestamp({to:DateTime}))) + 300 - 1, 300) * 300) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 - toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), 0)) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) - 1, toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), 2, 1), _level = multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1) OR (_part = 2 AND _level < multiIf((toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) >= intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300, gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (_window >= toInt64(toUnixTimestamp(now())) - 604200 OR gcd(toInt64(parseTimeDelta(if(match({size:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {size:String}, '1s'))), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) % 3600 = 0 AND intDiv(toInt64(toUnixTimestamp({from:DateTime})), 300) * 300 % 3600 = 0)
COMMENT 'Windows of a size, one every so long, of each group, the first one at from. weir migrate made it: 45af786b5dc3b9ae';

-- total_calendar
CREATE OR REPLACE VIEW `weir`.`total_calendar` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask total_range, total_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 300), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 300), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 300 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 300 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 5m of job total do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT ((toUnixTimestamp(toDateTime({from:Date}, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toUnixTimestamp(toDateTime({from:Date}, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date}), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'total' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`total_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`total_5m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(toUnixTimestamp(toDateTime(_window, {zone:String})), 'UTC') AS window_start,
    toDateTime(toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin(if(_step >= {from:Date} AND _step < {to:Date}, [_step], [])) AS _window, hits, `users`
    FROM
    (
        SELECT toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            _start AS window_start,
            sum(_v.hits) AS hits
        FROM
        (
            SELECT
                toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') AS _start,
                if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
            FROM `weir`.`total_state` AS _s
            WHERE toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.1)
            GROUP BY window_start
        ) AS _v
        GROUP BY _start
                ) AS _l
                UNION ALL
                SELECT window_start, 1, hits
                FROM `weir`.`total_5m_rollup`
                UNION ALL
                SELECT window_start, 2, hits
                FROM `weir`.`total_1h_rollup`
            ) AS _v
            GROUP BY _start, _level
            UNION ALL
            SELECT toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), 1, if(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`total_state`
            UNION ALL
            SELECT window_start, 2, 1, 0, `users_state`
            FROM `weir`.`total_1h_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String})), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (toUnixTimestamp(toDateTime(_window, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toUnixTimestamp(toDateTime(_window, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window, 1), {unit:String} = 'week', addWeeks(_window, 1), {unit:String} = 'month', addMonths(_window, 1), {unit:String} = 'quarter', addQuarters(_window, 1), {unit:String} = 'year', addYears(_window, 1), _window), {zone:String})) % 3600 = 0)
COMMENT 'Days, weeks, months, quarters or years (unit) of a time zone, of each group. weir migrate made it: 86d3207046cd5ca5';

-- total_cumulate
CREATE OR REPLACE VIEW `weir`.`total_cumulate` ON CLUSTER 'main'
(`window_start` DateTime('UTC') COMMENT 'when the window begins, UTC', `window_end` DateTime('UTC') COMMENT 'when the window ends, UTC', `hits` UInt64 COMMENT 'how many events were counted; adds up over windows and groups', `users` UInt64 COMMENT 'hll: counts distinct ids (0.81 % error, 12 KiB at most); does not add up: of several windows or groups ask total_range, total_last or their _total', `complete` UInt8 COMMENT '1: the window has ended, and every partition has passed its end; late events may still be counted')
AS WITH
    (SELECT tuple(maxIf(done, rollup = 300), maxIf(done, rollup = 3600), maxIf(complete_until, rollup = 300), throwIf({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'write unit = \'day\' or \'week\' or \'month\' or \'quarter\' or \'year\''), throwIf({to:Date} > toDate('2105-01-01'), 'write a to of 2105-01-01 or earlier'), throwIf({to:Date} <= {from:Date}, 'write a to that is later than from'), throwIf({from:Date} != toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date})) OR {to:Date} != multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date})))), format('write from = \'{}\' and to = \'{}\': from is the first day of a unit, and to the first one behind the last unit', toString(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), {from:Date}))), toString(multiIf({unit:String} = 'day', addDays(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'week', addWeeks(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'month', addMonths(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'quarter', addQuarters(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), {unit:String} = 'year', addYears(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))), 1), toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), greatest({to:Date} - 1, {from:Date}))))))), throwIf(arrayExists(d -> (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), d)) = d) AND ((toUnixTimestamp(toDateTime(d, {zone:String})) % 300 != 0) OR (toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(d, 1), {unit:String} = 'week', addWeeks(d, 1), {unit:String} = 'month', addMonths(d, 1), {unit:String} = 'quarter', addQuarters(d, 1), {unit:String} = 'year', addYears(d, 1), d), {zone:String})) % 300 != 0)), arrayMap(i -> {from:Date} + i, range(toUInt64(greatest(0, least({to:Date}, toDate('2105-01-01')) - {from:Date}))))), 'windows of 5m of job total do not divide days of this time zone'), throwIf(dateDiff('day', {from:Date}, {to:Date}) > 10000, 'write a shorter range: it has more than 10000 days'), throwIf(NOT match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), 'write every as a text such as \'90s\', \'10m\', \'1h\' or \'7d\''), throwIf(toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 300 != 0, 'write every as a multiple of \'5m\', the shortest windows of job total'), throwIf(dateDiff('day', {from:Date}, multiIf({unit:String} = 'day', addDays({from:Date}, 1), {unit:String} = 'week', addWeeks({from:Date}, 1), {unit:String} = 'month', addMonths({from:Date}, 1), {unit:String} = 'quarter', addQuarters({from:Date}, 1), {unit:String} = 'year', addYears({from:Date}, 1), {from:Date})) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 1500, 'write a greater every: a period has at most 1500 steps'), throwIf(dateDiff('day', {from:Date}, {to:Date}) * 86400 / toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) > 10000, 'write a shorter range or a greater every: an answer has at most 10000 windows'), throwIf(NOT ((toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(({from:Date}, 0).1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(({from:Date}, 0).1, 1), {unit:String} = 'week', addWeeks(({from:Date}, 0).1, 1), {unit:String} = 'month', addMonths(({from:Date}, 0).1, 1), {unit:String} = 'quarter', addQuarters(({from:Date}, 0).1, 1), {unit:String} = 'year', addYears(({from:Date}, 0).1, 1), ({from:Date}, 0).1), {zone:String})) % 3600 = 0)), 'ask for later windows: some of this range are not kept any more, or a rollup that they need was added when rows of theirs had expired')) FROM `weir`.`weir_rollups` WHERE job = 'total' AND version = 1) AS _at,
    (SELECT tuple(CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 0), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 3600) * 3600, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))'), CAST(groupUniqArrayIf(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), _level <= 1), 'Array(DateTime(\'UTC\'))')) FROM (
        SELECT window_start, 0 AS _level FROM `weir`.`total_state` WHERE flushed_in >= _at.1 UNION ALL SELECT window_start, 1 FROM `weir`.`total_5m_rollup` WHERE rolled_in >= _at.2)) AS _tail
SELECT
    toDateTime(toUnixTimestamp(toDateTime(_window.1, {zone:String})), 'UTC') AS window_start,
    toDateTime(least(toUnixTimestamp(toDateTime(_window.1, {zone:String})) + (_window.2 + 1) * toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String}))), 'UTC') AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
    toUInt64(weirPfCount(uniqCombined64MergeState(14)(_o.`users`))) AS `users`,
    toUInt8(ifNull(window_end <= _at.3, 0)) AS complete
FROM
(
    SELECT arrayJoin(if(_step.1 >= {from:Date} AND _step.1 < {to:Date}, arrayMap(i -> (_step.1, i), range(toUInt64(_step.2), toUInt64(intDiv(greatest(least(toInt64(toUnixTimestamp(now())), toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_step.1, 1), {unit:String} = 'week', addWeeks(_step.1, 1), {unit:String} = 'month', addMonths(_step.1, 1), {unit:String} = 'quarter', addQuarters(_step.1, 1), {unit:String} = 'year', addYears(_step.1, 1), _step.1), {zone:String})) - 1) - toUnixTimestamp(toDateTime(_step.1, {zone:String})) + toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))), 0), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))))), [])) AS _window, hits, `users`
    FROM
    (
        SELECT (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), intDiv(toUnixTimestamp(_start) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(_start, 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))) AS _step, sum(_p.hits) AS hits, uniqCombined64MergeState(14)(_p.`users`) AS `users`
        FROM
        (
            SELECT _start, _level, 0 AS _part, max(_v.hits) AS hits, CAST(unhex('0100'), 'AggregateFunction(uniqCombined64(14), UInt64)') AS `users`
            FROM
            (
                SELECT window_start AS _start, 1 AS _level, hits
                FROM
                (
        SELECT
            _start AS window_start,
            sum(_v.hits) AS hits
        FROM
        (
            SELECT
                toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') AS _start,
                if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2)) AS hits
            FROM `weir`.`total_state` AS _s
            WHERE toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.1)
            GROUP BY window_start
        ) AS _v
        GROUP BY _start
                ) AS _l
                UNION ALL
                SELECT window_start, 1, hits
                FROM `weir`.`total_5m_rollup`
                UNION ALL
                SELECT window_start, 2, hits
                FROM `weir`.`total_1h_rollup`
            ) AS _v
            GROUP BY _start, _level
            UNION ALL
            SELECT toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC'), 1, if(toDateTime(intDiv(toUnixTimestamp(window_start), 300) * 300, 'UTC') IN (_tail.3), 2, 1), 0, `users`
            FROM `weir`.`total_state`
            UNION ALL
            SELECT window_start, 2, 1, 0, `users_state`
            FROM `weir`.`total_1h_rollup`
        ) AS _p
        WHERE _start >= toDateTime({from:Date}, {zone:String}) AND _start < toDateTime({to:Date} + 366, {zone:String}) AND if(_part = 0, _level = multiIf((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') NOT IN (_tail.2) AND (toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))))), 2, 1), _level = multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1) OR (_part = 2 AND _level < multiIf((toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}) = toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}) AND intDiv(toUnixTimestamp(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC')) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime(toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC'), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s')))) = intDiv(toUnixTimestamp((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599)) - toUnixTimestamp(toDateTime(toDate(dateTrunc(if({unit:String} NOT IN ('day', 'week', 'month', 'quarter', 'year'), 'day', {unit:String}), toDateTime((toDateTime(intDiv(toUnixTimestamp(_start), 3600) * 3600, 'UTC') + 3599), 'UTC'), {zone:String}), {zone:String}), {zone:String})), toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))))), 2, 1)))
        GROUP BY _step
    ) AS _s
) AS _o
GROUP BY _window
HAVING (toUnixTimestamp(toDateTime(_window.1, {zone:String})) >= toInt64(toUnixTimestamp(now())) - 604200 OR toInt64(parseTimeDelta(if(match({every:String}, '^([1-9][0-9]{0,6}[smhdw])+$'), {every:String}, '1s'))) % 3600 = 0 AND toUnixTimestamp(toDateTime(_window.1, {zone:String})) % 3600 = 0 AND toUnixTimestamp(toDateTime(multiIf({unit:String} = 'day', addDays(_window.1, 1), {unit:String} = 'week', addWeeks(_window.1, 1), {unit:String} = 'month', addMonths(_window.1, 1), {unit:String} = 'quarter', addQuarters(_window.1, 1), {unit:String} = 'year', addYears(_window.1, 1), _window.1), {zone:String})) % 3600 = 0)
COMMENT 'What had come in a day (or another unit) by then, each step of every later, of each group. weir migrate made it: cea3a848b020bf1a';

-- weir_audit_states
CREATE OR REPLACE VIEW `weir`.`weir_audit_states` ON CLUSTER 'main'
(`_source` UInt16, `_counts` Map(UInt64, UInt64), `_at` DateTime('UTC'))
AS SELECT toUInt16(_s._source) AS _source, maxMap(_s._hits) AS _counts, CAST(max(_s._at), 'DateTime(\'UTC\')') AS _at
FROM
(
    SELECT 1 AS _source, window_start, hits AS _hits, flushed_at AS _at, flushed_in AS _in, `page` AS _g0, `country` AS _g1 FROM `weir`.`clicks_state`
    UNION ALL SELECT 5, window_start, hits, flushed_at, flushed_in, `cell`, '' FROM `weir`.`locations_v3_state`
    UNION ALL SELECT 8, window_start, hits, flushed_at, flushed_in, '', '' FROM `weir`.`total_state`
) AS _s
GROUP BY _s._source, _g0, _g1, window_start
COMMENT 'What does not add up: no row is right. weir migrate made it: 24011acc582cc0f2';

-- weir_audit_rows
CREATE OR REPLACE VIEW `weir`.`weir_audit_rows` ON CLUSTER 'main'
(`_source` UInt16, `_group` Array(String), `window_start` DateTime('UTC'), `_hits` UInt64, `_at` DateTime('UTC'), `_in` UInt64)
AS SELECT toUInt16(_s._source) AS _source, CAST([_g0, _g1], 'Array(String)') AS _group, window_start, arraySum(mapValues(maxMap(_s._hits))) AS _hits, CAST(max(_s._at), 'DateTime(\'UTC\')') AS _at, toUInt64(max(_s._in)) AS _in
FROM
(
    SELECT 1 AS _source, window_start, hits AS _hits, flushed_at AS _at, flushed_in AS _in, `page` AS _g0, `country` AS _g1 FROM `weir`.`clicks_state`
    UNION ALL SELECT 5, window_start, hits, flushed_at, flushed_in, `cell`, '' FROM `weir`.`locations_v3_state`
    UNION ALL SELECT 8, window_start, hits, flushed_at, flushed_in, '', '' FROM `weir`.`total_state`
) AS _s
GROUP BY _s._source, _g0, _g1, window_start
UNION ALL
SELECT _r._source, CAST([_g0, _g1], 'Array(String)'), window_start, max(_r._hits), max(_r._at), max(_r._in)
FROM
(
    SELECT 2 AS _source, window_start, hits AS _hits, rolled_at AS _at, rolled_in AS _in, `page` AS _g0, `country` AS _g1 FROM `weir`.`clicks_1m_rollup`
    UNION ALL SELECT 3, window_start, hits, rolled_at, rolled_in, `page`, `country` FROM `weir`.`clicks_1h_rollup`
    UNION ALL SELECT 4, window_start, hits, rolled_at, rolled_in, `page`, `country` FROM `weir`.`clicks_1d_rollup`
    UNION ALL SELECT 6, window_start, hits, rolled_at, rolled_in, `cell`, '' FROM `weir`.`locations_v3_1m_rollup`
    UNION ALL SELECT 7, window_start, hits, rolled_at, rolled_in, `cell`, '' FROM `weir`.`locations_v3_1h_rollup` WHERE window_start >= now() - 522000
    UNION ALL SELECT 9, window_start, hits, rolled_at, rolled_in, '', '' FROM `weir`.`total_5m_rollup`
    UNION ALL SELECT 10, window_start, hits, rolled_at, rolled_in, '', '' FROM `weir`.`total_1h_rollup` WHERE window_start >= now() - 522000
) AS _r
GROUP BY _r._source, _g0, _g1, window_start
COMMENT 'What does not add up: no row is right. weir migrate made it: b214c22871b01a7c';

-- weir_audit
CREATE OR REPLACE VIEW `weir`.`weir_audit` ON CLUSTER 'main'
(
    `job` String, `version` UInt32, `kind` String, `epoch` UInt8, `partition` UInt16, `chunk` UInt64,
    `window_start` Nullable(DateTime('UTC')), `groups` String, `expected` UInt64, `found` UInt64, `detail` String
)
AS WITH
    (
        WITH
            (SELECT mapFromArrays(groupArray(concat(job, ' ', toString(version))), groupArray(_at)) FROM (SELECT job, version, greatest(toInt64(0), arrayMax(arrayMap((_was, _is) -> toInt64(toUnixTimestamp(_is.1)) - toInt64(_was.2 - least(intDiv(_was.2, 4), 86400)), arrayPopBack(_keeps), arrayPopFront(_keeps)))) AS _at FROM (SELECT job, version, arraySort(groupArray((created_at, keep))) AS _keeps FROM `weir`.`weir_jobs` WHERE measure = '' GROUP BY job, version))) AS _raised,
            (SELECT mapFromArrays(groupArray(concat(job, ' ', toString(version), ' ', toString(rollup))), groupArray(_round)) FROM (SELECT job, version, rollup, max(done) AS _round FROM `weir`.`weir_rollups` GROUP BY job, version, rollup)) AS _rounds,
            (SELECT mapFromArrays(groupArray(object), groupArray(_at)) FROM (SELECT object, toDateTime(max(applied_at)) AS _at FROM `weir`.`weir_schema` WHERE object LIKE '%_rollup%' GROUP BY object)) AS _applied,
            toInt64(toUnixTimestamp(now())) AS _now
        SELECT CAST(arrayMap(t -> (t.4, t.5,
                greatest(_now - t.6, 0, _raised[concat(t.1, ' ', toString(t.2))]),
                greatest(if(t.7 = 0, 0, _now - t.7), t.8),
                if(t.9 = '', 0, intDiv(_now - t.6, t.4) * t.4),
                _rounds[concat(t.1, ' ', toString(t.2), ' ', toString(t.4))],
                greatest(_applied[t.9], _applied[concat(t.9, ' ttl')], _applied[concat(t.3, ' progress')])
            ), [('clicks', 1, 'clicks_state', 0, 4, 1727913600, 0, 0, '', 2, 64), ('clicks', 1, 'clicks_1m_rollup', 60, 4, 1727913600, 0, 0, '', 2, 64), ('clicks', 1, 'clicks_1h_rollup', 3600, 4, 1727913600, 0, 0, 'clicks_1m_rollup', 2, 64), ('clicks', 1, 'clicks_1d_rollup', 86400, 4, 1727913600, 0, 0, 'clicks_1h_rollup', 2, 64), ('locations', 3, 'locations_v3_state', 0, 7, 518400, 0, 0, '', 1, 262144), ('locations', 3, 'locations_v3_1m_rollup', 60, 7, 518400, 2505600, 0, '', 1, 262144), ('locations', 3, 'locations_v3_1h_rollup', 3600, 7, 518400, 0, 0, 'locations_v3_1m_rollup', 1, 262144), ('total', 1, 'total_state', 0, 10, 518400, 0, 0, '', 0, 64), ('total', 1, 'total_5m_rollup', 300, 10, 518400, 0, 0, '', 0, 64), ('total', 1, 'total_1h_rollup', 3600, 10, 518400, 0, 0, 'total_5m_rollup', 0, 64)]), 'Array(Tuple(seconds UInt32, last UInt32, horizon DateTime(\'UTC\'), since Int64, within Int64, done UInt64, begun DateTime(\'UTC\')))')
    ) AS _tables,
    (SELECT CAST(arrayMap(t -> (t.1, t.2, t.3, t.10, t.11), [('clicks', 1, 'clicks_state', 0, 4, 1727913600, 0, 0, '', 2, 64), ('clicks', 1, 'clicks_1m_rollup', 60, 4, 1727913600, 0, 0, '', 2, 64), ('clicks', 1, 'clicks_1h_rollup', 3600, 4, 1727913600, 0, 0, 'clicks_1m_rollup', 2, 64), ('clicks', 1, 'clicks_1d_rollup', 86400, 4, 1727913600, 0, 0, 'clicks_1h_rollup', 2, 64), ('locations', 3, 'locations_v3_state', 0, 7, 518400, 0, 0, '', 1, 262144), ('locations', 3, 'locations_v3_1m_rollup', 60, 7, 518400, 2505600, 0, '', 1, 262144), ('locations', 3, 'locations_v3_1h_rollup', 3600, 7, 518400, 0, 0, 'locations_v3_1m_rollup', 1, 262144), ('total', 1, 'total_state', 0, 10, 518400, 0, 0, '', 0, 64), ('total', 1, 'total_5m_rollup', 300, 10, 518400, 0, 0, '', 0, 64), ('total', 1, 'total_1h_rollup', 3600, 10, 518400, 0, 0, 'total_5m_rollup', 0, 64)]), 'Array(Tuple(job String, version UInt32, table String, groups UInt32, chunk UInt64))')) AS _names,
    lines AS
    (
        SELECT
            job, version, epoch, partition, chunk, first,
            toUInt64(max(_l.next)) AS next, toUInt64(max(_l.counted)) AS counted, toUInt64(max(_l.`late`) + max(_l.`future`) + max(_l.`malformed`) + max(_l.`duplicate`) + max(_l.`filtered`) + max(_l.`throttled`) + max(_l.`gap`)) AS others,
            toUInt64(max(_l.events)) AS events, toUInt64(max(_l.events_counted) + max(_l.events_late) + max(_l.events_future) + max(_l.events_malformed) + max(_l.events_duplicate) + max(_l.events_filtered) + max(_l.events_throttled)) AS each, toUInt64(max(_l.events_counted)) AS events_counted,
            toUInt64(if(max(_l.events) + each > 0, max(_l.events_counted), max(_l.counted))) AS hits,
            max(flushed_at) AS flushed, min(_l.began) AS began
        FROM `weir`.`weir_ledger` AS _l
        GROUP BY job, version, epoch, partition, chunk, first
        QUALIFY (max(max(_l.next)) OVER (PARTITION BY job, version, epoch, partition ORDER BY chunk RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS _before) <= first OR _before < max(_l.next)
    )
SELECT
    job, version, CAST('outcomes', 'String') AS kind, epoch, partition, chunk,
    CAST(NULL, 'Nullable(DateTime(\'UTC\'))') AS window_start, '' AS groups,
    toUInt64(next - first) AS expected, counted + others AS found,
    'the outcomes of a ledger line do not sum up to its offsets: the line was changed' AS detail
FROM lines
WHERE next - first != counted + others

UNION ALL

SELECT
    job, version, 'events', epoch, partition, chunk, NULL, '', events, hits,
    'the events of a ledger line do not add up, or do not go with the records that were counted: the line was changed'
FROM lines
WHERE events != each OR (each > 0 AND (counted > events_counted OR (counted > 0) != (events_counted > 0)))

UNION ALL

SELECT
    job, version, 'hole', epoch, partition, chunk, NULL, '', reached, first,
    'offsets between two ledger lines have no outcome: a line is missing before this one'
FROM
(
    SELECT
        job, version, epoch, partition, chunk, first,
        max(next) OVER before AS reached, countIf(next > first) OVER before AS earlier
    FROM lines
    WINDOW before AS (PARTITION BY job, version, epoch, partition ORDER BY first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
WHERE earlier > 0 AND first > reached

UNION ALL

SELECT
    '', 0, 'function', 0, 0, 0, NULL, name, 0, 0,
    'the SQL function is not the one of the version that made this view, so queries and rollups may have wrong numbers: run weir migrate'
FROM system.functions
WHERE name IN ('weirPfCount', 'weirUniq', 'weirSetCount', 'weirSetHas', 'weirSetUniq', 'weirBloomHas', 'weirQuantile', 'weirTopK', 'weirLon', 'weirLat', 'weirGeohash', 'weirGeoDist') AND ifNull(formatQuerySingleLineOrNull(create_query) != formatQuerySingleLineOrNull(transform(name, ['weirPfCount', 'weirUniq', 'weirSetCount', 'weirSetHas', 'weirSetUniq', 'weirBloomHas', 'weirQuantile', 'weirTopK', 'weirLon', 'weirLat', 'weirGeohash', 'weirGeoDist'], ['CREATE FUNCTION weirPfCount AS state -> if(length(CAST(state, \'String\')) <= 514, toUInt64(arrayUniq(arrayMap(k -> bitAnd(k, 16383), reinterpret(substring(CAST(state, \'String\'), 3), \'Array(UInt64)\')))), arrayMap((hist, parts) -> arrayMap(e -> toUInt64(least(e + 0.5 * (e < 4503599627370496), 9223372036854775808.)), [0.7213475204444817 * 268435456 / (arrayFold((z, c) -> (z + c) * 0.5, arrayReverse(arraySlice(hist, 2, 50)), 16384 * (arrayFold((a, i) -> (sqrt(a.1), a.2 * 0.5, a.3 - (1 - sqrt(a.1)) * (1 - sqrt(a.1)) * (a.2 * 0.5)), range(if(hist[52] = 0, 0, 24)), ((16384 - hist[52]) / 16384, toFloat64(1), hist[52] / 16384)).3 / 3)) + arraySum(parts) / 1125899906842624 + 16384 * arrayFold((a, i) -> (a.1 * a.1, a.2 * 2, a.3 + a.1 * a.1 * a.2), range(22), (toFloat64((hist[1] - length(parts)) / 16384), toFloat64(1), toFloat64((hist[1] - length(parts)) / 16384))).3)])[1], [reinterpret(if(startsWith(CAST(state, \'String\'), unhex(\'03\')), substring(CAST(state, \'String\'), 12290, 208), concat(unhex(\'00400000\'), repeat(\'\\0\', 204))), \'Array(UInt32)\')], [arrayMap(codes -> arrayMap(c -> bitShiftRight(1125899906842624, bitAnd(c, 63)), arrayFilter((c, next) -> intDiv(c, 64) != intDiv(next, 64), codes, arrayShiftLeft(codes, 1, 4294967295))), [arraySort(arrayMap(k -> toUInt32(bitAnd(k, 16383) * 64 + least(bitCount(bitXor(bitShiftRight(k, 14), bitShiftRight(k, 14) - 1)), 51)), reinterpret(if(startsWith(CAST(state, \'String\'), unhex(\'03\')), \'\', substring(CAST(state, \'String\'), if(reinterpretAsUInt8(substring(CAST(state, \'String\'), 2, 1)) < 128, 3, 4))), \'Array(UInt64)\')))])[1]])[1])', 'CREATE FUNCTION weirUniq AS state -> weirPfCount(uniqCombined64MergeState(14)(state))', 'CREATE FUNCTION weirSetCount AS state -> toUInt64(floor(0.5 - 4294967296. * log1p(-least(bitmapCardinality(state), 4294967295) / 4294967296.)))', 'CREATE FUNCTION weirSetHas AS (state, id) -> bitmapContains(state, toUInt32(bitAnd(xxHash64(toString(id)), 4294967295)))', 'CREATE FUNCTION weirSetUniq AS state -> weirSetCount(groupBitmapMergeState(state))', 'CREATE FUNCTION weirBloomHas AS (state, value, bits) -> bitmapHasAll(state, bitmapBuild(arrayMap((salt, word) -> assumeNotNull(toUInt32(bitShiftRight(bitShiftRight(xxHash64(toString(value)), 32) * intDiv(bits, 256), 32) * 256 + word * 32 + bitShiftRight(bitAnd(bitAnd(xxHash64(toString(value)), 4294967295) * salt, 4294967295), 27))), [1203114875, 1150766481, 2284105051, 2729912477, 1884591559, 770785867, 2667333959, 1550580529], [0, 1, 2, 3, 4, 5, 6, 7])))', 'CREATE FUNCTION weirQuantile AS (state, level) -> arrayMap((words, sums) -> arrayMap(q -> if(empty(sums), NULL, arrayMap(b -> arrayMap((scale, place) -> sign(place) * exp2((abs(place) - 1) / exp2(scale) - 1023) * (2 - 2 / (1 + exp2(exp2(-scale)))), [toFloat64(bitShiftRight(b, 28))], [toInt64(bitAnd(b, 268435455)) - 134217728])[1], [toUInt32(bitShiftRight(words[arrayFirstIndex(n -> n > least(toUInt64(q * sums[length(sums)]), toUInt64(sums[length(sums)] - 1)), sums)], 32))])[1]), [level + throwIf(NOT (level >= 0 AND level <= 1), \'the level of weirQuantile has to be 0 to 1\')]), [arrayMap(words -> if(bitShiftRight(words[1], 60) = bitShiftRight(words[-1], 60), words, arraySort(w -> arrayMap(b -> arrayMap((scale, place) -> sign(place) * exp2((abs(place) - 1) / exp2(scale) - 1023) * (2 - 2 / (1 + exp2(exp2(-scale)))), [toFloat64(bitShiftRight(b, 28))], [toInt64(bitAnd(b, 268435455)) - 134217728])[1], [toUInt32(bitShiftRight(w, 32))])[1], words)), [arraySort(reinterpret(reverse(arrayStringConcat(groupArrayArray(tupleElement(mapValues(state), 2)))), \'Array(UInt64)\'))])[1]], [arrayCumSum(w -> bitAnd(w, 4294967295), arrayMap(words -> if(bitShiftRight(words[1], 60) = bitShiftRight(words[-1], 60), words, arraySort(w -> arrayMap(b -> arrayMap((scale, place) -> sign(place) * exp2((abs(place) - 1) / exp2(scale) - 1023) * (2 - 2 / (1 + exp2(exp2(-scale)))), [toFloat64(bitShiftRight(b, 28))], [toInt64(bitAnd(b, 268435455)) - 134217728])[1], [toUInt32(bitShiftRight(w, 32))])[1], words)), [arraySort(reinterpret(reverse(arrayStringConcat(groupArrayArray(tupleElement(mapValues(state), 2)))), \'Array(UInt64)\'))])[1])])[1][1]', 'CREATE FUNCTION weirTopK AS (state, k) -> tupleElement(arrayMap((events, floors, all) -> (events, arrayMax(arrayPushBack(arrayMap(e -> toUInt64(toInt64(floors) + tupleElement(e, 3)), arraySlice(all, k + 1)), floors)), arrayMap(e -> (tupleElement(e, 2), toUInt64(-tupleElement(e, 1)), toUInt64(toUInt64(toInt64(floors) + tupleElement(e, 3)) - toUInt64(-tupleElement(e, 1)))), arraySlice(all, 1, k))), [sum(tupleElement(state[18446744073709551615], 1))], [sum(tupleElement(state[18446744073709551615], 2))], [arrayMap(l -> arraySort(arrayMap((key, n, over) -> (-toInt64(n), key, over), tupleElement(l, 1), tupleElement(l, 2), tupleElement(l, 3))), [sumMap(tupleElement(tupleElement(state[18446744073709551615], 3), 1), tupleElement(tupleElement(state[18446744073709551615], 3), 2), arrayMap(e -> toInt64(tupleElement(e, 2) + tupleElement(e, 3)) - toInt64(tupleElement(state[18446744073709551615], 2)), tupleElement(state[18446744073709551615], 3)))])[1]])[1], 3)', 'CREATE FUNCTION weirLon AS score -> least(greatest(((-180 + tupleElement(mortonDecode(2, score), 2) / 67108864 * 360) + (-180 + (tupleElement(mortonDecode(2, score), 2) + 1) / 67108864 * 360)) / 2, -180), 180)', 'CREATE FUNCTION weirLat AS score -> least(greatest(((-85.05112878 + tupleElement(mortonDecode(2, score), 1) / 67108864 * 170.10225756) + (-85.05112878 + (tupleElement(mortonDecode(2, score), 1) + 1) / 67108864 * 170.10225756)) / 2, -85.05112878), 85.05112878)', 'CREATE FUNCTION weirGeohash AS (score, precision) -> substring(concat(geohashEncode(if(weirLon(score) = 180, -180, weirLon(score)), weirLat(score), 10), \'0\'), 1, precision)', 'CREATE FUNCTION weirGeoDist AS (score1, score2) -> arrayMap((lon1, lat1, lon2, lat2) -> 12745595.121712 * asin(sqrt(pow(sin((lat2 - lat1) / 2), 2) + cos(lat1) * cos(lat2) * pow(sin((lon2 - lon1) / 2), 2))), [radians(weirLon(score1))], [radians(weirLat(score1))], [radians(weirLon(score2))], [radians(weirLat(score2))])[1]'], '')), 1)

UNION ALL

SELECT
    _of.job, _of.version,
    multiIf(ahead > 0, 'ahead', known = 0, 'no line', hits < least_counted, 'rows missing', 'rows in excess'),
    toUInt8(bitShiftRight(slot, 56)), toUInt16(bitAnd(bitShiftRight(slot, 40), 65535)), bitAnd(slot, 1099511627775),
    NULL, '', if(hits < least_counted, least_counted, most_counted), hits,
    multiIf(
        ahead > 0, concat('not judged: the server\'s clock is behind the time at which the chunk was written, by seconds: ', toString(ahead)),
        known = 0, 'state rows count events of a chunk that has no ledger line',
        hits < least_counted, 'state rows hold fewer events of the chunk than the ledger says were counted: rows are gone',
        'state rows hold more events of the chunk than the ledger says were counted: rows were changed, or a flush was interrupted and weir was not started since')
FROM
(
    SELECT _names[_source] AS _of, _tables[_source].horizon AS _horizon, _at AS slot, sum(_m.hits) AS hits, max(_m.touched) AS touched, if(max(_m.touched) > now('UTC') + 60, toInt64(toUnixTimestamp(max(_m.touched))) - toInt64(toUnixTimestamp(now())), toInt64(0)) AS ahead, max(_m.known) AS known, max(_m.least_counted) AS least_counted, max(_m.most_counted) AS most_counted, min(_m.began) AS began
    FROM
    (
        SELECT _source, slot, hits, touched, known, least_counted, most_counted, began, if(slot < max(until) OVER before, max(if(until > 0, slot, 0)) OVER before, slot) AS _at
        FROM
        (
            SELECT _source, slot, sum(_n.hits) AS hits, max(_n.touched) AS touched, max(_n.known) AS known, max(_n.least_counted) AS least_counted, max(_n.most_counted) AS most_counted, min(_n.began) AS began, max(_n.until) AS until
            FROM
            (
                SELECT _source, arrayJoin(arrayZip(mapKeys(_counts), mapValues(_counts))) AS pair, pair.1 AS slot, pair.2 AS hits, _at AS touched, 0 AS known, 0 AS least_counted, 0 AS most_counted, toDateTime('2106-01-01 00:00:00', 'UTC') AS began, toUInt64(0) AS until
                FROM `weir`.`weir_audit_states`
                UNION ALL
                SELECT arrayFirstIndex(t -> (t.job, t.version) = (toString(job), version), _names) AS _of, (0, 0), bitOr(bitOr(bitShiftLeft(toUInt64(epoch), 56), bitShiftLeft(toUInt64(partition), 40)), chunk) AS _slot, 0, max(flushed), 1, max(lines.hits), sum(lines.hits), min(began), toUInt64(if(intDiv(max(next) - min(first), greatest(_names[_of].chunk, 1)) AS _chunks > 1, _slot + _chunks, 0))
                FROM lines
                GROUP BY job, version, epoch, partition, chunk
            ) AS _n
            WHERE _source > 0
            GROUP BY _source, slot
        )
        WINDOW before AS (PARTITION BY _source ORDER BY slot)
    ) AS _m
    GROUP BY _source, _at
)
WHERE (hits < least_counted OR hits > most_counted) AND (touched <= now() - 10 OR ahead > 0) AND began > _horizon

UNION ALL

SELECT
    _of.job, _of.version, multiIf(_rolled < _held, 'rollup', _ahead > 0, 'ahead', 'window'), 0, 0, 0, toDateTime(_start, 'UTC'), arrayStringConcat(arraySlice(_group, 1, _of.groups), ' '), greatest(_rolled, _held), least(_rolled, _held),
    multiIf(
        _rolled < _held, concat(_of.table, ' holds fewer events of the window than the rows it is made from: run weir repair'),
        _ahead > 0, concat('not judged: the server\'s clock is behind the time at which the rows of the window were written, by seconds: ', toString(_ahead)),
        concat('the rows hold fewer events of the window than ', _of.table, ', which is made from them: rows are gone'))
FROM
(
    SELECT
        _names[_level] AS _of, _all[_level] AS _t, _all[_level - 1] AS _b, _start, _group, _rolled, _held,
        if(_b.seconds = 0, _made > _t.horizon, _start >= _b.since AND _made >= _t.begun) AS _kept,
        _kept AND _touched <= now('UTC') - 10 AND NOT _lacking AS _whole,
        if(_kept, if(_touched > now('UTC') + 60, toInt64(toUnixTimestamp(_touched)) - toInt64(toUnixTimestamp(now())), toInt64(0)), 0) AS _ahead,
        _stamp < _t.done AND _start >= _t.since AS _due
    FROM
    (
        SELECT
            _tables AS _all, max(_lacks) OVER (PARTITION BY _level, _start) AS _lacking, _level, _start, _group,
            sumIf(_hits, _level = _source) AS _rolled, sumIf(_hits, _level = _source + 1) AS _held,
            maxIf(_at, _level = _source) AS _made, maxIf(_at, _level = _source + 1) AS _touched, maxIf(_in, _level = _source + 1) AS _stamp, max(_level > _source + 1) AS _lacks
        FROM
        (
            SELECT
                _source, _group, _hits, _at, _in, _tables AS _all, _all[_source] AS _s,
                arrayJoin(range(_source + (_s.seconds = 0), if(_in >= _all[_source + 1].done, _s.last, least(_source + 1, _s.last)) + 1)) AS _level,
                _all[_level] AS _t, if(_level = _source, toUnixTimestamp(window_start), intDiv(toUnixTimestamp(window_start), _t.seconds) * _t.seconds) AS _start
            FROM `weir`.`weir_audit_rows`
        )
        WHERE _start >= _t.within
        GROUP BY _level, _start, _group
        HAVING _rolled != _held OR _lacks
    )
)
WHERE _held < _rolled AND (_whole OR _ahead > 0) OR _rolled < _held AND _due
COMMENT 'What does not add up: no row is right. weir migrate made it: 9ebee769242b852b';

-- weir_jobs
INSERT INTO `weir`.`weir_jobs` (job, version, measure, meaning, topic, keep, groups, rollup, seconds, bits) VALUES
('clicks', 1, '', '{"format":"json","time":{"field":"ts","unit":"ms"},"window":"1m","lateness":"1d","skew":"10m","chunk":64,"max_groups":50,"by":[{"name":"page","field":"page"},{"name":"country","field":"country","has_default":true}]}', 'clicks', 1728000000, ['page', 'country'], 'clicks_1m_rollup', 60, 0),
('clicks', 1, 'users', '{"kind":"hll","field":"user"}', 'clicks', 1728000000, ['page', 'country'], 'clicks_1m_rollup', 60, 0),
('clicks', 1, 'active', '{"kind":"bitmap","field":"user"}', 'clicks', 1728000000, ['page', 'country'], 'clicks_1m_rollup', 60, 0),
('clicks', 1, 'seen', '{"kind":"bloom","field":"id","capacity":100,"error":0.01}', 'clicks', 1728000000, ['page', 'country'], 'clicks_1m_rollup', 60, 1280),
('clicks', 1, 'places', '{"kind":"geo","member":"user","optional":true,"lon":"lon","lat":"lat"}', 'clicks', 1728000000, ['page', 'country'], 'clicks_1m_rollup', 60, 0),
('locations', 3, '', '{"format":"json","time":{"field":"ts","unit":"ms"},"window":"1m","lateness":"1d","skew":"10m","chunk":262144,"max_groups":1000000,"by":[{"name":"cell","lon":"lon","lat":"lat","precision":5}]}', 'locations', 604800, ['cell'], 'locations_v3_1m_rollup', 60, 0),
('locations', 3, 'users', '{"kind":"hll","field":"user"}', 'locations', 604800, ['cell'], 'locations_v3_1m_rollup', 60, 0),
('locations', 3, 'places', '{"kind":"geo","member":"user","lon":"lon","lat":"lat"}', 'locations', 604800, ['cell'], 'locations_v3_1m_rollup', 60, 0),
('total', 1, '', '{"format":"json","time":{"field":"ts","unit":"ms"},"window":"1m","lateness":"1d","skew":"10m","chunk":64,"max_groups":1}', 'total', 604800, [], 'total_5m_rollup', 300, 0),
('total', 1, 'users', '{"kind":"hll","field":"user"}', 'total', 604800, [], 'total_5m_rollup', 300, 0);

-- user weir
CREATE USER IF NOT EXISTS `weir` ON CLUSTER 'main' IDENTIFIED WITH sha256_hash BY '…' SALT '…';

-- password of user weir
ALTER USER `weir` ON CLUSTER 'main' IDENTIFIED WITH sha256_hash BY '…' SALT '…';

-- grant weir
GRANT ON CLUSTER 'main' SELECT, INSERT ON `weir`.*, ALTER DELETE ON `weir`.`weir_ledger` TO `weir`;

-- user grafana
CREATE USER IF NOT EXISTS `grafana` ON CLUSTER 'main' IDENTIFIED WITH sha256_hash BY '…' SALT '…' SETTINGS readonly = 2, max_execution_time = 60 MAX 60, max_memory_usage = 4294967296 MAX 4294967296, max_result_rows = 1000000 MAX 1000000, skip_unavailable_shards = 0, read_overflow_mode = 'throw', read_overflow_mode_leaf = 'throw', group_by_overflow_mode = 'throw', sort_overflow_mode = 'throw', result_overflow_mode = 'throw', timeout_overflow_mode = 'throw', timeout_overflow_mode_leaf = 'throw', set_overflow_mode = 'throw', join_overflow_mode = 'throw', distinct_overflow_mode = 'throw', transfer_overflow_mode = 'throw';

-- password of user grafana
ALTER USER `grafana` ON CLUSTER 'main' IDENTIFIED WITH sha256_hash BY '…' SALT '…' SETTINGS readonly = 2, max_execution_time = 60 MAX 60, max_memory_usage = 4294967296 MAX 4294967296, max_result_rows = 1000000 MAX 1000000, skip_unavailable_shards = 0, read_overflow_mode = 'throw', read_overflow_mode_leaf = 'throw', group_by_overflow_mode = 'throw', sort_overflow_mode = 'throw', result_overflow_mode = 'throw', timeout_overflow_mode = 'throw', timeout_overflow_mode_leaf = 'throw', set_overflow_mode = 'throw', join_overflow_mode = 'throw', distinct_overflow_mode = 'throw', transfer_overflow_mode = 'throw';

-- grant grafana
GRANT ON CLUSTER 'main' SELECT ON `weir`.* TO `grafana`;

