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

	"weir/measures/face"
	httpserver "weir/serve/http"
	"weir/serve/live"
)

// An api asks the HTTP API of a running process, like its page.
type api struct {
	url, token string // of the process, and its bearer token; "": none
	client     http.Client
}

const apiTimeout = 5 * time.Second

func newAPI(url, token string) *api {
	return &api{url: strings.TrimSuffix(url, "/"), token: token, client: http.Client{Timeout: apiTimeout}}
}

// get asks one question. If the answer was made without ClickHouse, it is there, and the error says so.
func (a *api) get(ctx context.Context, path string, q url.Values, into any) error {
	at := a.url + "/api/v1/" + path + "?" + q.Encode()
	at = strings.TrimSuffix(at, "?")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	res, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %.200s", at, res.Status, body)
	}
	var told struct{ Partial string }
	if err := errors.Join(json.Unmarshal(body, into), json.Unmarshal(body, &told)); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if told.Partial != "" {
		return fmt.Errorf("%s: %.200s", at, told.Partial)
	}
	return nil
}

// A snapshot is what one look at a process brought.
type snapshot struct {
	httpserver.HealthReply
	jobs []boardJob
	err  error // why nothing was brought
}

// boardJob is what there is to see of a job.
type boardJob struct {
	httpserver.CatalogJob
	measure int // the groups are ordered by Measures[measure]
	people  httpserver.PeopleReply
	health  httpserver.JobHealth
	top     httpserver.TopReply
	failed  error // why people or groups are not known; nil: they are
}

const (
	boardGroups = 40
	boardLast   = 5 * time.Minute // how far back the groups go
)

// last returns how far back the groups of a job go: no further than a range of groups may.
func (j *boardJob) last() time.Duration {
	window := time.Duration(j.Window * float64(time.Second))
	return min(boardLast, (live.GroupsMost-1)*window) // the last window is not over yet
}

// look asks for everything about all jobs, or about only one. measures has the index of the measure to
// order the groups of a job by.
func (a *api) look(ctx context.Context, only string, measures map[string]int) (s snapshot) {
	var catalog httpserver.CatalogReply
	if s.err = a.get(ctx, "jobs", nil, &catalog); s.err == nil {
		s.err = a.get(ctx, "health", nil, &s.HealthReply)
	}
	for _, known := range catalog.Jobs {
		j := boardJob{CatalogJob: known}
		if s.err != nil || only != "" && j.Job != only {
			continue
		}
		if i := slices.IndexFunc(s.Jobs, func(h httpserver.JobHealth) bool { return h.Job == j.Job }); i >= 0 {
			j.health = s.Jobs[i]
		}
		for _, m := range j.Measures {
			if m.Shows == face.People {
				j.failed = a.get(ctx, "people", url.Values{"job": {j.Job}}, &j.people)
				break
			}
		}
		if len(j.By) > 0 && len(j.Measures) > 0 {
			j.measure = measures[j.Job] % len(j.Measures)
			q := url.Values{"job": {j.Job}, "measure": {j.Measures[j.measure].Name}, "last": {fmt.Sprintf("%ds", j.last()/time.Second)}, "n": {fmt.Sprint(boardGroups)}}
			if err := a.get(ctx, "top", q, &j.top); j.failed == nil {
				j.failed = err
			}
		}
		s.jobs = append(s.jobs, j)
	}
	if s.err == nil && only != "" && len(s.jobs) == 0 {
		s.err = &exit{exitUsage, fmt.Errorf("--job %s: the process at %s has no such job", only, a.url), ""}
	}
	return s
}
