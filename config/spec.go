package config

import (
	"time"

	"weir/event"
	"weir/internal/zones"
	"weir/sinks/clickhouse/schema"
	"weir/window"
)

// SaveAfter is how many records of a chunk are read before the ledger has its state: reading them again takes a tenth of a second.
const SaveAfter = 1 << 18

// Spec returns the job in the form of package window. It is one that Load has checked.
func (j *Job) Spec() *window.Spec {
	unit, _ := event.ParseUnit(j.Time.Unit) // which are words of an enum
	format, _ := event.ParseFormat(j.Format)
	s := &window.Spec{
		Job: j.Name, Version: j.Version, Format: format, Each: event.ParsePathText(j.Each), Columns: j.Columns,
		TimeUnit: unit,
		Window:   millis(j.Window), Lateness: millis(j.Lateness), Skew: millis(j.Skew),
		Chunk: int64(j.Chunk), MaxGroups: j.MaxGroups, SaveAfter: SaveAfter,
		Glue: j.Framing == "glue", Keyed: j.KeyFormat != "", LostSchemas: lostSchemas(j.Lost), Where: conditions(j.Where),
	}
	paths, orRecord := j.Time.paths()
	s.TimeField, s.TimeOrRecord = fieldOf(paths, nil), orRecord
	if j.Time.Date != nil {
		s.TimeField = event.Field{Paths: []string{event.ParsePathText(j.Time.Date[0]), event.ParsePathText(paths[0])}, Joined: true}.String()
	}
	if j.Time.Zone != "" {
		s.TimeZone, _ = zones.Of(j.Time.Zone) // Load has checked it
	}
	if j.Schema != nil {
		s.Schema = j.Schema.Digest
	}
	for _, c := range j.By {
		col := window.Dimension{Name: c.Name, Path: fieldOf(c.Field, c.Apply)}
		if c.Default != nil {
			col.Default, col.HasDefault = *c.Default, true
		}
		if g := c.Geohash; g != nil {
			col.Path, col.Lon, col.Lat, col.Precision = "", fieldOf(g.Lon, nil), fieldOf(g.Lat, nil), g.Precision
		}
		s.By = append(s.By, col)
	}
	for i := range j.Measures {
		s.Measures = append(s.Measures, j.Measures[i].spec())
	}
	if j.Dedupe != nil {
		s.Dedupe = &window.Dedupe{Path: fieldOf(j.Dedupe.Field, j.Dedupe.Apply), Error: j.Dedupe.Error, Exact: j.Dedupe.Exact}
	}
	if t := j.Throttle; t != nil {
		s.Throttle = &window.Throttle{Path: fieldOf(t.Field, t.Apply), Limit: t.Limit, Per: millis(t.Per), Funnel: t.Form == "funnel", Burst: t.Burst}
	}
	if j.HashKey.IsSet() {
		key := j.HashKey.Key128()
		s.HashKey = &key
	}
	return s
}

// Stored returns the job, with its spec, in the form of the sink.
func (j *Job) Stored(s *window.Spec) schema.Job {
	job := schema.Job{Spec: s, Topic: j.Topic, Place: j.Place, Keep: time.Duration(j.Keep)}
	for _, r := range j.Rollups {
		job.Rollups = append(job.Rollups, schema.Rollup{Window: time.Duration(r.Window), Keep: time.Duration(r.Keep), KeepStates: time.Duration(r.KeepStates)})
	}
	return job
}

func millis(d Duration) event.Time { return event.Time(time.Duration(d).Milliseconds()) }
