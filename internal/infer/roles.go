package infer

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"weir/event"
)

// The roles are what a job makes of a field.
const (
	eventTime = iota
	longitude
	latitude
	eventID
	user
	amount
	group
)

// A choice has the fields of each role, the best first.
type choice [group + 1][]*field

const (
	groupValues = 50 // most that a group column should have
	maxScale    = 9  // most digits of an amount behind the point
)

func words(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) }

var (
	amountWords = words(`amount|price|revenue|total|cost|value|bytes|quantity|qty|` + levels)
	levelWords  = words(levels) // of which a sum says nothing
	totalWords  = words(`revenue|total|amount`)
	eventWords  = words(`^(uuid|id|guid)$|event_?id|message_?id|insert_?id|request_?id|[._]uuid$|^ce_id$`)
	groupWords  = words(`^(type|event|action|page|country|platform|app|site|name|status|category|kind|source|op|table|method|lang)$|type$|_type|event_?name|action|country|platform|page`)
	idWords     = words(`^(uuid|id|guid)$`)
	latWords    = words(`^(lat|latitude)$`)
	lonWords    = words(`^(lon|lng|long|longitude)$`)
	timeWords   = words(`(^|[^a-z])(ts|at|time|timestamp|tstamp|date)$|timestamp|_ts$|time$|(?-i:At)$`)
	userWords   = words(`user|visitor|anonymous|customer|member|account|person|distinct_?id|device_?id|client_?id|player|driver|subject|^uid$`)
	laterWords  = words(`original|received|sent|arriv|ingest|process|collect|load|etl|server|publish`) // of the time at which something was done with the event
	noWords     = words(`a^`)
)

// levels are the words of amounts of which a sum says nothing.
const levels = `duration|latency|elapsed|_ms$|^ms$|score|speed|temperature`

// roles are the rules: a field gets the first role that it fits, if most of its values do. Of the fields of a role those
// whose names have the words come first, then the more frequent ones, and among these the ones with the
// words of tie.
var roles = [...]struct {
	words, tie *regexp.Regexp
	fits       func(x *field, events int) bool
	good       func(x *field, v event.Value) bool // whether a value of such a field fits
}{
	// Times in one unit, near that of their record, and half of the events have one.
	eventTime: {noWords, timeWords, func(x *field, events int) bool {
		return most(x.times[x.unit()], x.present) && 2*x.present >= events
	}, func(x *field, v event.Value) bool { _, ok := v.Time(units[x.unit()]); return ok }},
	longitude: {noWords, noWords, named(lonWords), degrees(180)},
	latitude:  {noWords, noWords, named(latWords), degrees(85)}, // as far as geohashes go
	// Another one in nearly each event, and not one of a user, unless the field itself is named like both.
	eventID: {noWords, noWords, func(x *field, events int) bool {
		return eventWords.MatchString(x.last()) && (!userWords.MatchString(x.whose()) || x.whose() == x.last()) && most(len(x.values), events)
	}, isID},
	user: {words(`^user(_?id)?$`), noWords, func(x *field, _ int) bool {
		return userWords.MatchString(x.whose()) && len(x.values) > 1
	}, isID},
	amount: {totalWords, noWords, named(amountWords), func(_ *field, v event.Value) bool { _, ok := amountDigits(v); return ok }},
	group: {groupWords, noWords, func(x *field, events int) bool {
		few := len(x.values) > 1 && len(x.values) <= groupValues && 4*len(x.values) <= events && 2*x.present >= events
		return few && (most(x.of(event.String, event.Bool), x.present) || groupWords.MatchString(x.last()))
	}, func(*field, event.Value) bool { return true }},
}

// named fits fields whose names have some words.
func named(words *regexp.Regexp) func(*field, int) bool {
	return func(x *field, _ int) bool { return words.MatchString(x.last()) }
}

// degrees are numbers of at most so many.
func degrees(limit float64) func(*field, event.Value) bool {
	return func(_ *field, v event.Value) bool {
		n, ok := v.Float()
		return ok && n >= -limit && n <= limit
	}
}

func isID(_ *field, v event.Value) bool { return v.Type != event.Bool }

// amountDigits returns how many digits an amount has behind the point. ok is false for another value.
func amountDigits(v event.Value) (digits int, ok bool) {
	n, ok := v.Float()
	_, behind, _ := bytes.Cut(v.Bytes, []byte("."))
	return len(behind), ok && len(behind) <= maxScale && n < 1e9 && n > -1e9 && !bytes.ContainsAny(v.Bytes, "eE")
}

// judge notes which values of a field are not good for a role, and reports whether most are.
func (e *events) judge(x *field, good func(*field, event.Value) bool) bool {
	x.bad, x.odd = x.types[event.Composite], nil
	for _, o := range e.fields {
		if inside(o.path, x.path) { // some have an object there
			x.bad = max(x.bad, x.types[event.Composite]+o.present)
		}
	}
	for text, n := range x.values {
		v := event.Value{Type: event.String, Bytes: []byte(text)}
		if x.types[event.Bool] > 0 && (text == "true" || text == "false") {
			v.Type = event.Bool
		}
		if !good(x, v) {
			x.bad, x.odd = x.bad+n, append(x.odd, text)
		}
	}
	slices.Sort(x.odd)
	return most(x.present-x.bad, x.present)
}

// choose gives each field its role.
func (e *events) choose() (c choice) {
	for _, x := range e.fields {
		for i, r := range roles {
			if x.present > 0 && !x.overlaps(e.fields) && r.fits(x, e.Events) && e.judge(x, r.good) {
				c[i] = append(c[i], x)
				break
			}
		}
	}
	for i, r := range roles {
		rank := func(x *field) []int {
			present := x.present
			if most(present, e.Events) {
				present = e.Events
			}
			return []int{truth(r.words.MatchString(x.last())), present, truth(x.inEvent()), -truth(i == eventTime && laterWords.MatchString(x.last())), truth(r.tie.MatchString(x.last())), -strings.Count(x.path, ".")}
		}
		slices.SortStableFunc(c[i], func(a, b *field) int { return slices.Compare(rank(b), rank(a)) })
	}
	return c
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unit returns the index of the unit in which most values are times.
func (x *field) unit() int { return slices.Index(x.times[:], slices.Max(x.times[:])) }

// whose returns the last key of a path, and for an id within an object the name of that too:
// visitor_id for visitor.id.
func (x *field) whose() string {
	last, above := x.last(), strings.TrimRight(x.parent(), ".")
	if !idWords.MatchString(last) || above == "" {
		return last
	}
	return above[strings.LastIndexAny(above, ".:")+1:] + "_" + last
}

// position returns two fields beside each other, in the same events; nil if there are none.
func (c *choice) position() (lon, lat *field) {
	for _, lat := range c[latitude] {
		for _, lon := range c[longitude] {
			if lon.parent() == lat.parent() && most(min(lon.present, lat.present), max(lon.present, lat.present)) {
				return lon, lat
			}
		}
	}
	return nil, nil
}
