package http

import (
	"testing"
	"time"
)

// TestOrdered: the value of the earliest and of the latest event is a string for Redis
// and over HTTP, over one window and over many, and nothing where there is none.
func TestOrdered(t *testing.T) {
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42, 2 * time.Second: 9, 5 * time.Minute: 1000}) // so long ago
	d.asks("9", "GET", "w:clicks:earliest:now")
	d.asks("7", "GET", "w:clicks:latest:now")
	d.asks("1000", "GET", "w:clicks:earliest:-5..now:/p/1")
	d.asks("7", "GET", "w:clicks:latest:-5..now")
	d.asks("string", "TYPE", "w:clicks:latest:now")
	d.asks("4", "STRLEN", "w:clicks:latest:-5")
	d.asks("<nil>", "GET", "w:clicks:latest:-3")
	if code, a := d.gets("w:clicks:latest:now", ""); code != 200 || !a.Found || a.Kind != "last" || a.Value != "7" {
		t.Errorf("now: %d %+v", code, a)
	}
	if code, a := d.gets("w:clicks:earliest:-3", ""); code != 200 || a.Found || a.Value != nil {
		t.Errorf("without events: %d %+v", code, a)
	}
}
