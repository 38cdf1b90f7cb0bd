package main

import (
	"bytes"
	"fmt"

	"weir/event"
	"weir/window"
)

// An oddForm is a form of keys or values that a job does not read, and that bytes show. The reason of a
// malformed record says only what a reader of the right form stumbled over; and a key whose frame is
// taken for text may be counted.
type oddForm struct {
	is   func(j *oddJob, rec *event.Record) bool
	says string // behind the number of records
}

// An oddJob is what the forms depend on.
type oddJob struct {
	json, each, schema bool
	keyText            bool // the job reads the key as a text or a JSON object
}

var oddForms = []oddForm{
	{func(j *oddJob, r *event.Record) bool {
		return j.json && !j.each && bytes.HasPrefix(bytes.TrimLeft(r.Value, " \t\r\n"), []byte("["))
	},
		"a value that is an array: with each: $ its elements are the events"},
	{func(j *oddJob, r *event.Record) bool {
		return j.json && (bytes.Contains(r.Value, []byte("}\n{")) || bytes.Contains(r.Value, []byte("}\r\n{")))
	}, "several JSON objects in one value, a line each, which are not read: produce a record for each, or an array, with each: $"},
	{func(j *oddJob, r *event.Record) bool {
		return !j.schema && (bytes.HasPrefix(r.Value, []byte("\x1f\x8b")) || bytes.HasPrefix(r.Value, []byte("\x28\xb5\x2f\xfd")))
	}, "a value that its producer has compressed by itself, which is not read: use the producer's compression.type"},
	{func(j *oddJob, r *event.Record) bool {
		return !j.schema && bytes.HasPrefix(r.Value, []byte("\xef\xbb\xbf"))
	},
		"a byte order mark in front of the value, which is part of it here: produce without it"},
	{func(j *oddJob, r *event.Record) bool {
		return !j.schema && (bytes.HasPrefix(r.Value, []byte("\xff\xfe")) || bytes.HasPrefix(r.Value, []byte("\xfe\xff")))
	}, "a value in UTF-16, which is not read: produce UTF-8"},
	{func(j *oddJob, r *event.Record) bool {
		return j.keyText && r.Envelope != nil && len(r.Envelope.Key) >= 4 && r.Envelope.Key[0] <= 1
	}, "a key that begins with a byte 0 or 1, as one with the name of a schema does (see key_format), or a binary number; the job takes all its bytes for text"},
}

// odd counts records of odd forms.
type odd struct {
	job    oddJob
	counts []uint64 // by form
	first  []position
	all    uint64
}

func newOdd(spec *window.Spec) *odd {
	return &odd{
		job:    oddJob{json: spec.Format == event.JSON || spec.Format == event.JSONSchema, each: spec.Each != "", schema: spec.Format.HasSchema(), keyText: spec.ReadsKeyText()},
		counts: make([]uint64, len(oddForms)), first: make([]position, len(oddForms)),
	}
}

func (o *odd) add(partition int32, rec *event.Record) {
	o.all++
	for i := range oddForms {
		if !oddForms[i].is(&o.job, rec) {
			continue
		}
		at := position{partition, rec.Offset}
		if o.counts[i]++; o.counts[i] == 1 || at.partition < o.first[i].partition || at.partition == o.first[i].partition && at.offset < o.first[i].offset {
			o.first[i] = at
		}
	}
}

// report adds a warning for each form.
func (o *odd) report(k *checker, subject string) {
	for i, n := range o.counts {
		if n > 0 {
			k.add(finding{"sample", subject, "warning", fmt.Sprintf("%d of %d records (%s) have %s; e.g. partition %d offset %d", n, o.all, percent(n, o.all), oddForms[i].says, o.first[i].partition, o.first[i].offset), 0})
		}
	}
}
