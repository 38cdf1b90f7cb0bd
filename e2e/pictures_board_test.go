//go:build prove

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/await"
	"weir/internal/browsertest"
	"weir/internal/grafana/grafanatest"
	"weir/internal/local/localtest"
)

// TestPictureBoard takes a picture of the panels of dashboards/weir-job-clicks.json, each at its
// place. Their rows are what the engine of a weir up answers to their queries, about a day of
// traffic by hours. The front-end libraries that Grafana publishes draw them (dashboards/panels),
// without a Grafana. It needs `make panels`, so it is for docs/pictures only.
func TestPictureBoard(t *testing.T) {
	if !*picturesKept {
		t.Skip("make pictures takes it")
	}
	parallel(t)
	p := startUp(t, t.TempDir(), "--rate", "300", "--history", "26h")
	await.Until(t, func() error { // the hours are over, and in their rollup
		if n := p.number("SELECT uniqExact(window_start) FROM clicks_1h_rollup"); n < 25 {
			return notYet("%d hours", n)
		}
		return nil
	})
	text, err := os.ReadFile(filepath.Join("..", "dashboards", "weir-job-clicks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var of struct{ Panels []json.RawMessage }
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatal(err)
	}
	type drawn struct {
		Panel json.RawMessage `json:"panel"`
		Frame frame           `json:"frame"`
	}
	now := time.Now().UTC()
	now = now.Truncate(time.Hour).Add(-time.Second) // the hours that are over
	m := grafanatest.Moment{From: now.Add(-24 * time.Hour), To: now, Interval: 15 * time.Second, Vars: map[string][]string{"window": {"1h"}, "by_page": {grafanatest.All}}}
	var all []drawn
	lines := 0
	for _, raw := range of.Panels {
		var one struct {
			Type, Title string
			Targets     []struct{ RawSQL string }
		}
		if err := json.Unmarshal(raw, &one); err != nil {
			t.Fatal(err)
		}
		sql, err := grafanatest.Expand(one.Targets[0].RawSQL, m)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := localtest.Query(p.url, "weir", sql+"\nFORMAT JSONCompact")
		if err != nil {
			t.Fatalf("%s: %v", one.Title, err)
		}
		f := newFrame(t.Fatal, answer)
		if one.Type == "timeseries" {
			lines++
			f = f.wide()
		}
		if len(f.Fields) == 0 || len(f.Fields[0].Values) == 0 {
			t.Errorf("panel %s has no rows", one.Title)
		}
		all = append(all, drawn{raw, f})
	}
	if lines < 4 || len(all) < 10 {
		t.Fatalf("%d panels, %d with lines", len(all), lines)
	}
	panels, err := filepath.Abs(filepath.Join("..", "bin", "panels"))
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "board.html")
	markup := fmt.Sprintf(`<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="file://%[1]s/panels.css"><body style="margin:0"><script>window.grafanaBootData = { settings: {}, user: {} };</script><script src="file://%[1]s/panels.js"></script>`, panels)
	if err := os.WriteFile(page, []byte(markup), 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	b := browsertest.Open(t, browsertest.Size{Width: 1280, Height: 900})
	b.Visit("file://" + page)
	b.Text(fmt.Sprintf("draw(%s, %d, %d)", data, m.From.UnixMilli(), m.To.UnixMilli()))
	b.Until(fmt.Sprintf(`document.querySelectorAll("[data-panel]").length === %d && document.querySelectorAll("[data-panel] canvas").length === %d`, len(all), lines))
	b.Until(`document.querySelector('[data-panel="Top groups"]').textContent.includes("/p/1")`)
	file := filepath.Join("..", "docs", "pictures", "dashboard.png")
	b.Picture(file)
	small(t, file)
}

// A frame is columns of values, as Grafana has them.
type frame struct {
	Fields []*field `json:"fields"`
}

type field struct {
	Name   string            `json:"name"`
	Type   string            `json:"type"`
	Labels map[string]string `json:"labels,omitempty"`
	Values []any             `json:"values"`
}

// newFrame reads the answer of ClickHouse to a query in JSONCompact.
func newFrame(fatal func(...any), answer string) (f frame) {
	var rows struct {
		Meta []struct{ Name, Type string }
		Data [][]any
	}
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber()
	if err := d.Decode(&rows); err != nil {
		fatal(err)
	}
	for i, m := range rows.Meta {
		of := &field{Name: m.Name, Type: "string"}
		number := strings.Contains(m.Type, "Int") || strings.Contains(m.Type, "Float")
		switch {
		case strings.Contains(m.Type, "DateTime"):
			of.Type = "time"
		case number:
			of.Type = "number"
		}
		for _, row := range rows.Data {
			v := row[i]
			if text, ok := v.(string); ok && of.Type == "time" {
				at, err := time.ParseInLocation(time.DateTime, text, time.UTC)
				if err != nil {
					fatal(err)
				}
				v = at.UnixMilli()
			} else if ok && number { // a large one is quoted
				n, err := strconv.ParseFloat(text, 64)
				if err != nil {
					fatal(err)
				}
				v = n
			}
			of.Values = append(of.Values, v)
		}
		f.Fields = append(f.Fields, of)
	}
	return f
}

// wide makes a line of each group in the columns of texts, as Grafana's ClickHouse plugin does of a
// time series. A frame without such columns stays as it is.
func (f frame) wide() frame {
	kind := func(of string) (all []*field) {
		for _, one := range f.Fields {
			if one.Type == of {
				all = append(all, one)
			}
		}
		return all
	}
	at, groups := kind("time")[0], kind("string")
	if len(groups) == 0 {
		return f
	}
	times := &field{Name: at.Name, Type: "time"}
	row := map[any]int{}
	for _, v := range at.Values { // in order
		if _, seen := row[v]; !seen {
			row[v] = len(times.Values)
			times.Values = append(times.Values, v)
		}
	}
	out, lines := frame{Fields: []*field{times}}, map[string]*field{}
	for i, v := range at.Values {
		labels := map[string]string{}
		for _, g := range groups {
			labels[g.Name] = fmt.Sprint(g.Values[i])
		}
		for _, n := range kind("number") {
			id := fmt.Sprint(n.Name, labels)
			if lines[id] == nil {
				lines[id] = &field{Name: n.Name, Type: "number", Labels: labels, Values: slices.Repeat([]any{nil}, len(times.Values))}
				out.Fields = append(out.Fields, lines[id])
			}
			lines[id].Values[row[v]] = n.Values[i]
		}
	}
	return out
}
