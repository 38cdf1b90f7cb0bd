package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/serve/live"
)

// A board has what weir top and the table of weir up show. It asks the HTTP API of a
// running process, like the page, so the numbers are the same ones.
type board struct {
	url, token string // of the process, and its bearer token; "": none
	only       string // the job to show; "": any of them
	client     http.Client

	jobs    []boardJob
	shown   int // index of the job to show
	audit   *boardAudit
	at      time.Time // when the process answered last, by its clock
	failed  error     // of the last time; nil: it answered
	samples map[string][]sampled
	reached map[string]map[int32]boardPartition // of each job, how far its partitions were read in any answer
}

// boardJob is what there is to see of a job.
type boardJob struct {
	Job      string         `json:"job"`
	Window   float64        `json:"window_s"`
	By       []string       `json:"by"`
	Measures []boardMeasure `json:"measures"`

	measure int     // the groups are ordered by Measures[measure]
	rate    float64 // events per second; -1: not known
	people  []boardNumber
	health  boardHealth
	top     boardTop
	failed  error // why people or groups are not known; nil: they are
}

// last returns how far back the groups of a job go: no further than a range of groups may.
func (j *boardJob) last() time.Duration {
	window := time.Duration(j.Window * float64(time.Second))
	return min(boardLast, (live.GroupsMost-1)*window) // the last window is not over yet
}

type boardMeasure struct {
	Name  string     `json:"name"`
	Shows live.Shows `json:"shows"`
}

type boardNumber struct {
	Last     string          `json:"last"`
	Value    json.RawMessage `json:"value"`
	Error    float64         `json:"error"`
	Withheld bool            `json:"withheld"`
}

type boardHealth struct {
	Job        string            `json:"job"`
	State      string            `json:"state"`
	Trouble    []string          `json:"trouble"`
	Lag        int64             `json:"lag"`
	Records    map[string]uint64 `json:"records"`
	Events     map[string]uint64 `json:"events"` // of records that are arrays of events
	LastFlush  *time.Time        `json:"last_flush"`
	Partitions []boardPartition  `json:"partitions"`
}

type boardPartition struct {
	Partition int32     `json:"partition"`
	Next      int64     `json:"next"`
	Durable   int64     `json:"durable"`
	Since     time.Time `json:"since"`
}

type boardAudit struct {
	At         time.Time `json:"at"`
	Mismatches int       `json:"mismatches"`
}

type boardTop struct {
	Columns []string `json:"columns"`
	Groups  []struct {
		Group []string `json:"group"`
		boardNumber
	} `json:"groups"`
	Of int `json:"of"`
}

// outcomes returns how many events had which outcome. An event is a record, or an element of one.
func (h *boardHealth) outcomes() map[string]uint64 {
	if h.Events != nil {
		return h.Events
	}
	return h.Records
}

// A sampled is how many events of a job there were at a time.
type sampled struct {
	at     time.Time
	events float64
}

const (
	boardTimeout = 5 * time.Second
	boardSamples = 6 // a single second has no events now and then, and the next one those of both
	boardGroups  = 40
	boardLast    = 5 * time.Minute // the groups are those of so long
)

func newBoard(url, token, only string) *board {
	return &board{url: strings.TrimSuffix(url, "/"), token: token, only: only, client: http.Client{Timeout: boardTimeout}, samples: map[string][]sampled{}, reached: map[string]map[int32]boardPartition{}}
}

// An answer is what one look at the process brought.
type answer struct {
	jobs   []boardJob
	health struct {
		Now   time.Time     `json:"now"`
		Audit *boardAudit   `json:"audit"`
		Jobs  []boardHealth `json:"jobs"`
	}
	err error
}

// look asks the process. measures has the measure to order the groups by, for jobs for
// which it is not hits.
func (b *board) look(ctx context.Context, measures map[string]string) (a answer) {
	var catalog struct {
		Jobs []boardJob `json:"jobs"`
	}
	if a.err = b.get(ctx, "jobs", nil, &catalog); a.err != nil {
		return a
	}
	if a.err = b.get(ctx, "health", nil, &a.health); a.err != nil {
		return a
	}
	for _, j := range catalog.Jobs {
		if b.only != "" && j.Job != b.only {
			continue
		}
		if i := slices.IndexFunc(a.health.Jobs, func(h boardHealth) bool { return h.Job == j.Job }); i >= 0 {
			j.health = a.health.Jobs[i]
		}
		for i, m := range j.Measures {
			if m.Name == measures[j.Job] {
				j.measure = i
			}
		}
		if slices.ContainsFunc(j.Measures, func(m boardMeasure) bool { return m.Shows == live.People }) {
			var reply struct {
				Now []boardNumber `json:"now"`
			}
			j.failed = b.get(ctx, "people", url.Values{"job": {j.Job}}, &reply)
			j.people = reply.Now
		}
		if len(j.By) > 0 && len(j.Measures) > 0 {
			q := url.Values{"job": {j.Job}, "measure": {j.Measures[j.measure].Name}, "last": {fmt.Sprintf("%ds", j.last()/time.Second)}, "n": {fmt.Sprint(boardGroups)}}
			if err := b.get(ctx, "top", q, &j.top); j.failed == nil {
				j.failed = err
			}
		}
		a.jobs = append(a.jobs, j)
	}
	if b.only != "" && len(a.jobs) == 0 {
		a.err = &exit{exitUsage, fmt.Errorf("--job %s: the process at %s has no such job", b.only, b.url), ""}
	}
	return a
}

// get asks one question. If the answer was made without ClickHouse, it is there, and the error says so.
func (b *board) get(ctx context.Context, path string, q url.Values, into any) error {
	at := b.url + "/api/v1/" + path
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	if b.token != "" {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	res, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return err
	}
	var told struct{ Error, Partial string }
	if res.StatusCode != http.StatusOK {
		if json.Unmarshal(body, &told) != nil || told.Error == "" {
			told.Error = strings.TrimSpace(string(body))
		}
		return fmt.Errorf("%s: %s: %.200s", at, res.Status, told.Error)
	}
	if err := errors.Join(json.Unmarshal(body, into), json.Unmarshal(body, &told)); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if told.Partial != "" {
		return fmt.Errorf("%s: %.200s", at, told.Partial)
	}
	return nil
}

// measures returns the chosen measure of each job.
func (b *board) measures() map[string]string {
	chosen := map[string]string{}
	for _, j := range b.jobs {
		if len(j.Measures) > 0 {
			chosen[j.Job] = j.Measures[j.measure].Name
		}
	}
	return chosen
}

// take takes an answer in.
func (b *board) take(a answer) {
	if b.failed = a.err; a.err != nil {
		return
	}
	b.at, b.jobs, b.audit = a.health.Now, a.jobs, a.health.Audit
	b.shown = min(b.shown, max(0, len(b.jobs)-1))
	for i := range b.jobs {
		j := &b.jobs[i]
		all := b.samples[j.Job]
		now := sampled{b.at, b.fresh(j)}
		if n := len(all); n > 0 {
			now.events += all[n-1].events
		}
		all = append(all, now)
		all = all[max(0, len(all)-boardSamples):]
		b.samples[j.Job], j.rate = all, -1
		if passed := now.at.Sub(all[0].at); passed > 0 {
			j.rate = (now.events - all[0].events) / passed.Seconds()
		}
	}
}

// fresh returns how many events of a job are new: of offsets that no answer had reached before. What a process reads
// again after a kill is not new, and neither is what ClickHouse had already when the process got the partition.
func (b *board) fresh(j *boardJob) float64 {
	if b.reached[j.Job] == nil {
		b.reached[j.Job] = map[int32]boardPartition{}
	}
	offsets := int64(0)
	for _, p := range j.health.Partitions {
		before := b.reached[j.Job][p.Partition]
		at := before.Next
		if p.Durable < before.Durable { // of another topic, which was created in place of the one before
			at = p.Durable
		} else if !p.Since.Equal(before.Since) {
			at = max(at, p.Durable)
		}
		offsets += max(0, p.Next-at)
		p.Next = max(p.Next, at)
		b.reached[j.Job][p.Partition] = p
	}
	if j.health.Events == nil {
		return float64(offsets)
	}
	return float64(offsets) * total(j.health.Events) / max(1, total(j.health.Records))
}

func total(outcomes map[string]uint64) (sum float64) {
	for _, n := range outcomes {
		sum += float64(n)
	}
	return sum
}

// turn shows another job, the next one by 1 and the one before by -1.
func (b *board) turn(by int) {
	if n := len(b.jobs); n > 0 {
		b.shown = (b.shown + by + n) % n
	}
}

// order orders the groups of the shown job by its next measure that has a number.
func (b *board) order() {
	if len(b.jobs) == 0 {
		return
	}
	j := &b.jobs[b.shown]
	for range j.Measures {
		j.measure = (j.measure + 1) % len(j.Measures)
		switch j.Measures[j.measure].Shows {
		case live.Events, live.People, live.Quantity:
			return
		}
	}
}
