package infer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weir/event"
)

// Words that names of fields have.
var (
	timeWords   = regexp.MustCompile(`(?i)(^|[^a-z])(ts|at|time|timestamp|tstamp|date)$|timestamp|_ts$|time$|At$`)
	userWords   = regexp.MustCompile(`(?i)user|visitor|anonymous|customer|member|account|person|distinct_?id|device_?id|client_?id|player|subject|^uid$`)
	knownWords  = regexp.MustCompile(`(?i)^user_?id$|^user$`)
	eventWords  = regexp.MustCompile(`(?i)^(uuid|id|guid)$|event_?id|message_?id|insert_?id|request_?id|[._]uuid$|ce_id$`)
	groupWords  = regexp.MustCompile(`(?i)^(type|event|action|page|country|platform|app|site|name|status|category|kind|source|op|table|method|lang)$|type$|_type|event_?name|action|country|platform|page`)
	amountWords = regexp.MustCompile(`(?i)amount|price|revenue|total|cost|value|duration|latency|elapsed|bytes|quantity|qty|_ms$|^ms$|score`)
	lonWords    = regexp.MustCompile(`(?i)(^|[._])(lon|lng|long|longitude)$`)
	latWords    = regexp.MustCompile(`(?i)(^|[._])(lat|latitude)$`)
)

// Most that a group column should have, as a share of the records and in all.
const (
	groupValues = 50
	maxBy       = 2
	maxAmounts  = 2
)

// A choice is what the job makes of the fields.
type choice struct {
	time          *Field // nil: that of the record
	unit          event.Unit
	times         []string // other candidates, in words
	by, otherBy   []*Field
	id            *Field
	users         []*Field // the first that is there counts
	lon, lat      *Field
	amounts       []*Field
	otherCounters []*Field
}

// choose chooses the fields of the job.
func (f *Facts) choose() choice {
	var c choice
	taken := map[*Field]bool{}
	f.chooseTime(&c, taken)
	f.choosePosition(&c, taken)
	f.chooseOthers(&c, taken)
	return c
}

// chooseTime chooses the time of the event among the fields of which nine in ten values are
// times in one unit.
func (f *Facts) chooseTime(c *choice, taken map[*Field]bool) {
	type timed struct {
		field *Field
		unit  event.Unit
		hits  int
	}
	var times []timed
	for _, field := range f.Fields {
		if field.overlaps(f.Fields) {
			continue
		}
		for i, unit := range units {
			if field.isTime && field.unit != unit {
				continue
			}
			if n := field.times[i]; 10*n >= 9*field.Present && 2*n >= f.Events {
				times = append(times, timed{field, unit, n})
				break
			}
		}
	}
	slices.SortStableFunc(times, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.hits, a.hits), trueFirst(a.field.inEvent(), b.field.inEvent()), trueFirst(a.field.isTime, b.field.isTime), rank(timeWords, a.field, b.field), byDepth(a.field, b.field))
	})
	for i, t := range times {
		taken[t.field] = true
		if i == 0 {
			c.time, c.unit = t.field, t.unit
		} else {
			c.times = append(c.times, fmt.Sprintf("%s (%v)", printable(event.PathText(t.field.Path)), t.unit))
		}
	}
}

// choosePosition chooses two numbers beside each other that are named and bounded as degrees are.
func (f *Facts) choosePosition(c *choice, taken map[*Field]bool) {
	for _, lat := range f.degrees(latWords, 85) { // as far as geohashes go
		for _, lon := range f.degrees(lonWords, 180) {
			if lon.parent() == lat.parent() && lon.Present == lat.Present {
				c.lon, c.lat = lon, lat
				taken[lon], taken[lat] = true, true
				return
			}
		}
	}
}

// degrees returns the fields with a name whose values are all numbers of at most so many degrees.
func (f *Facts) degrees(name *regexp.Regexp, most float64) (all []*Field) {
	for _, field := range f.Fields {
		if name.MatchString(field.Path) && field.Present > 0 && field.Numbers == field.Present && field.Min >= -most && field.Max <= most && !field.overlaps(f.Fields) {
			all = append(all, field)
		}
	}
	return all
}

// chooseOthers chooses the id of the event, users, amounts and groups among the fields that are not taken.
func (f *Facts) chooseOthers(c *choice, taken map[*Field]bool) {
	for _, field := range f.Fields {
		if taken[field] || field.isTime || field.Present == 0 || field.Others > 0 || field.overlaps(f.Fields) {
			continue
		}
		user := userWords.MatchString(field.whose()) // also if each of them came once, as the id of an event does
		ids := field.Texts+field.Numbers == field.Present
		distinct := len(field.Values)
		switch {
		case c.id == nil && f.namesEvents(field, user):
			c.id = field
		case user && ids && distinct > 1:
			c.users = append(c.users, field)
		case field.Numbers == field.Present && field.Scale >= 0 && field.Scale <= 9 && amountWords.MatchString(field.last()) && field.Max < 1e9 && field.Min > -1e9:
			c.amounts = append(c.amounts, field)
		case distinct > 1 && distinct <= groupValues && 4*distinct <= f.Events && 2*field.Present >= f.Events && (field.Texts+field.Bools == field.Present || groupWords.MatchString(field.last())):
			c.by = append(c.by, field)
		}
	}
	slices.SortStableFunc(c.by, func(a, b *Field) int {
		return cmp.Or(rank(groupWords, a, b), cmp.Compare(b.Present, a.Present), byDepth(a, b))
	})
	if len(c.by) > maxBy {
		c.by, c.otherBy = c.by[:maxBy], c.by[maxBy:]
	}
	// A known user counts as such; the further fields stand in where it is missing.
	slices.SortStableFunc(c.users, func(a, b *Field) int {
		return cmp.Or(rank(knownWords, a, b), cmp.Compare(b.Present, a.Present))
	})
	if len(c.users) > 0 && c.users[0].Present == f.Events {
		c.users, c.otherCounters = c.users[:1], c.users[1:]
	} else if len(c.users) > 2 {
		c.users, c.otherCounters = c.users[:2], c.users[2:]
	}
	if len(c.amounts) > maxAmounts {
		c.amounts = c.amounts[:maxAmounts]
	}
}

// namesEvents reports whether a field is the id of the event: another one in each of them, and
// not of a user, unless the field itself is named like both.
func (f *Facts) namesEvents(field *Field, user bool) bool {
	return eventWords.MatchString(field.last()) && !(user && field.whose() != field.last()) && len(field.Values) == f.Events && field.Texts+field.Numbers == f.Events
}

// rank puts fields first whose name has one of the words.
func rank(words *regexp.Regexp, a, b *Field) int {
	return trueFirst(words.MatchString(a.last()), words.MatchString(b.last()))
}

func trueFirst(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// byDepth orders fields by the number of keys that their paths have.
func byDepth(a, b *Field) int {
	return cmp.Compare(strings.Count(a.Path, "."), strings.Count(b.Path, "."))
}

// last returns the last key of a path.
func (f *Field) last() string {
	if f.Path == "key:" {
		return "key"
	}
	return f.Path[strings.LastIndexAny(f.Path, ".:")+1:]
}

var idWords = regexp.MustCompile(`(?i)^(uuid|id|guid)$`)

// whose returns the last key of a path, and for an id within an object the name of that too:
// visitor_id for visitor.id.
func (f *Field) whose() string {
	last := f.last()
	above := strings.TrimRight(f.parent(), ".")
	if !idWords.MatchString(last) || above == "" {
		return last
	}
	return above[strings.LastIndexAny(above, ".:")+1:] + "_" + last
}

// parent returns the path without its last key.
func (f *Field) parent() string { return strings.TrimSuffix(f.Path, f.last()) }

// overlaps reports whether the path is also that of an object, which one job cannot read as
// both.
func (f *Field) overlaps(all []*Field) bool {
	return slices.ContainsFunc(all, func(o *Field) bool {
		return o.Present+o.Null > 0 && (strings.HasPrefix(o.Path, f.Path+".") || strings.HasPrefix(o.Path, f.Path+"[") || strings.HasPrefix(f.Path, o.Path+".") || strings.HasPrefix(f.Path, o.Path+"["))
	})
}
