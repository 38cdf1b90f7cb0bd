// Package zones has the time zones of the IANA, from a file in the program: the files of the machine decide nothing.
//
//	where, err := zones.Load("Europe/Berlin")
//	zone, err := zones.Of("Europe/Berlin") // for package event
//
// The file is that of Go, lib/time/zoneinfo.zip.
package zones

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"time"

	"weir/event"
)

//go:embed zoneinfo.zip
var file []byte

// Load returns the zone of a name.
func Load(name string) (*time.Location, error) {
	all, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	for _, f := range all.File {
		if f.Name == name && !f.FileInfo().IsDir() {
			r, err := f.Open()
			if err != nil {
				return nil, err
			}
			data, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			return time.LoadLocationFromTZData(name, data)
		}
	}
	return nil, fmt.Errorf("%.40q is no time zone; write a name of the IANA, such as Europe/Berlin", name)
}

// Of returns the zone of a name as the offsets that it has from 1970 to 2106.
func Of(name string) (*event.Zone, error) {
	where, err := Load(name)
	if err != nil {
		return nil, err
	}
	z := &event.Zone{Name: name}
	for t := time.Unix(0, 0).In(where); !t.IsZero() && t.Year() < 2107; t = next(t) {
		_, offset := t.Zone()
		z.Change(event.Time(t.UnixMilli()), event.Time(offset)*1000)
	}
	return z, nil
}

// next returns the time up to which a zone has the offset that it has at a time, or an earlier one; zero if it has that for
// ever. On the last day of a leap year ZoneBounds ends at that day's beginning, and so does not go on.
func next(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		end = t.Add(24 * time.Hour)
	}
	return end
}
