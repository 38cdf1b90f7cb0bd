// Package viewers has clients that look at the page of a weir process: each has one stream
// of server-sent events open, with the questions that the page asks when it is opened.
package viewers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Questions are those of the page about the jobs clicks and locations of the benchmarks,
// with a range of an hour, if clicks has no measure that knows people again. The first one,
// people now, is that which is timed.
var Questions = []string{
	"people?job=clicks&measure=users",
	"series?job=clicks&measure=hits&last=1h",
	"series?job=clicks&measure=users&last=1h",
	"heat?job=locations&measure=places&last=1h",
	"top?job=clicks&measure=hits&column=page&n=12&last=1h",
	"health",
	"dead-letters?n=50",
}

// Again are those that the page asks besides if clicks has a bitmap active.
var Again = []string{
	"returning?job=clicks&measure=active&step=60s&n=8",
	"sessions?job=clicks&measure=active&gap=1800s&last=1h",
}

// Seen is what viewers saw.
type Seen struct {
	First   []time.Duration // for each stream: from its request to the last of the first answers to all questions
	Gaps    []time.Duration // between two answers to the first question
	Refused int             // streams that had to wait for a place, or were refused
}

// At returns the duration below which a share of all durations lies.
func At(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[int(share*float64(len(all)-1))]
}

// Watch has n viewers ask the process that answers HTTP at host:port, until ctx ends. They
// connect within a second. One that is refused or loses its stream tries again, as a
// browser does.
func Watch(ctx context.Context, address string, n int, questions []string) (seen Seen, err error) {
	var mu sync.Mutex
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	to := "http://" + address + "/api/v1/stream?" + query(questions)
	var all errgroup.Group
	for i := range n {
		all.Go(func() error {
			pause := time.Second * time.Duration(i) / time.Duration(n)
			for wait(ctx, pause) {
				s, err := look(ctx, client, to, len(questions))
				mu.Lock()
				seen.First, seen.Gaps, seen.Refused = append(seen.First, s.First...), append(seen.Gaps, s.Gaps...), seen.Refused+s.Refused
				mu.Unlock()
				var away *net.OpError // the process does not listen yet, or has ended
				if err != nil && ctx.Err() == nil && !errors.As(err, &away) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					return err
				}
				if pause = time.Second; s.Refused > 0 {
					pause = 5 * time.Second
				}
			}
			return nil
		})
	}
	return seen, all.Wait()
}

func query(questions []string) string {
	q := url.Values{"ask": questions}
	return q.Encode()
}

// wait returns false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// look reads one stream to its end. An answer other than 200 is an error.
func look(ctx context.Context, client *http.Client, to string, questions int) (s Seen, err error) {
	began := time.Now()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return s, err
	}
	res, err := client.Do(r)
	if err != nil {
		return s, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable:
		s.Refused++
		return s, nil
	default:
		return s, fmt.Errorf("%s: %s", to, res.Status)
	}
	answered := map[string]bool{}
	var last time.Time
	lines := bufio.NewReaderSize(res.Body, 64<<10)
	event := ""
	for {
		line, err := lines.ReadSlice('\n')
		text := string(line[:min(len(line), 64)])
		for errors.Is(err, bufio.ErrBufferFull) { // the end of a long answer is not looked at
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return s, err
		}
		switch {
		case strings.HasPrefix(text, "event: "):
			event = strings.TrimSpace(text[len("event: "):])
		case !strings.HasPrefix(text, "data: "):
		case !strings.HasPrefix(text, `data: {"status":200,`):
			return s, fmt.Errorf("%s: the answer to %s begins with %q", to, event, text)
		default:
			now := time.Now()
			if answered[event] = true; len(answered) == questions && len(s.First) == 0 {
				s.First = append(s.First, now.Sub(began))
			}
			if event == "ask0" {
				if !last.IsZero() {
					s.Gaps = append(s.Gaps, now.Sub(last))
				}
				last = now
			}
		}
	}
}
