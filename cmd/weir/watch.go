package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/outage"
	"weir/window"
)

// watchMinutes is how many windows the live table shows.
const watchMinutes = 5

// watch prints the last minutes every second, as ClickHouse has them: it shows
// the numbers of a dashboard, not those in the memory of this process.
func (u *up) watch(ctx context.Context, engine string) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	looks := u.outages.Of(outage.ClickHouse, "reading the live table")
	terminal := isTerminal(u.out)
	lines := 0
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !terminal && n%10 != 2 {
			continue // a log file needs no table every second
		}
		text, err := u.table(ctx, engine)
		if err != nil {
			if ctx.Err() == nil {
				looks.Failed(err)
			}
			continue
		}
		looks.Worked()
		if terminal && lines > 0 {
			fmt.Fprintf(u.out, "\x1b[%dA\x1b[J", lines)
		}
		fmt.Fprint(u.out, text)
		lines = strings.Count(text, "\n")
	}
}

// table returns the live table as text.
func (u *up) table(ctx context.Context, engine string) (string, error) {
	var b strings.Builder
	for _, j := range u.cfg.Jobs {
		if len(j.Rollups) == 0 {
			continue
		}
		view := j.Name + "_" + j.Rollups[0].Window.String()
		users := ""
		for _, m := range j.Measures {
			if m.WindowKind() == window.HLL {
				users = m.Name
				break
			}
		}
		if users == "" || len(j.By) == 0 {
			continue
		}
		group := j.By[0].Name
		rows, err := query(ctx, engine, u.cfg.ClickHouse.Database, fmt.Sprintf(
			"SELECT formatDateTime(window_start, '%%H:%%i') AS w, sum(hits) AS h, count() AS g, argMax(%s, hits) AS top, max(hits) AS top_hits, argMax(%s, hits) AS top_users, min(complete) AS c"+
				" FROM %s WHERE window_start >= now() - INTERVAL %d MINUTE GROUP BY window_start ORDER BY window_start DESC LIMIT %d",
			group, users, view, watchMinutes+1, watchMinutes))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%-10s %8s %10s %8s   %-24s %10s %10s\n", j.Name, "window", "hits", group+"s", "top "+group, "hits", users)
		for _, r := range rows {
			state := ""
			if r["c"] == "0" {
				state = "still filling"
			}
			fmt.Fprintf(&b, "%-10s %8s %10s %8s   %-24s %10s %10s  %s\n", "", r["w"], r["h"], r["g"], r["top"], r["top_hits"], r["top_users"], state)
		}
	}
	return b.String(), nil
}

// query asks the engine over plain HTTP, as curl would.
func query(ctx context.Context, engine, database, sql string) ([]map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	at := engine + "/?database=" + url.QueryEscape(database) + "&default_format=JSONStringsEachRow"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(sql))
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %.300s", res.Status, body)
	}
	var rows []map[string]string
	for line := range strings.Lines(string(body)) {
		var r map[string]string
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}
