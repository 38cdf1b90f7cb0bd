package backoff

import (
	"slices"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	b := Backoff[time.Duration]{First: 50 * time.Millisecond, Most: 300 * time.Millisecond}
	next := func() (all []time.Duration) {
		for range 5 {
			all = append(all, b.Next()/time.Millisecond)
		}
		return all
	}
	want := []time.Duration{50, 100, 200, 300, 300}
	if got := next(); !slices.Equal(got, want) {
		t.Errorf("the pauses are %v, want %v", got, want)
	}
	b.Reset()
	if got := next(); !slices.Equal(got, want) {
		t.Errorf("after it worked the pauses are %v, want %v", got, want)
	}
}
