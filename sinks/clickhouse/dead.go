package clickhouse

import (
	"context"
	"fmt"

	"weir/event"
	"weir/window"
)

// DeadLetters returns the last dead letters of the job, at most n: those that were written
// last by the server's clock, the last first.
func (s *Sink) DeadLetters(ctx context.Context, n int) (all []window.DeadLetter, err error) {
	sql := fmt.Sprintf("SELECT epoch, toInt32(partition), toInt64(offset), outcome, reason, toUnixTimestamp64Milli(record_time), payload, payload_bytes FROM %s WHERE %s"+
		" ORDER BY flushed_at DESC, record_time DESC, partition, offset DESC LIMIT 1 BY epoch, partition, offset LIMIT %d",
		s.client.name("weir_dead_letters"), s.layout.where(), n)
	err = s.client.home().question(ctx, "read the dead letters of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
		var d window.DeadLetter
		var outcome, payload string
		var at int64
		var size uint64
		if err := scan(&d.Epoch, &d.Partition, &d.Offset, &outcome, &d.Reason, &at, &payload, &size); err != nil {
			return err
		}
		d.Time, d.Payload, d.Size = storable(event.Time(at)), []byte(payload), int(size)
		for f := range window.Outcomes {
			if f.String() == outcome {
				d.Outcome = f
			}
		}
		all = append(all, d)
		return nil
	})
	return all, err
}

// storable returns the nearest time that a DateTime64 has, of the years 1900 to 2299. The time of a record may
// be any int64, and ClickHouse shows one beyond as some time within; JSON has none after the year 9999.
func storable(t event.Time) event.Time {
	const first, last = -2_208_988_800_000, 10_413_791_999_999
	return min(max(t, first), last)
}
