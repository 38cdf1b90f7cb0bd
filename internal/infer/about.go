package infer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/event"
)

// about writes a table of the fields.
func (f *Facts) about(b *strings.Builder, topic string) {
	stamp := func(t event.Time) string { return time.UnixMilli(int64(t)).UTC().Format("2006-01-02T15:04:05Z") }
	fmt.Fprintf(b, "# %d records of the topic %s, written from %s to %s.\n", f.Records, topic, stamp(f.first), stamp(f.last))
	if f.Read > 0 {
		fmt.Fprintf(b, "# %s of them are %s.\n", share(f.Read, f.Records), f.Format)
		if f.Each != "" {
			fmt.Fprintf(b, "# They are arrays of %d events; a field that begins with record: is beside the array.\n", f.Events)
		}
	}
	if f.Schemas != nil {
		why := "schemas of a registry, which weir infer asks with --registry.url"
		if f.decoder.from.File != nil || f.decoder.from.Registry != nil {
			why = "schemas that are not known, or do not fit"
		}
		fmt.Fprintf(b, "# %s of them name %s: %s.\n", share(f.Named, f.Records), why, f.SchemaNames())
	}
	if f.Read == 0 {
		return
	}
	width := len("field")
	for _, field := range f.Fields {
		width = max(width, len(event.PathText(field.Path)))
	}
	width = min(width, 50)
	fmt.Fprintf(b, "#\n# %-*s  present  distinct  values\n", width, "field")
	for _, field := range f.Fields {
		if field.Present+field.Null == 0 && field.overlaps(f.Fields) { // other records have an object there
			continue
		}
		fmt.Fprintf(b, "# %-*s  %7s  %8d  %s\n", width, printable(event.PathText(field.Path)), share(field.Present, f.Events), len(field.Values), field.describe())
	}
	if f.More {
		fmt.Fprintf(b, "# There are more fields than these %d.\n", maxFields)
	}
}

// SchemaNames names the first ten of Schemas.
func (f *Facts) SchemaNames() string {
	const most = 10
	names := slices.Sorted(slices.Values(f.Schemas))
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// describe says what the values are: their types, the most frequent, or the range.
func (f *Field) describe() string {
	var kinds []string
	for _, k := range []struct {
		n    int
		name string
	}{{f.Texts, "text"}, {f.Numbers, "number"}, {f.Bools, "bool"}, {f.Others, "array or map"}, {f.Null, "null"}} {
		if k.n > 0 {
			kinds = append(kinds, k.name)
		}
	}
	if f.isTime {
		kinds = append(kinds, fmt.Sprintf("a time (%v)", f.unit))
	}
	values := slices.Clone(f.order)
	slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(f.Values[b], f.Values[a]) })
	text := strings.Join(kinds, ", ")
	if f.Present+f.Null == 0 {
		return "in no record"
	}
	if f.Numbers > 0 && f.Numbers == f.Present && len(values) > maxShown {
		return fmt.Sprintf("%s from %s to %s", text, strconv.FormatFloat(f.Min, 'f', -1, 64), strconv.FormatFloat(f.Max, 'f', -1, 64))
	}
	for i, v := range values[:min(len(values), maxShown)] {
		if text += ", "; i == 0 {
			text = strings.TrimSuffix(text, ", ") + ": "
		}
		text += printable(v)
	}
	if len(values) > maxShown {
		text += " and more"
	}
	return text
}

// printable shortens a text, and escapes what could steer a terminal or end a comment.
func printable(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	quoted := strconv.Quote(text)
	if plain := quoted[1 : len(quoted)-1]; plain == text && text != "" && !strings.ContainsAny(text, " ,") {
		return text
	}
	return quoted
}

// share writes a number of records as a percentage, where only all are 100 %.
func share(n, of int) string {
	p := 100 * float64(n) / float64(of)
	if n < of && p > 99.9 {
		p = 99.9
	}
	return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
}
