package http

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/jobs"
)

// collector reads every metric from the status of the jobs at each scrape: the
// path of a record updates no metric, so metrics cost nothing between scrapes.
type collector struct{ s *Server }

// RESP has counters of the Redis endpoint.
type RESP struct {
	Wrong   uint64 // wrong passwords
	Evicted uint64 // clients cut off because too much was held for all together
	Clients int    // connected now
}

var (
	byJob       = []string{"job", "topic"}
	byPartition = []string{"job", "topic", "partition"}

	desc = func(name, help string, labels []string) *prometheus.Desc {
		return prometheus.NewDesc("weir_"+name, help, labels, nil)
	}

	buildInfo       = desc("build_info", "Always 1; the labels tell which binary this is.", []string{"version", "revision", "go"})
	records         = desc("records_total", "Offsets by their outcome, replays after a restart included.", []string{"job", "topic", "outcome"})
	events          = desc("events_total", "Events of records that are arrays of events by their outcome, replays after a restart included.", []string{"job", "topic", "outcome"})
	skipped         = desc("skipped_values_total", "Values that a measure with bad: skip could not take.", []string{"job", "topic", "measure"})
	deadLetters     = desc("dead_letters_total", "Records that reached no count; of records that are arrays of events, the events that did not.", []string{"job", "topic", "reason"})
	lagRecords      = desc("consumer_lag_records", "Records between the next offset to count and the end of what can be read.", byPartition)
	lagSeconds      = desc("consumer_lag_seconds", "Age of the last record counted while there are more to read, or, before the first, for how long this process has had the partition; 0 when there are none.", byPartition)
	offsetNext      = desc("offset_next", "Next offset to count.", byPartition)
	offsetDurable   = desc("offset_durable", "Everything below is in ClickHouse.", byPartition)
	watermark       = desc("watermark_timestamp_seconds", "Greatest event time counted; absent before the first.", byPartition)
	uncounted       = desc("uncounted_partitions", "Partitions of the topic, whichever process reads them, with records of which nothing is flushed into this database.", byJob)
	uncountedFor    = desc("oldest_uncounted_seconds", "For how long the partition that has waited longest has had records while nothing of it was flushed; 0 when the ledger covers all.", byJob)
	waiting         = desc("waiting_partitions", "Partitions that this process reads and that wait for a schema that cannot be had.", byJob)
	openRecords     = desc("open_transaction_records", "Records that cannot be read because a transaction has been open for more than a minute; 0: none is.", byJob)
	openFor         = desc("oldest_open_transaction_seconds", "For how long reading has stood at it, the longest; 0: none is.", byJob)
	stopped         = desc("job_stopped", "1 when the job has stopped because of an error; the others go on.", byJob)
	completeUntil   = desc("complete_until_timestamp_seconds", "Windows that end by this event time are complete; absent when it is not known.", byJob)
	sinkUp          = desc("clickhouse_up", "1 while ClickHouse answers questions about the ledger, which are asked every few seconds.", byJob)
	flushSeconds    = desc("flush_duration_seconds", "How long ClickHouse took to acknowledge a flush.", byJob)
	flushRows       = desc("flush_rows_total", "(window, group) rows written.", byJob)
	flushFailures   = desc("flush_failures_total", "Flushes that failed or whose answer was lost; each was sent again.", byJob)
	lastFlush       = desc("last_successful_flush_timestamp_seconds", "When the last flush was acknowledged; absent before the first.", byJob)
	rowsHeld        = desc("open_rows", "(window, group) rows in memory, not yet flushed.", byJob)
	sketchBytes     = desc("sketch_bytes", "Memory of windows, counts and what waits to be flushed.", byJob)
	memoryRatio     = desc("memory_budget_ratio", "That, as a share of the budget; fetching stops at 1.", byJob)
	rebalances      = desc("rebalances_total", "Generations of the consumer group joined.", byJob)
	commitFailures  = desc("commit_failures_total", "Commits that Kafka did not take. The ledger has the positions all the same.", byJob)
	rollupsTotal    = desc("rollups_total", "Rollups by outcome.", []string{"job", "topic", "outcome"})
	malformedAlarm  = desc("malformed_alarm", "1 while more than 1 % of the last minute's records were malformed.", byJob)
	auditMismatches = desc("audit_mismatches", "What the last audit found not to add up; 0 is right; absent before the first.", nil)
	respWrong       = desc("resp_unauthorized_total", "Wrong passwords on the Redis endpoint.", nil)
	respEvicted     = desc("resp_evicted_clients_total", "Redis clients cut off because all together held too much.", nil)
	respClients     = desc("resp_clients", "Connected Redis clients.", nil)
	unauthorized    = desc("http_unauthorized_total", "Requests without the right token.", nil)
	livePartial     = desc("live_partial_total", "Live answers from memory only, while ClickHouse could not be asked.", nil)
	liveBytes       = desc("live_bytes", "Memory of what is kept for live answers.", nil)
	auditAt         = desc("audit_timestamp_seconds", "When the last audit ended; absent before the first.", nil)
	auditDue        = desc("audit_due_timestamp_seconds", "When the next audit is due; absent if there are none.", nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// A scrape is where the metrics go.
type scrape chan<- prometheus.Metric

func (to scrape) gauge(d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (to scrape) count(d *prometheus.Desc, v uint64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	to := scrape(ch)
	b := c.s.Build
	to.gauge(buildInfo, 1, b.Version, b.Revision, b.Go)
	a := c.s.audit()
	if !a.At.IsZero() {
		to.gauge(auditMismatches, float64(a.Mismatches))
		to.gauge(auditAt, seconds(a.At))
	}
	if !a.Due.IsZero() {
		to.gauge(auditDue, seconds(a.Due))
	}
	if c.s.Token != "" {
		to.count(unauthorized, c.s.refused.count())
	}
	if c.s.RESP != nil {
		s := c.s.RESP()
		to.count(respWrong, s.Wrong)
		to.count(respEvicted, s.Evicted)
		to.gauge(respClients, float64(s.Clients))
	}
	if c.s.Windows != nil {
		s := c.s.Windows.Stats()
		to.count(livePartial, s.Partial)
		to.gauge(liveBytes, float64(s.Bytes))
	}
	for _, s := range c.s.statuses() {
		to.job(&s)
	}
}

// job passes on the metrics of one job.
func (to scrape) job(s *jobs.Status) {
	job := []string{s.Job, s.Topic}
	for outcome, n := range s.Records {
		to.count(records, n, s.Job, s.Topic, outcome)
	}
	for outcome, n := range s.Events {
		to.count(events, n, s.Job, s.Topic, outcome)
	}
	for measure, n := range s.Skipped {
		to.count(skipped, n, s.Job, s.Topic, measure)
	}
	judged := s.Records
	if s.Events != nil { // a record counts as soon as one of its events does
		judged = s.Events
	}
	for _, outcome := range []string{"malformed", "late", "future"} {
		to.count(deadLetters, judged[outcome], s.Job, s.Topic, outcome)
	}
	for _, p := range s.Partitions {
		at := []string{s.Job, s.Topic, strconv.Itoa(int(p.Partition))}
		to.gauge(lagRecords, float64(p.Lag), at...)
		to.gauge(lagSeconds, lag(p), at...)
		to.gauge(offsetNext, float64(p.Next), at...)
		to.gauge(offsetDurable, float64(p.Durable), at...)
		if p.Watermark > 0 {
			to.gauge(watermark, float64(p.Watermark)/1000, at...)
		}
	}
	waits := 0
	for _, p := range s.Partitions {
		if p.Schema != "" {
			waits++
		}
	}
	to.gauge(waiting, float64(waits), job...)
	missed := 0
	if s.Uncounted != nil {
		missed = len(s.Uncounted.Partitions)
	}
	to.gauge(uncounted, float64(missed), job...)
	to.gauge(uncountedFor, s.Waited.Seconds(), job...)
	behind, since := int64(0), time.Duration(0)
	for _, o := range s.OpenTransactions {
		behind += o.Records
		since = max(since, o.For)
	}
	to.gauge(openRecords, float64(behind), job...)
	to.gauge(openFor, since.Seconds(), job...)
	to.gauge(stopped, one(s.Error != ""), job...)
	if s.Complete > 0 {
		to.gauge(completeUntil, float64(s.Complete)/1000, job...)
	}
	to.gauge(sinkUp, one(s.SinkError == ""), job...)
	buckets := make(map[float64]uint64, len(jobs.FlushBuckets))
	for i, le := range jobs.FlushBuckets {
		buckets[le] = s.FlushSeconds[i]
	}
	to <- prometheus.MustNewConstHistogram(flushSeconds, s.Flushes, s.FlushSecondsSum, buckets, job...)
	to.count(flushRows, s.FlushRows, job...)
	to.count(flushFailures, s.FlushFailures, job...)
	if !s.LastFlush.IsZero() {
		to.gauge(lastFlush, seconds(s.LastFlush), job...)
	}
	to.gauge(rowsHeld, float64(s.OpenRows), job...)
	to.gauge(sketchBytes, float64(s.MemoryBytes), job...)
	to.gauge(memoryRatio, float64(s.MemoryBytes)/float64(s.MemoryBudget), job...)
	to.count(rebalances, s.Generations, job...)
	to.count(commitFailures, s.CommitFailures, job...)
	to.count(rollupsTotal, s.Rollups, s.Job, s.Topic, "ok")
	to.count(rollupsTotal, s.RollupFailures, s.Job, s.Topic, "failed")
	to.gauge(malformedAlarm, one(s.Malformed != ""), job...)
}

// one is 1 for true, else 0.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// lag returns the age of the last counted record while there are more to count,
// else 0. Before the first counted record it is the time since the process was
// assigned the partition: the lag is at least that.
func lag(p jobs.PartitionStatus) float64 {
	since := time.UnixMilli(int64(p.Record))
	if p.Record == 0 {
		since = p.Since
	}
	if p.Lag == 0 || since.IsZero() {
		return 0
	}
	return max(0, time.Since(since).Seconds())
}
