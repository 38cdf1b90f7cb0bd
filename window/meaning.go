package window

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"weir/event"
)

// Meaning returns everything but the measures as JSON: equal specs have equal texts. The
// sink keeps it. A job whose text differs from the one in the sink needs a higher version.
// LostSchemas are not in it: what they decide had no outcome before.
func (s *Spec) Meaning() string {
	m := struct {
		Format   string         `json:"format"`
		Schema   string         `json:"schema,omitempty"`
		Framing  string         `json:"framing,omitempty"`
		Keys     string         `json:"key_format,omitempty"`
		Each     string         `json:"each,omitempty"`
		Columns  map[string]int `json:"columns,omitempty"` // from 1; those that are not read may change
		Time     any            `json:"time"`
		Window   string         `json:"window"`
		Lateness string         `json:"lateness"`
		Skew     string         `json:"skew"`
		Chunk    int64          `json:"chunk"`
		Groups   int            `json:"max_groups"`
		By       []Dimension    `json:"by,omitempty"`
		Where    []Condition    `json:"where,omitempty"`
		Dedupe   *Dedupe        `json:"dedupe,omitempty"`
		Throttle *Throttle      `json:"throttle,omitempty"`
		HashKey  string         `json:"hash_key_file,omitempty"`
	}{
		Format: s.Format.String(), Schema: s.Schema, Each: s.Each,
		Time:   map[string]string{"field": s.TimeField, "unit": s.TimeUnit.String()},
		Window: span(s.Window), Lateness: span(s.Lateness), Skew: span(s.Skew), Chunk: s.Chunk, Groups: s.MaxGroups,
		By: s.By, Where: s.Where, Dedupe: s.Dedupe, Throttle: s.Throttle,
	}
	if s.TimeZone != nil {
		m.Time.(map[string]string)["zone"] = s.TimeZone.String()
	}
	if s.TimeOrRecord {
		m.Time.(map[string]string)["else"] = event.RecordTime.String()
	}
	if s.Glue {
		m.Framing = "glue"
	}
	if s.Keyed {
		m.Keys = m.Format
	}
	names, at := s.columns()
	for i, name := range names {
		if m.Columns == nil {
			m.Columns = make(map[string]int)
		}
		m.Columns[name] = at[i] + 1
	}
	if s.HashKey != nil {
		// The key is secret. It is random, so its digest does not reveal it.
		m.HashKey = fmt.Sprintf("a key with the digest %016x", keyCheck(s.HashKey))
	}
	return text(m)
}

// ChunkOf returns the offsets per chunk of a job by its Meaning.
func ChunkOf(meaning string) int64 {
	m := struct{ Chunk int64 }{1}
	_ = json.Unmarshal([]byte(meaning), &m) // of a text that is not ours, each offset is a chunk
	return m.Chunk
}

// Meaning returns one measure as JSON. A job may get further measures (windows from
// before have nothing in them), but a measure may not change.
func (m *Measure) Meaning() string {
	t := struct {
		Kind   string `json:"kind"`
		Field  string `json:"field,omitempty"`
		Member string `json:"member,omitempty"`
		*Measure
	}{Kind: m.Kind.Name, Field: m.Path, Measure: m}
	if m.Kind.ByMember {
		t.Field, t.Member = "", m.Path
	}
	return text(t)
}

// text writes a value as JSON. The values of a Spec can all be written.
func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read it
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// span writes a duration in the largest unit that divides it: 1m, 90s, 1d.
func span(n event.Time) string {
	unit, name := event.Time(1), "ms"
	for _, u := range []struct {
		size event.Time
		name string
	}{{1000, "s"}, {60_000, "m"}, {3_600_000, "h"}, {86_400_000, "d"}} {
		if n%u.size == 0 && (n != 0 || u.name == "s") {
			unit, name = u.size, u.name
		}
	}
	return fmt.Sprint(int64(n/unit)) + name
}

// A Change is one key of a job that means something else than before. Was and Is are JSON;
// "nothing" is a key that is not there.
type Change struct{ Key, Was, Is string }

func (c Change) String() string { return c.Key + " was " + c.Was + ", is " + c.Is }

// Difference compares two texts of Spec.Meaning, or of Measure.Meaning, and returns the keys
// that differ, in order.
func Difference(was, is string) []Change { return differ(nil, "", parsed(was), parsed(is)) }

// parsed reads JSON. What is none stands for itself.
func parsed(meaning string) any {
	var v any
	if json.Unmarshal([]byte(meaning), &v) != nil {
		return meaning
	}
	return v
}

// differ appends the differences of two values to all.
func differ(all []Change, key string, was, is any) []Change {
	if reflect.DeepEqual(was, is) {
		return all
	}
	before, wasMap := was.(map[string]any)
	after, isMap := is.(map[string]any)
	if wasMap && isMap {
		keys := maps.Clone(before)
		maps.Copy(keys, after)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			all = differ(all, strings.TrimPrefix(key+"."+k, "."), before[k], after[k])
		}
		return all
	}
	old, wasList := was.([]any)
	list, isList := is.([]any)
	if wasList && isList && len(old) == len(list) {
		for i := range list {
			all = differ(all, fmt.Sprintf("%s[%d]", key, i), old[i], list[i])
		}
		return all
	}
	return append(all, Change{cmp.Or(key, "meaning"), shown(was), shown(is)})
}

func shown(v any) string {
	if v == nil {
		return "nothing"
	}
	return text(v)
}
