package gen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"weir/event"
)

// Rules are the parts of a job's definition that decide the answer. Durations
// are in milliseconds.
type Rules struct {
	Window    event.Time `json:"window"`    // length of a window, which begins at a multiple of it
	Lateness  event.Time `json:"lateness"`  // an event older than its record by more is late
	Skew      event.Time `json:"skew"`      // one newer by more is from the future
	Dedupe    bool       `json:"dedupe"`    // clicks: whether an event id counts once only
	Precision int        `json:"precision"` // locations: characters of the geohash that people are grouped by; 0: 5
}

// maxStamp is the last millisecond that a job accepts as an event's time: the
// end of ClickHouse's DateTime, in 2106. An event before 1970 or after maxStamp
// is malformed.
const maxStamp event.Time = (1<<32 - 1) * 1000

// Outcomes is the number of records of each outcome.
type Outcomes struct {
	Valid     int64 `json:"valid"` // the ones counted in a window
	Malformed int64 `json:"malformed"`
	Late      int64 `json:"late"`
	Future    int64 `json:"future"`
	Duplicate int64 `json:"duplicate"` // only with Rules.Dedupe
}

// A Group is where an event is counted: window and page, or window and
// geohash.
type Group struct {
	Window event.Time `json:"window"` // its start
	Name   string     `json:"group"`
}

// A Count is the truth about a group: its hits, the sum of their users' ids, how many hits
// each user has, and the users of the earliest and of the latest event. The ids are also
// the truth of an activity bitmap.
type Count struct {
	Hits  int64            `json:"hits"`
	Sum   int64            `json:"sum"`
	Users map[uint32]int64 `json:"users"`
	First Moment           `json:"first"`
	Last  Moment           `json:"last"`
}

// A Moment is a millisecond and the users of its events, ascending, each once. Which of
// these events comes first in the log depends on how the records spread over partitions.
type Moment struct {
	Stamp event.Time `json:"ts"`
	Users []uint32   `json:"users"`
}

// and returns the moment of both, which have the same stamp.
func (m Moment) and(o Moment) Moment {
	users := slices.Concat(m.Users, o.Users)
	slices.Sort(users)
	return Moment{m.Stamp, slices.Compact(users)}
}

func (c *Count) merge(o *Count) {
	switch by := cmp.Compare(o.First.Stamp, c.First.Stamp); {
	case c.Hits == 0 || by < 0:
		c.First = o.First
	case by == 0:
		c.First = c.First.and(o.First)
	}
	switch by := cmp.Compare(o.Last.Stamp, c.Last.Stamp); {
	case c.Hits == 0 || by > 0:
		c.Last = o.Last
	case by == 0:
		c.Last = c.Last.and(o.Last)
	}
	c.Hits += o.Hits
	c.Sum += o.Sum
	for user, n := range o.Users {
		c.Users[user] += n
	}
}

// Merge adds a count to the one of a key, which need not be there yet. Counts of the same
// events must not be merged: their hits and sums add up.
func Merge[K comparable](counts map[K]*Count, key K, c *Count) {
	have := counts[key]
	if have == nil {
		have = &Count{Users: map[uint32]int64{}}
		counts[key] = have
	}
	have.merge(c)
}

// A Member is a person in a window.
type Member struct {
	Window event.Time `json:"window"`
	User   uint32     `json:"user"`
}

// A Place is the last position of a person in a window, in degrees. Two records
// of one person with the same stamp have the same position, so that the order
// of the log does not matter.
type Place struct {
	Stamp event.Time `json:"ts"`
	Lon   float64    `json:"lon"`
	Lat   float64    `json:"lat"`
}

// A Truth is the exact answer for all records that were added. The code is
// simple rather than small in memory: it keeps every id.
//
// It does not apply the cap on groups of a job (max_groups): the stream must
// have fewer groups. With Rules.Dedupe an id counts as seen for ever, while a
// job looks back one chunk. The generator repeats an id within 1,024 records,
// so the two agree if all records of a key go to one partition.
type Truth struct {
	Rules    Rules
	Outcomes Outcomes
	Counts   map[Group]*Count
	Places   map[Member]Place // locations only

	seen map[[16]byte]bool
}

// NewTruth returns an empty truth. It panics unless the window is positive.
func NewTruth(rules Rules) *Truth {
	if rules.Window <= 0 {
		panic(fmt.Sprintf("gen: a window of %d ms", rules.Window))
	}
	if rules.Precision == 0 {
		rules.Precision = 5
	}
	return &Truth{
		Rules:  rules,
		Counts: map[Group]*Count{},
		Places: map[Member]Place{},
		seen:   map[[16]byte]bool{},
	}
}

// Add counts a record under its outcome. Records must be added in the order in
// which they were made.
func (t *Truth) Add(r *Record) {
	switch {
	case r.Malformed, r.Stamp < 0, r.Stamp > maxStamp:
		t.Outcomes.Malformed++
		return
	case r.Stamp < r.Time-t.Rules.Lateness:
		t.Outcomes.Late++
		return
	case r.Stamp > r.Time+t.Rules.Skew:
		t.Outcomes.Future++
		return
	}
	isClick := r.Page > 0
	if isClick && t.Rules.Dedupe {
		if t.seen[r.ID] {
			t.Outcomes.Duplicate++
			return
		}
		t.seen[r.ID] = true
	}
	t.Outcomes.Valid++

	window := r.Stamp - r.Stamp%t.Rules.Window
	if isClick {
		t.count(Group{window, "/p/" + strconv.Itoa(int(r.Page))}, r)
		return
	}
	lon, lat := float64(r.Lon)/1e6, float64(r.Lat)/1e6
	t.count(Group{window, geohash(lon, lat, t.Rules.Precision)}, r)
	who := Member{window, r.User}
	if last, ok := t.Places[who]; !ok || r.Stamp >= last.Stamp {
		t.Places[who] = Place{r.Stamp, lon, lat}
	}
}

func (t *Truth) count(g Group, r *Record) {
	at := Moment{r.Stamp, []uint32{r.User}}
	Merge(t.Counts, g, &Count{Hits: 1, Sum: int64(r.User), Users: map[uint32]int64{r.User: 1}, First: at, Last: at})
}

// Groups returns all groups by window and name.
func (t *Truth) Groups() []Group {
	return slices.SortedFunc(maps.Keys(t.Counts), func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Window, b.Window), cmp.Compare(a.Name, b.Name))
	})
}

// Members returns all members that have a place, by window and id.
func (t *Truth) Members() []Member {
	return slices.SortedFunc(maps.Keys(t.Places), func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Window, b.Window), cmp.Compare(a.User, b.User))
	})
}

// geohash halves the map, by longitude and latitude in turn, and writes five
// halvings as a character.
func geohash(lon, lat float64, precision int) string {
	const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"
	west, east, south, north := -180.0, 180.0, -90.0, 90.0
	text := ""
	for i := range precision {
		c := 0
		for bit := range 5 {
			c *= 2
			if (i*5+bit)%2 == 0 {
				if middle := (west + east) / 2; lon >= middle {
					c, west = c+1, middle
				} else {
					east = middle
				}
			} else {
				if middle := (south + north) / 2; lat >= middle {
					c, south = c+1, middle
				} else {
					north = middle
				}
			}
		}
		text += alphabet[c : c+1]
	}
	return text
}
