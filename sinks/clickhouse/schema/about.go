package schema

import (
	"fmt"

	"weir/measures"
	"weir/sinks/clickhouse/wire"
)

// What comments in the database say of columns and views.

// abouts says what columns are that weir names, by their names.
var abouts = map[string]string{
	"window_start": "when the window begins, UTC",
	"window_end":   "when the window ends, UTC",
	"hits":         "how many events were counted; adds up over windows and groups",
	"complete":     "1: the window has ended, and every partition has passed its end; late events may still be counted",
	"flushed":      "of how many events whole rows gave their numbers, and of which measures",
	"flushed_at":   "when the row was last written, by the server's clock; a TTL uses it, no number does",
	"flushed_in":   "the round in which the row was last written",
	"rolled_at":    "when the row was last made, by the server's clock; a TTL uses it, no number does",
	"rolled_in":    "the round in which the row was last made",

	"member":  "whose position it is",
	"last":    "the last position: its time, the slot and offset of its record, and its 52-bit cell",
	"score":   "the 52-bit cell that Redis keeps of the position: weirLon, weirLat, weirGeohash, weirGeoDist",
	"lon":     "degrees east",
	"lat":     "degrees north",
	"geohash": "the position as a geohash",
	"ts":      "the time of the event",

	"later":      "when the later window begins, UTC",
	"cohort":     "how many ids were there in the window",
	"returned":   "how many of these were there in the later window, too",
	"step":       "the number of the step, from 1",
	"name":       "the step as the query has it",
	"least":      "at least so many",
	"most":       "at most so many",
	"total_most": "at most so many in all windows of the answer together",

	"job":            "the name of the job",
	"version":        "the version of the job; another one counts the whole log for itself",
	"measure":        "the measure; empty: the row is of the job",
	"meaning":        "what decides the stored values",
	"topic":          "the topic in Kafka",
	"keep":           "for how many seconds state rows are kept",
	"groups":         "the group columns",
	"rollup":         "the rollup: its table, or the seconds of its windows",
	"seconds":        "the length of the windows of the shortest rollup",
	"bits":           "of a Bloom measure: the third argument of weirBloomHas",
	"created_at":     "when the row was written",
	"epoch":          "a number for each topic that was counted under this name",
	"partition":      "the partition in Kafka",
	"chunk":          "the first offset of the aligned chunk",
	"first":          "the first offset that was read of the chunk",
	"next":           "the offset behind the last one that was read",
	"events":         "how many events the records had, where a record is an array of them",
	"watermark":      "the greatest time that the events have passed",
	"topic_id":       "the id that the broker gave the topic",
	"began":          "when the reading of the chunk began, by the server's clock",
	"slot":           "epoch, partition and chunk as the counts of state rows name them",
	"offset":         "the offset of the record",
	"outcome":        "why it was not counted: late, future or malformed",
	"reason":         "what was wrong, and with which field",
	"record_time":    "the time that the record has in Kafka",
	"payload":        "the first 16 KiB of the record's value",
	"payload_bytes":  "how long the value was",
	"opened":         "the greatest round that was opened",
	"done":           "the rollup has all rows of the rounds before this one",
	"complete_until": "windows that end by then are complete",
	"applied_at":     "when the statement was run",
	"object":         "what the statement made or changed",
	"sql":            "the statement",
}

// grouped is the comment of a group column.
const grouped = "a group of the job"

// about says what the column of a number is.
func (m *Measure) about(job string) string {
	kind := measures.Of(m.Kind).Config
	adds := "adds up over windows and groups"
	if !kind.AddsUp {
		adds = fmt.Sprintf("does not add up: of several windows or groups ask %s_range, %[1]s_last or their _total", job)
	}
	return m.Kind.Name + ": " + kind.About + "; " + adds
}

// held says what a column of states is.
func (m *Measure) held() string {
	return "states of the measure " + m.Name + " (" + m.Kind.Name + "), which " + m.Merge(wire.Quote(m.Name)) + " merges"
}
