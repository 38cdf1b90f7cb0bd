package infer

import (
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
	amountWords = words(`amount|price|revenue|total|cost|value|duration|latency|elapsed|bytes|quantity|qty|_ms$|^ms$|score`)
	eventWords  = words(`^(uuid|id|guid)$|event_?id|message_?id|insert_?id|request_?id|[._]uuid$|ce_id$`)
	groupWords  = words(`^(type|event|action|page|country|platform|app|site|name|status|category|kind|source|op|table|method|lang)$|type$|_type|event_?name|action|country|platform|page`)
	idWords     = words(`^(uuid|id|guid)$`)
	latWords    = words(`^(lat|latitude)$`)
	lonWords    = words(`^(lon|lng|long|longitude)$`)
	timeWords   = words(`(^|[^a-z])(ts|at|time|timestamp|tstamp|date)$|timestamp|_ts$|time$|(?-i:At)$`)
	userWords   = words(`user|visitor|anonymous|customer|member|account|person|distinct_?id|device_?id|client_?id|player|subject|^uid$`)
	noWords     = words(`a^`)
)

// roles are the rules: a field gets the first role that it fits. Of the fields of a role those whose names have
// the words come first, then the more frequent ones, and among these the ones with the
// words of tie.
var roles = [...]struct {
	words, tie *regexp.Regexp
	fits       func(x *field, events int) bool
}{
	// Nine in ten values are times in one unit, near that of their record, and half of the events have one.
	eventTime: {noWords, timeWords, func(x *field, events int) bool {
		n := x.times[x.unit()]
		return 10*n >= 9*x.present && 2*n >= events
	}},
	longitude: {noWords, noWords, func(x *field, _ int) bool { return x.isDegrees(lonWords, 180) }},
	latitude:  {noWords, noWords, func(x *field, _ int) bool { return x.isDegrees(latWords, 85) }}, // as far as geohashes go
	// Another one in each event, and not one of a user, unless the field itself is named like both.
	eventID: {noWords, noWords, func(x *field, events int) bool {
		return eventWords.MatchString(x.last()) && (!userWords.MatchString(x.whose()) || x.whose() == x.last()) &&
			len(x.values) == events && x.only(event.String, event.Number)
	}},
	user: {words(`^user(_?id)?$`), noWords, func(x *field, _ int) bool {
		return userWords.MatchString(x.whose()) && len(x.values) > 1 && x.only(event.String, event.Number)
	}},
	amount: {noWords, noWords, func(x *field, _ int) bool {
		return amountWords.MatchString(x.last()) && x.only(event.Number) && x.scale <= maxScale && x.max < 1e9 && x.min > -1e9
	}},
	group: {groupWords, noWords, func(x *field, events int) bool {
		few := len(x.values) > 1 && len(x.values) <= groupValues && 4*len(x.values) <= events && 2*x.present >= events
		return few && (x.only(event.String, event.Bool) || x.types[event.Composite] == 0 && groupWords.MatchString(x.last()))
	}},
}

// choose gives each field its role.
func (e *events) choose() (c choice) {
	for _, x := range e.fields {
		for i, r := range roles {
			if x.present > 0 && !x.overlaps(e.fields) && r.fits(x, e.Events) {
				c[i] = append(c[i], x)
				break
			}
		}
	}
	for i, r := range roles {
		rank := func(x *field) []int {
			return []int{truth(r.words.MatchString(x.last())), x.present, truth(x.inEvent()), truth(r.tie.MatchString(x.last())), -strings.Count(x.path, ".")}
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

// isDegrees reports whether a field has the name, and numbers of at most so many degrees.
func (x *field) isDegrees(name *regexp.Regexp, most float64) bool {
	return name.MatchString(x.last()) && x.only(event.Number) && x.min >= -most && x.max <= most
}

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
			if lon.parent() == lat.parent() && lon.present == lat.present {
				return lon, lat
			}
		}
	}
	return nil, nil
}
