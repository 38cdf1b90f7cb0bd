package http

import (
	"strings"
	"testing"
	"time"

	"weir/internal/redistest"
)

// TestSet: a set of ids counts, and finds an id, for Redis and over HTTP.
func TestSet(t *testing.T) {
	words := func(command string) (all []any) {
		for word := range strings.FieldsSeq(strings.ReplaceAll(command, "KEY", "w:clicks:people:now")) {
			all = append(all, word)
		}
		return all
	}
	d, job := newEndpoints(t)
	job.count(t, map[time.Duration]int{0: 7, time.Second: 42, 2 * time.Second: 9, 5 * time.Minute: 7})
	d.asks("3", "SCARD", "w:clicks:people:now")
	d.asks("set", "TYPE", "w:clicks:people:now")
	d.asks("0", "SCARD", "w:clicks:people:-3")
	d.asks("1", "SISMEMBER", "w:clicks:people:now", "42")
	d.asks("0", "SISMEMBER", "w:clicks:people:now", "1000")
	d.asks("[1 0 1]", "SMISMEMBER", "w:clicks:people:now", "7", "8", "9")
	d.asks("[0]", "SMISMEMBER", "w:clicks:people:-3", "7")
	d.asks("1", "SINTERCARD", "2", "w:clicks:people:now", "w:clicks:people:-5")
	d.asks("3", "SINTERCARD", "1", "w:clicks:people:now")
	d.asks("2", "SINTERCARD", "1", "w:clicks:people:now", "LIMIT", "2")
	d.asks("0", "SINTERCARD", "2", "w:clicks:people:now", "none")
	d.asks("3", "SADD", "vips", "9", "42", "ann")
	d.asks("2", "SINTERCARD", "2", "vips", "w:clicks:people:now")
	d.asks("1", "SINTERCARD", "2", "w:clicks:people:now", "vips", "LIMIT", "1")
	d.asks(redistest.Error("ERR SINTERCARD takes one window key, or two without other sets: SQL answers for more, see docs/sql.md"),
		"SINTERCARD", "3", "vips", "w:clicks:people:now", "w:clicks:people:-5")
	for _, command := range []string{"SMEMBERS KEY", "SRANDMEMBER KEY", "SSCAN KEY 0", "SINTER KEY vips", "SUNION vips KEY", "SDIFF vips KEY", "SUNIONSTORE to KEY"} {
		d.asks(redistest.Error("ERR a window key keeps hashes of its ids and cannot list them: ask SCARD, SISMEMBER, SMISMEMBER or SINTERCARD"),
			words(command)...)
	}
	for _, command := range []string{"SADD KEY 1", "SREM KEY 7", "SPOP KEY", "SMOVE KEY to 7", "SUNIONSTORE KEY vips"} {
		d.asks(redistest.Error("ERR window keys are read-only: keys that begin with w: show what a job has counted"),
			words(command)...)
	}
	d.asks(redistest.Error("WRONGTYPE Operation against a key holding the wrong kind of value"), "GET", "w:clicks:people:now")
	if code, a := d.gets("w:clicks:people:now", ""); code != 200 || !a.Found || a.Kind != "set" || a.Value != 3.0 || a.Has != nil {
		t.Errorf("now: %d %+v", code, a)
	}
	for member, want := range map[string]bool{"42": true, "1000": false} {
		if code, a := d.gets("w:clicks:people:now", member); code != 200 || a.Has == nil || *a.Has != want {
			t.Errorf("%s: %d %+v, want %t", member, code, a, want)
		}
	}
}
