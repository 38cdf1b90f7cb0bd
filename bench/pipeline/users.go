package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/event"
)

// users has the users of each minute and page, in the events that were sent.
type users struct {
	of      map[string][]uint32 // by minute and page, as a line of a view begins
	scanner *event.Scanner
	values  []event.Value
}

// add notes an event and returns it.
func (u *users) add(json []byte) ([]byte, error) {
	if u.scanner == nil {
		var err error
		if u.scanner, err = event.NewScanner([]string{"ts", "page", "user_id"}); err != nil {
			return nil, err
		}
		u.of, u.values = map[string][]uint32{}, make([]event.Value, 3)
	}
	if err := u.scanner.Scan(json, u.values); err != nil {
		return nil, err
	}
	ts, err := strconv.ParseInt(string(u.values[0].Bytes), 10, 64)
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(string(u.values[2].Bytes), 10, 32)
	key := fmt.Sprintf("%d\t%s", ts/60_000*60, u.values[1].Bytes)
	u.of[key] = append(u.of[key], uint32(id))
	return json, err
}

// rms compares lines of a view, of minute, page and number of users, with the users.
func (u *users) rms(lines string) (float64, error) {
	sum, n := 0.0, 0
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		at := strings.LastIndexByte(line, '\t')
		if at < 0 {
			return 0, fmt.Errorf("a view has the line %q", line)
		}
		got, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			return 0, err
		}
		of := u.of[line[:at]]
		slices.Sort(of)
		of = slices.Compact(of)
		u.of[line[:at]] = of
		e := got/float64(len(of)) - 1
		sum += e * e
		n++
	}
	if n != len(u.of) {
		return 0, fmt.Errorf("a view has %d windows and pages, the events have %d", n, len(u.of))
	}
	return math.Sqrt(sum / float64(n)), nil
}
