package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/spelling"
	"weir/measures/face"
	"weir/serve/key"
	"weir/serve/live"
)

// A call asks the API a question: a path below /api/v1/ with parameters. A GET and a stream
// get the same answer to a call.
type call struct {
	path string
	url.Values
}

// parseCall reads a call in the form that a stream has: a path, ? and parameters.
func parseCall(text string) (call, error) {
	path, parameters, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(parameters)
	return call{path, values}, err
}

// id is the same for equal calls.
func (q call) id() string { return q.path + "?" + q.Encode() }

// An endpoint answers the questions of one path.
type endpoint struct {
	parameters []string // all names; a name that ends in a dot begins one
	// asked reads a question about a measure; nil: the path has no such questions.
	asked  func(q call) (asking, error)
	answer func(ctx context.Context, a asking) (any, error)
}

// endpoints returns the endpoints of the paths that a stream can ask too.
func (s *Server) endpoints() map[string]endpoint {
	choice := []string{"job", "measure", "last", "from", "until", "by."}
	with := func(names ...string) []string { return append(slices.Clone(choice), names...) }
	return map[string]endpoint{
		"jobs":         {nil, nil, s.catalog},
		"people":       {[]string{"job", "measure", "by."}, s.askedPeople, s.people},
		"series":       {with("step", "level"), s.askedSeries, s.series},
		"top":          {with("column", "n", "level"), s.askedTop, s.top},
		"list":         {choice, s.askedList, s.list},
		"heat":         {with("precision", "within"), s.askedHeat, s.heat},
		"positions":    {with("near", "radius", "box", "n"), s.askedPositions, s.positions},
		"returning":    {[]string{"job", "measure", "step", "n", "by."}, s.askedReturning, s.returning},
		"retention":    {[]string{"job", "measure", "unit", "zone", "n", "by."}, s.askedRetention, s.ofIDs(s.retention)},
		"sessions":     {with("gap", "step"), s.askedSessions, s.ofIDs(s.sessions)},
		"funnel":       {[]string{"job", "steps", "last", "from", "until"}, s.askedFunnel, s.ofIDs(s.funnel)},
		"health":       {nil, nil, s.health},
		"dead-letters": {[]string{"job", "n"}, nil, s.deadLetters},
		"explain":      {[]string{"of"}, nil, s.explain},
	}
}

// api answers GETs of a path of endpoints.
func (s *Server) api(path string) http.Handler {
	e := s.endpoints()[path]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		code := http.StatusOK
		values, err := parametersOf(r)
		if err == nil {
			err = s.inTime(r.Context(), func(ctx context.Context) (err error) {
				answer, err = e.ask(ctx, call{path, values})
				return err
			})
		}
		if err != nil {
			answer, code = failure{err.Error()}, statusOf(err)
		}
		send(w, code, answer)
	})
}

// send sends an answer as JSON. What JSON cannot have, such as a time after the year 9999, is a fault
// of weir: the client gets an error, and not an empty answer.
func send(w http.ResponseWriter, code int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		code = http.StatusInternalServerError
		text, _ = json.Marshal(failure{err.Error()})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n')) // an error means that the client has disconnected
}

// parametersOf reads the parameters of a request. It is an error if one of them cannot be
// read: left out, the answer would be one to another question.
func parametersOf(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errQuestion, err)
	}
	return values, nil
}

// A failure is the answer to a question that has none.
type failure struct {
	Error string `json:"error"`
}

// errQuestion is wrapped by errors about a parameter, errPrivate by those about what fewer
// people than k are in.
var (
	errQuestion = errors.New("not a question")
	errPrivate  = errors.New("http.k")
)

// statusOf returns the status code of the answer to a question that failed.
func statusOf(err error) int {
	var malformed *key.SyntaxError
	var unknown *key.UnknownError
	switch {
	case errors.As(err, &unknown):
		return http.StatusNotFound
	case errors.As(err, &malformed), errors.Is(err, key.ErrQuestion), errors.Is(err, errQuestion):
		return http.StatusBadRequest
	case errors.Is(err, errPrivate):
		return http.StatusForbidden
	}
	return http.StatusBadGateway // ClickHouse did not answer
}

// ask answers a question of the endpoint's path.
func (e *endpoint) ask(ctx context.Context, q call) (any, error) {
	a, err := e.read(q)
	if err != nil {
		return nil, err
	}
	answer, err := e.answer(ctx, a)
	if r, may := answer.(interface{ unknown() error }); err == nil && may {
		err = r.unknown()
	}
	return answer, err
}

// read reads a question of the endpoint's path.
func (e *endpoint) read(q call) (asking, error) {
	if err := e.check(q); err != nil || e.asked == nil {
		return asking{call: q}, err
	}
	return e.asked(q)
}

// unknown returns an error in place of an answer without ClickHouse, for the reason partial, that has found
// nothing: it would be taken for "none".
func unknown(partial string, found bool) error {
	if partial == "" || found {
		return nil
	}
	return fmt.Errorf("ClickHouse did not answer, so it is not known whether there is anything; ask again when it answers: %s", partial)
}

// check returns an error if the endpoint does not have a parameter of the question, or if it is
// given twice.
func (e *endpoint) check(q call) error {
	for _, name := range slices.Sorted(maps.Keys(q.Values)) {
		known := slices.ContainsFunc(e.parameters, func(p string) bool {
			return name == p || strings.HasSuffix(p, ".") && strings.HasPrefix(name, p)
		})
		switch {
		case !known:
			hint := ""
			if near := spelling.Nearest(name, e.parameters); near != "" {
				hint = "; is it " + near + "?"
			}
			return fmt.Errorf("%w: %s has no parameter %.64q%s", errQuestion, q.path, name, hint)
		case len(q.Values[name]) > 1:
			return fmt.Errorf("%w: %.64s is given %d times", errQuestion, name, len(q.Values[name]))
		}
	}
	return nil
}

// job returns the job that the parameter job names, or the only one.
func (s *Server) job(q call) (live.Description, error) {
	all := s.Windows.Jobs()
	name := q.Get("job")
	if name == "" && len(all) == 1 {
		return all[0], nil
	}
	var names []string
	for _, d := range all {
		if d.Job == name {
			return d, nil
		}
		names = append(names, d.Job)
	}
	if name == "" {
		return live.Description{}, fmt.Errorf("%w: which job? there is %s", errQuestion, strings.Join(names, ", "))
	}
	return live.Description{}, key.Unknown("no job", name, names)
}

// measure returns the measure that the parameter of that name names. If it is left out,
// it is the first one that shows one of wanted.
func measure(q call, job live.Description, wanted ...face.Shows) (live.Described, error) {
	name := q.Get("measure")
	var names []string
	for _, m := range job.Measures {
		fits := slices.Contains(wanted, m.Kind.Shows)
		if m.Name == name || name == "" && fits {
			if !fits {
				return m, fmt.Errorf("%w: %s asks for no measure of kind %s", errQuestion, q.path, m.Kind.Name)
			}
			return m, nil
		}
		if fits {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return live.Described{}, fmt.Errorf("%w: job %s has no measure that %s can show", errQuestion, job.Job, q.path)
	}
	return live.Described{}, key.Unknown("job "+job.Job+" has no measure", name, names)
}

// A span is the windows of a question, which start in [From, Until).
type span struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// over returns the windows that a question asks for: those that overlap the time `last`
// before now, such as 5m, those since midnight UTC of `last=today`, or those from `from`
// until `until`, in RFC 3339. Without any, it is the last hour.
func (s *Server) over(q call, job live.Description) (span, error) {
	now := s.Windows.Now().UTC()
	if from := q.Get("from"); from != "" {
		if q.Get("last") != "" {
			return span{}, fmt.Errorf("%w: both from and last; give one", errQuestion)
		}
		first, err := moment("from", from)
		if err != nil {
			return span{}, err
		}
		end := now
		if until := q.Get("until"); until != "" {
			if end, err = moment("until", until); err != nil {
				return span{}, err
			}
		}
		if !first.Before(end) {
			return span{}, fmt.Errorf("%w: the range ends before it begins", errQuestion)
		}
		return span{align(first, job.Window), align(end.Add(job.Window-1), job.Window)}, nil
	}
	if q.Get("until") != "" {
		return span{}, fmt.Errorf("%w: until without from", errQuestion)
	}
	return lately(q.Get("last"), now, job.Window)
}

// lately returns the windows that overlap the time `last` before now.
func lately(last string, now time.Time, window time.Duration) (span, error) {
	until := align(now, window).Add(window)
	switch last {
	case "today":
		return span{align(now.Truncate(24*time.Hour), window), until}, nil
	case "":
		last = "1h"
	}
	d, err := duration("last", last)
	if err != nil {
		return span{}, err
	}
	return span{align(now.Add(-d), window), until}, nil
}

// align returns the start of the window at a time.
func align(t time.Time, window time.Duration) time.Time {
	ms, size := t.UnixMilli(), window.Milliseconds()
	return time.UnixMilli(ms - ms%size).UTC()
}

func moment(name, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC()
	if err != nil || t.Year() < 1970 || t.Year() > 2105 {
		return t, fmt.Errorf("%w: %s=%.40s; want a time of 1970 to 2105 such as 2026-11-20T12:00:00Z", errQuestion, name, text)
	}
	return t, nil
}

// longest is the longest duration that a question may name.
const longest = 400 * 24 * time.Hour

// duration reads a duration: a whole number and s, m, h or d.
func duration(name, text string) (time.Duration, error) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	if len(text) > 1 {
		unit := units[text[len(text)-1]]
		if n, err := strconv.ParseUint(text[:len(text)-1], 10, 32); err == nil && n > 0 && unit > 0 && time.Duration(n) <= longest/unit {
			return time.Duration(n) * unit, nil
		}
	}
	return 0, fmt.Errorf("%w: %s=%.40s; want a duration up to 400d, such as 60s, 30m, 12h or 7d", errQuestion, name, text)
}

// whole reads a number from 1 to most, which is missing unless it is given.
func whole(q call, name string, missing, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%w: %s=%.40s; want a number from 1 to %d", errQuestion, name, text, most)
	}
	return n, nil
}

// groups returns what the parameters by.COLUMN choose, and whether that is anything.
func groups(q call, job live.Description) (group [][]byte, chosen bool, err error) {
	group = make([][]byte, len(job.By))
	for name := range q.Values {
		column, is := strings.CutPrefix(name, "by.")
		if !is {
			continue
		}
		i := slices.Index(job.By, column)
		if i < 0 {
			return nil, false, key.Unknown("job "+job.Job+" has no group column", column, job.By)
		}
		group[i], chosen = []byte(q.Get(name)), true
	}
	return group, chosen, nil
}

// asked reads what most questions have: job, measure, windows and group.
func (s *Server) asked(q call, wanted ...face.Shows) (a asking, err error) {
	a.call = q
	if a.job, err = s.job(q); err != nil {
		return a, err
	}
	if a.measure, err = measure(q, a.job, wanted...); err != nil {
		return a, err
	}
	if a.span, err = s.over(q, a.job); err != nil {
		return a, err
	}
	if a.level, err = level(q); err != nil {
		return a, err
	}
	a.group, a.chosen, err = groups(q, a.job)
	return a, err
}

// level reads the parameter of that name, a share; 0.95 unless it is given.
func level(q call) (float64, error) {
	text := q.Get("level")
	if text == "" {
		return 0.95, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, fmt.Errorf("%w: level=%.40s; want a share from 0 to 1, such as 0.95", errQuestion, text)
	}
	return f, nil
}

// An asking is what a question asks for.
type asking struct {
	call
	job     live.Description
	measure live.Described
	span
	group  [][]byte
	chosen bool    // whether some groups were chosen, and not all
	level  float64 // of a distribution, the share of its numbers below the one asked for

	own     Statement                             // what only questions of its path have: see statement
	columns []int                                 // of top
	find    func(value any) ([]live.Place, error) // of positions
}

// statement returns the asking as its sink takes it.
func (a *asking) statement() Statement {
	st := a.own
	st.about(a.query(a.measure.Name))
	return st
}

// query returns the form of an asking that package live takes, about a measure.
func (a *asking) query(measure string) live.Query {
	return live.Query{Job: a.job.Job, Measure: measure, From: a.From, Until: a.Until, Group: a.group}
}

// of describes what an answer is about, for the client.
func (a *asking) of() about {
	return about{Job: a.job.Job, Measure: a.measure.Name, Kind: a.measure.Kind.Name, Shows: a.measure.Kind.Shows, span: a.span}
}

// about is the beginning of an answer.
type about struct {
	Job     string     `json:"job"`
	Measure string     `json:"measure"`
	Kind    string     `json:"kind"`
	Shows   face.Shows `json:"shows"`
	span
}

// A number is one value with its error.
type number struct {
	Value any `json:"value"` // null: Withheld, or there is no number; counts and sums of nothing are 0
	// Error is the standard error, in the unit of the value; of a quantile it is half of the
	// greatest error. 0: the value is exact.
	Error    float64 `json:"error"`
	Withheld bool    `json:"withheld,omitempty"` // fewer than http.k people
}

// number returns the number of an answer's value.
func (a *asking) number(value any) number {
	kind := a.measure.Kind
	var n number
	if kind.Level != nil {
		n.Value = kind.Level(value, a.level)
	} else {
		n.Value = kind.Number(value)
	}
	n.Error = a.margin(n.Value)
	return n
}

// margin returns the error of a number's value.
func (a *asking) margin(value any) float64 {
	switch f, kind := size(value), a.measure.Kind; {
	case kind.Level != nil:
		return round(math.Abs(f) * a.measure.Error / 2)
	case kind.Spread != nil:
		return round(kind.Spread(f))
	}
	return 0
}

// round leaves two digits behind the point, or of less than 1 the first two that are not 0: an
// error that is 0 says that a number is exact.
func round(f float64) float64 {
	format := byte('f')
	if math.Abs(f) < 1 {
		format = 'g'
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, format, 2, 64), 64)
	if err != nil {
		return f
	}
	return r
}

// made says how old an answer is, and what it lacks.
type made struct {
	AsOf    time.Time `json:"as_of"`
	Partial string    `json:"partial,omitempty"` // why it lacks what ClickHouse holds
	found   bool      // there is something to tell
}

func (m made) unknown() error { return unknown(m.Partial, m.found) }

// add takes in that an answer was used, and whether anything was found in it.
func (m *made) add(a live.Answer, found bool) {
	m.found = m.found || found
	if m.AsOf.IsZero() || a.AsOf.Before(m.AsOf) {
		m.AsOf = a.AsOf.UTC()
	}
	if m.Partial == "" {
		m.Partial = a.Partial
	}
}
