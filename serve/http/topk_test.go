package http

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/redistest"
)

// TestTopK: the most frequent values for Redis, in the replies of RedisBloom, and over
// HTTP, over one window and over many.
func TestTopK(t *testing.T) {
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42, 2 * time.Second: 42, 5 * time.Minute: 1000, 5*time.Minute + time.Second: 7})
	const now, all = "w:clicks:often:now", "w:clicks:often:-6..now"
	d.asks("[42 7]", "TOPK.LIST", now)
	d.asks("[42 2 7 1]", "TOPK.LIST", now, "WITHCOUNT")
	d.asks("[42 2 7 2]", "topk.list", all, "withcount")
	d.asks("[2 1 0 2]", "TOPK.COUNT", all, "42", "1000", "8", "7")
	d.asks("[1 0]", "TOPK.QUERY", all, "42", "1000")
	d.asks("TopK-TYPE", "TYPE", now)
	d.asks(redistest.Error("TopK: key does not exist"), "TOPK.LIST", "w:clicks:often:-3")
	d.asks(redistest.Error("TopK: key does not exist"), "TOPK.COUNT", "none", "7")
	d.asks(redistest.Error("WITHCOUNT keyword expected"), "TOPK.LIST", now, "COUNT")
	d.asks(redistest.Error("WRONGTYPE Operation against a key holding the wrong kind of value"), "GET", now)
	d.asks(redistest.Error("WRONGTYPE Operation against a key holding the wrong kind of value"), "TOPK.LIST", "w:clicks:people:now")
	if code, a := d.gets(all, ""); code != 200 || !a.Found || a.Kind != "topk" || fmt.Sprint(a.Value) != "[map[count:2 error:0 key:42] map[count:2 error:0 key:7]]" {
		t.Errorf("all: %d %+v", code, a)
	}
	if code, a := d.gets("w:clicks:often:-3", ""); code != 200 || a.Found || fmt.Sprint(a.Value) != "[]" {
		t.Errorf("without events: %d %+v", code, a)
	}
}
