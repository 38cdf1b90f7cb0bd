package http

import (
	"fmt"
	"testing"
	"time"

	"weir/internal/redistest"
)

// TestQuantile: quantiles for Redis, in the replies of RedisBloom, and over HTTP, over one
// window and over many.
func TestQuantile(t *testing.T) {
	d, job := newEndpoints(t)
	at := map[time.Duration]int{5 * time.Minute: 512, 5*time.Minute + time.Second: 512}
	for i := range 8 { // in the last window: 1, 2, 4 … 128, which are the upper bounds of buckets
		at[time.Duration(i)*time.Second] = 1 << i
	}
	job.count(t, at)
	const now, all = "w:clicks:spread:now", "w:clicks:spread:-6..now"
	// The value of a bucket with the upper bound u is 2u/(1 + 2^(1/64)).
	d.asks("[0.9945848405840974]", "TDIGEST.QUANTILE", now, "0")
	d.asks("[15.913357449345558 127.30685959476446]", "TDIGEST.QUANTILE", now, "0.5", "1")
	d.asks("[509.22743837905784]", "tdigest.quantile", all, "0.9")
	d.asks("[0 0.0625 0.5625 1]", "TDIGEST.CDF", now, "0.5", "1", "16", "inf")
	d.asks("[0.8]", "TDIGEST.CDF", all, "256")
	d.asks("0.9945848405840974", "TDIGEST.MIN", all)
	d.asks("509.22743837905784", "TDIGEST.MAX", all)
	d.asks("TDIS-TYPE", "TYPE", now)
	d.asks(redistest.Error("ERR T-Digest: key does not exist"), "TDIGEST.MIN", "w:clicks:spread:-3")
	d.asks(redistest.Error("ERR T-Digest: key does not exist"), "TDIGEST.QUANTILE", "none", "0.5")
	d.asks(redistest.Error("ERR T-Digest: error parsing quantile"), "TDIGEST.QUANTILE", now, "0.5", "half")
	d.asks(redistest.Error("ERR T-Digest: quantile should be in [0,1]"), "TDIGEST.QUANTILE", now, "1.5")
	d.asks(redistest.Error("ERR T-Digest: quantile should be in [0,1]"), "TDIGEST.QUANTILE", now, "-0.1")
	d.asks(redistest.Error("ERR T-Digest: error parsing cdf"), "TDIGEST.CDF", now, "x")
	d.asks(redistest.Error("WRONGTYPE Operation against a key holding the wrong kind of value"), "GET", now)
	d.asks(redistest.Error("WRONGTYPE Operation against a key holding the wrong kind of value"), "TDIGEST.MAX", "w:clicks:people:now")
	if code, a := d.gets(all, ""); code != 200 || !a.Found || a.Kind != "quantile" || fmt.Sprint(a.Value) != "map[count:10 max:509.22743837905784 min:0.9945848405840974 p50:31.826714898691115 p90:509.22743837905784 p95:509.22743837905784 p99:509.22743837905784 p999:509.22743837905784]" {
		t.Errorf("all: %d %+v", code, a)
	}
	if code, a := d.gets("w:clicks:spread:-3", ""); code != 200 || a.Found || fmt.Sprint(a.Value) != "map[count:0 max:<nil> min:<nil> p50:<nil> p90:<nil> p95:<nil> p99:<nil> p999:<nil>]" {
		t.Errorf("without events: %d %+v", code, a)
	}
}
