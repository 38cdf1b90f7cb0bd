package main

import (
	"fmt"
	"testing"

	"weir/event"
	"weir/window"
)

// TestOddForms: each form is found where a job does not read it, and not where it does.
func TestOddForms(t *testing.T) {
	frame := "\x00\x00\x00\x00\x16\x02\x02user"
	values := []string{" [{}]", "{\"a\":1}\n{\"a\":2}", "\x1f\x8b\x08", "\xef\xbb\xbf{}", "\xff\xfe{\x00", "{}", ""}
	for _, c := range []struct {
		what string
		spec window.Spec
		want string
	}{
		{"JSON", window.Spec{By: []window.Column{{Name: "k", Path: "key:"}}}, "[1 1 1 1 1 1]"},
		{"JSON, fields of the key", window.Spec{By: []window.Column{{Name: "k", Path: "key:user"}}}, "[1 1 1 1 1 1]"},
		{"JSON, without the key", window.Spec{By: []window.Column{{Name: "k", Path: "user"}}}, "[1 1 1 1 1 0]"},
		{"arrays of events", window.Spec{Each: event.Whole}, "[0 1 1 1 1 0]"},
		{"CSV", window.Spec{Format: event.CSV}, "[0 0 1 1 1 0]"},
		{"Avro", window.Spec{Format: event.Avro, By: []window.Column{{Name: "k", Path: "key:"}}}, "[0 0 0 0 0 1]"},
		{"Avro with keys", window.Spec{Format: event.Avro, Keyed: true, By: []window.Column{{Name: "k", Path: "key:"}}}, "[0 0 0 0 0 0]"},
	} {
		o := newOdd(&c.spec)
		for i, v := range values {
			rec := event.Record{Offset: int64(i), Value: []byte(v), Envelope: &event.Envelope{Key: []byte("\x00te")[:i%2*3]}}
			if i == 5 {
				rec.Envelope = &event.Envelope{Key: []byte(frame)}
			}
			o.add(0, &rec)
		}
		if got := fmt.Sprint(o.counts); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
