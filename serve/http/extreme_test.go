package http

import (
	"testing"
	"time"

	"weir/internal/redistest"
)

// TestExtremes: a greatest or least number is a string for Redis and a number over HTTP,
// and nothing where there is none.
func TestExtremes(t *testing.T) {
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42, 2 * time.Second: 9, 5 * time.Minute: 1000})
	d.asks("42", "GET", "w:clicks:greatest:now")
	d.asks("1000", "GET", "w:clicks:greatest:-5..now:/p/1")
	d.asks("string", "TYPE", "w:clicks:greatest:now")
	d.asks("<nil>", "GET", "w:clicks:greatest:-3")
	d.asks(redistest.Error("WRONGTYPE Key is not a valid HyperLogLog string value."), "PFCOUNT", "w:clicks:greatest:now")
	d.asks("7", "GET", "w:clicks:least:now")
	d.asks("7", "GET", "w:clicks:least:-5..now")
	if code, a := d.gets("w:clicks:least:now", ""); code != 200 || !a.Found || a.Kind != "min" || a.Value != 7.0 {
		t.Errorf("now: %d %+v", code, a)
	}
	if code, a := d.gets("w:clicks:greatest:now", ""); code != 200 || !a.Found || a.Kind != "max" || a.Value != 42.0 {
		t.Errorf("now: %d %+v", code, a)
	}
	if code, a := d.gets("w:clicks:greatest:-3", ""); code != 200 || a.Found || a.Value != nil {
		t.Errorf("without events: %d %+v", code, a)
	}
}
