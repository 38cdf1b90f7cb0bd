package infer

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"weir/event"
)

// A role is what a job makes of a field.
type role int

const (
	eventTime role = iota
	anyTime        // no time of the event, but one by its type
	longitude
	latitude
	eventID
	user
	amount
	group
)

// A choice has the fields of each role, the best first.
type choice map[role][]*Field

const (
	groupValues = 50 // most that a group column should have
	maxScale    = 9  // most digits of an amount behind the point
)

func words(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) }

var (
	amountWords = words(`amount|price|revenue|total|cost|value|duration|latency|elapsed|bytes|quantity|qty|_ms$|^ms$|score`)
	eventWords  = words(`^(uuid|id|guid)$|event_?id|message_?id|insert_?id|request_?id|[._]uuid$|ce_id$`)
	groupWords  = words(`^(type|event|action|page|country|platform|app|site|name|status|category|kind|source|op|table|method|lang)$|type$|_type|event_?name|action|country|platform|page`)
	idWords     = words(`^(uuid|id|guid)$`)
	latWords    = words(`^(lat|latitude)$`)
	lonWords    = words(`^(lon|lng|long|longitude)$`)
	userWords   = words(`user|visitor|anonymous|customer|member|account|person|distinct_?id|device_?id|client_?id|player|subject|^uid$`)
)

// roles are the rules: a field gets the first role that it fits. Of the fields of a role those whose names have
// the words come first, then the more frequent ones, and among these the ones with the
// words of tie.
var roles = []struct {
	role       role
	words, tie *regexp.Regexp
	fits       func(x *Field, events int) bool
}{
	{eventTime, nil, words(`(^|[^a-z])(ts|at|time|timestamp|tstamp|date)$|timestamp|_ts$|time$|(?-i:At)$`), (*Field).isTime},
	{anyTime, nil, nil, func(x *Field, _ int) bool { return x.declared }},
	{longitude, nil, nil, func(x *Field, _ int) bool { return x.isDegrees(lonWords, 180) }},
	{latitude, nil, nil, func(x *Field, _ int) bool { return x.isDegrees(latWords, 85) }}, // as far as geohashes go
	{eventID, nil, nil, func(x *Field, events int) bool {
		// Another one in each event, and not one of a user, unless the field itself is named like both.
		return eventWords.MatchString(x.last()) && (!userWords.MatchString(x.whose()) || x.whose() == x.last()) &&
			len(x.values) == events && x.only(event.String, event.Number)
	}},
	{user, words(`^user(_?id)?$`), nil, func(x *Field, _ int) bool {
		return userWords.MatchString(x.whose()) && len(x.values) > 1 && x.only(event.String, event.Number)
	}},
	{amount, nil, nil, func(x *Field, _ int) bool {
		return amountWords.MatchString(x.last()) && x.only(event.Number) && x.scale <= maxScale && x.max < 1e9 && x.min > -1e9
	}},
	{group, groupWords, nil, func(x *Field, events int) bool {
		few := len(x.values) > 1 && len(x.values) <= groupValues && 4*len(x.values) <= events && 2*x.present >= events
		return few && (x.only(event.String, event.Bool) || x.kinds[event.Composite] == 0 && groupWords.MatchString(x.last()))
	}},
}

// choose gives each field its role.
func (f *Facts) choose() choice {
	c := choice{}
	for _, x := range f.fields {
		if x.present == 0 || x.overlaps(f.fields) {
			continue
		}
		for _, r := range roles {
			if r.fits(x, f.Events) {
				c[r.role] = append(c[r.role], x)
				break
			}
		}
	}
	for _, r := range roles {
		slices.SortStableFunc(c[r.role], func(a, b *Field) int {
			return cmp.Or(rank(r.words, a, b), cmp.Compare(b.present, a.present), trueFirst(a.inEvent(), b.inEvent()), trueFirst(a.declared, b.declared),
				rank(r.tie, a, b), cmp.Compare(strings.Count(a.path, "."), strings.Count(b.path, ".")))
		})
	}
	return c
}

// isTime reports whether nine in ten values are times in one unit, near that of their record, and
// half of the events have one. It notes the unit.
func (x *Field) isTime(events int) bool {
	for i, unit := range units {
		if n := x.times[i]; (!x.declared || x.unit == unit) && 10*n >= 9*x.present && 2*n >= events {
			x.unit = unit
			return true
		}
	}
	return false
}

// isDegrees reports whether a field has the name, and numbers of at most so many degrees.
func (x *Field) isDegrees(name *regexp.Regexp, most float64) bool {
	return name.MatchString(x.last()) && x.only(event.Number) && x.min >= -most && x.max <= most
}

// whose returns the last key of a path, and for an id within an object the name of that too:
// visitor_id for visitor.id.
func (x *Field) whose() string {
	last, above := x.last(), strings.TrimRight(x.parent(), ".")
	if !idWords.MatchString(last) || above == "" {
		return last
	}
	return above[strings.LastIndexAny(above, ".:")+1:] + "_" + last
}

// position returns two fields beside each other, in the same events; nil if there are none.
func (c choice) position() (lon, lat *Field) {
	for _, lat := range c[latitude] {
		for _, lon := range c[longitude] {
			if lon.parent() == lat.parent() && lon.present == lat.present {
				return lon, lat
			}
		}
	}
	return nil, nil
}

// rank puts fields first whose name has one of the words.
func rank(words *regexp.Regexp, a, b *Field) int {
	if words == nil {
		return 0
	}
	return trueFirst(words.MatchString(a.last()), words.MatchString(b.last()))
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
