package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"weir/config"
	"weir/event"
	"weir/ingest"
	"weir/internal/infer"
	"weir/internal/spelling"
	"weir/window"
)

// values says what the counted events of a sample have for each measure.
func (k *checker) values(j *config.Job, s *sample, found *window.Found) {
	f := diagnostic{"sample", "job " + j.Name, "ok", spelling.Count(s.outcomes[window.Counted], "counted event") + ", of which have a value for ", 0}
	var given []string
	for m, v := range found.Measures {
		text, odd := fmt.Sprint(j.Measures[m].Name, " ", v.All), []string(nil)
		for what, n := range map[string]uint64{"empty": v.Empty, "in quotes": v.Quoted, "rounded": v.Rounded, "skipped besides": v.Skipped} {
			if n > 0 {
				odd = append(odd, fmt.Sprint(n, " ", what))
			}
		}
		if odd != nil {
			slices.Sort(odd)
			text, f.Result = text+" ("+strings.Join(odd, ", ")+")", "warning"
		}
		given = append(given, text)
	}
	if f.Detail += strings.Join(given, ", "); given != nil && s.outcomes[window.Counted] > 0 {
		k.add(f)
	}
	if n := found.Timeless; n > 0 {
		k.warn("sample", "job "+j.Name, spelling.Count(n, "event")+" are of records without a time of their own: it is missing, or of January 1970 because the producer gave seconds; none of them is late or future")
	}
}

// element finds a step to an element of an array by its index.
var element = regexp.MustCompile(`\[\d+\]`)

// paths names what lies near a path that has no value in any record, and the elements beside those that are read by their
// index. It reads the newest records again, as infer does.
func (k *checker) paths(ctx context.Context, cfg *config.Config, j *config.Job, src *ingest.Source, spans map[int32]event.Span, found *window.Found) error {
	var missing []string
	spec, read := j.Spec(), map[string]bool{}
	for _, path := range append(slices.Sorted(maps.Keys(found.Paths)), event.OfRecord+spec.Each) {
		for _, at := range element.FindAllStringIndex(path, -1) {
			read[path[:at[0]]], read[path[:at[1]]] = true, true
		}
		if n, field := found.Paths[path]; field && n == 0 && !strings.Contains(path, "=") {
			missing = append(missing, path)
		}
	}
	if missing == nil && len(read) == 0 || spec.Format.HasColumns() {
		return nil
	}
	from, end, err := inferSchemas(cfg, j.SchemaFile, j.Message)
	if err != nil {
		return err
	}
	defer end()
	records, err := newestRecords(ctx, src, spans)
	if err != nil {
		return err
	}
	there := infer.Paths(ctx, records, from, spec.Each, read)
	var known []string
	for _, path := range slices.Sorted(maps.Keys(there)) {
		if array, beside := strings.CutSuffix(path, "[]"); beside {
			k.warn("sample", "job "+j.Name, fmt.Sprintf("left out: %s of %s, because the job names others by their index; [key=value] finds an element by a key, and each reads all",
				spelling.Count(there[path], "element"), event.PathText(array)))
		} else if found.Paths[path] == 0 {
			known = append(known, path)
		}
	}
	for _, path := range missing {
		if near := nearest(path, known); near != "" {
			k.warn("sample", "job "+j.Name, fmt.Sprintf("no record has a value at %s; the nearest path with one is %s", event.PathText(path), event.PathText(near)))
		}
	}
	return nil
}

// nearest returns the path that another one was most likely meant to be: one or two letters differ, or the way to the last
// key does. It is empty if there is none.
func nearest(path string, known []string) (best string) {
	last := func(path string) string { return path[strings.LastIndexAny(path, ".:")+1:] }
	least := math.MaxInt
	for _, of := range known {
		d := spelling.Distance(strings.ToLower(path), strings.ToLower(of))
		if d < least && (d <= min(2, len(path)/3) || last(of) == last(path)) {
			best, least = of, d
		}
	}
	return best
}
