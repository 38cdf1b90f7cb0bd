// Package grafana makes Grafana dashboards: one for a job, with a panel for each of its
// measures, one for what weir writes about itself into ClickHouse, and one for what it
// tells Prometheus.
package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/measures"
	"weir/measures/face"
	"weir/sinks/clickhouse/schema"
	"weir/window"
)

// A Board is a dashboard. Its UID is stable: importing the board again replaces it.
type Board struct {
	UID  string
	JSON []byte
}

// object is an object of JSON. Its keys are written in their order, so equal boards have
// equal bytes.
type object = map[string]any

// Types of data sources.
const (
	clickHouse = "grafana-clickhouse-datasource"
	prometheus = "prometheus"
)

// Job returns the dashboard of a job.
//
// Numbers come from the view, because a row of a rollup may be there several times until
// ClickHouse merges it. What does not add up over groups comes from states,
// because merging a state twice changes nothing. suffix ends the name of a rollup that is
// to be read: wire.AllShards where there are several, otherwise nothing.
func Job(j schema.Job, suffix string) (Board, error) {
	if err := j.Spec.Validate(); err != nil {
		return Board{}, fmt.Errorf("grafana: %w", err)
	}
	var names, seconds, quoted []string
	for name, length := range j.Windows {
		names, quoted = append(names, name), append(quoted, "'"+name+"'")
		seconds = append(seconds, strconv.FormatInt(int64(length/time.Second), 10))
	}
	length := fmt.Sprintf("transform('${window}', [%s], [%s], 0)", strings.Join(quoted, ", "), strings.Join(seconds, ", "))
	q := &face.Query{Job: j.Spec.Job, View: j.Spec.Job + "_${window}", Rollup: j.Base() + "_${window}_rollup" + suffix, States: j.Spec.Job + "_${window}_states", Where: during(length), Seconds: length,
		Places: during(strconv.FormatInt(int64(j.Spec.Window)/1000, 10))}
	b := newBoard(clickHouse)
	b.custom("window", "Window", names)
	for _, c := range j.Spec.By {
		name := face.Quote(c.Name)
		b.all("by_"+c.Name, c.Name, fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE %[3]s GROUP BY %[1]s ORDER BY sum(hits) DESC LIMIT 200", name, q.View, during(length)))
		q.Groups = append(q.Groups, name)
		q.Where += fmt.Sprintf(" AND $__conditionalAll(%s IN (${by_%s:singlequote}), $by_%[2]s)", name, c.Name)
	}

	b.add("stat", "Hits", "Events counted in the windows of the time range. Exact.", 6, 4,
		fmt.Sprintf("SELECT sum(hits) AS hits FROM %s WHERE %s", q.View, q.Where))
	var numbers, measured []string
	for i := range j.Spec.Measures {
		m := &j.Spec.Measures[i]
		if number := measures.Of(m.Kind).Panels.Merged; number != "" {
			number = fmt.Sprintf(number, face.State(m)) + " AS " + face.Quote(m.Name)
			numbers, measured = append(numbers, number), append(measured, face.Quote(m.Name))
			b.add("stat", m.Name+" in all", "Distinct values in the windows of the time range together. "+rolled, 6, 4,
				fmt.Sprintf("SELECT %s\nFROM %s\nWHERE %s", number, q.States, q.Where))
		}
	}
	b.add("stat", "Newest complete window", "Age, in seconds, of the end of the newest window that the watermark has passed.", 6, 4,
		fmt.Sprintf("SELECT dateDiff('second', max(window_start), now()) - %s AS behind\nFROM %s\nWHERE complete = 1 AND %s\nHAVING count() > 0", length, q.View, q.Where))
	b.add("timeseries", "Hits", "Events counted by window. Exact.", 12, 8,
		fmt.Sprintf("SELECT window_start AS time, sum(hits) AS hits\nFROM %s\nWHERE %s\nGROUP BY time\nORDER BY time", q.View, q.Where))
	if len(q.Groups) > 0 {
		columns := strings.Join(q.Groups, ", ")
		top := fmt.Sprintf("SELECT %[1]s, sum(t.hits) AS hits\nFROM %[2]s AS t\nWHERE %[3]s\nGROUP BY %[1]s\nORDER BY hits DESC\nLIMIT ", columns, q.View, q.Where)
		b.add("timeseries", "Hits of the top groups", "The ten groups with the most hits in the time range, by window.", 12, 8,
			fmt.Sprintf("SELECT window_start AS time, %[1]s, sum(t.hits) AS hits\nFROM %[2]s AS t\nWHERE %[3]s AND (%[1]s) IN\n(\n  SELECT %[1]s FROM %[2]s WHERE %[3]s\n  GROUP BY %[1]s ORDER BY sum(hits) DESC LIMIT 10\n)\nGROUP BY time, %[1]s\nORDER BY time, %[1]s", columns, q.View, q.Where))
		if len(numbers) > 0 {
			top = fmt.Sprintf("SELECT %[1]s, hits, %[2]s\nFROM\n(\n%[3]s100\n) AS counted\nLEFT JOIN\n(\n  SELECT %[1]s, %[4]s\n  FROM %[5]s\n  WHERE %[6]s\n  GROUP BY %[1]s\n) AS merged USING (%[1]s)\nORDER BY hits DESC, %[1]s",
				columns, strings.Join(measured, ", "), top, strings.Join(numbers, ", "), q.States, q.Where)
		} else {
			top += "100"
		}
		b.add("table", "Top groups", "Groups by hits in the time range, and the distinct values of each. "+rolled, 24, 9, top)
	}
	for _, c := range j.Spec.By {
		if c.Path == "" { // a geohash cell
			b.add("geomap", "Hits by "+c.Name, "Cells by hits in the time range. The countries are drawn by Grafana itself; the base layer below them needs internet.", 24, 14,
				fmt.Sprintf("SELECT %s AS geohash, sum(t.hits) AS hits\nFROM %s AS t\nWHERE %s\nGROUP BY geohash\nORDER BY hits DESC\nLIMIT 5000", face.Quote(c.Name), q.View, q.Where))
		}
	}
	for i := range j.Spec.Measures {
		m := &j.Spec.Measures[i]
		for _, p := range measures.Of(m.Kind).Panels.All {
			b.measured(q, m, p)
		}
	}
	uid, title := "weir-job-"+j.Spec.Job, "weir: job "+j.Spec.Job
	if v := j.Spec.Version; v > 1 {
		uid, title = fmt.Sprintf("%s-v%d", uid, v), fmt.Sprintf("%s, version %d", title, v)
	}
	return b.render(uid, title, fmt.Sprintf("Job %s, version %d, of topic %s.", j.Spec.Job, j.Spec.Version, j.Topic))
}

// rolled describes a number from states, beside hits from the view.
const rolled = "Distinct values of windows longer than the shortest are as of the last rollup: those that are not complete may lack up to some minutes of them."

// during is true of the windows of a length in seconds that overlap the time range.
func during(length string) string {
	return "window_start > $__fromTime - " + length + " AND window_start <= $__toTime"
}

func (b *board) measured(q *face.Query, m *window.Measure, p face.Panel) {
	title := fmt.Sprintf("%s (%s)", m.Name, m.Kind)
	if p.Title != "" {
		title += ": " + p.Title
	}
	w, h := 12, 8
	if p.Wide {
		w = columns
	}
	if p.Type == "geomap" {
		h = 14
	}
	b.add(p.Type, title, p.About, w, h, p.SQL(q, m))
}

// Pipeline returns the dashboard of what weir writes about itself into ClickHouse: ledger,
// dead letters and audit, of the jobs in their versions.
func Pipeline(jobs []schema.Job) (Board, error) {
	var names, versions, counted []string
	for _, j := range jobs {
		names = append(names, j.Spec.Job)
		versions = append(versions, fmt.Sprintf("('%s', %d)", j.Spec.Job, max(1, j.Spec.Version)))
		for name, length := range j.Windows { // the shortest comes first
			counted = append(counted, fmt.Sprintf("  SELECT window_start, '%[1]s' AS job, hits FROM %[1]s_%[2]s WHERE %[3]s", j.Spec.Job, name, during(strconv.FormatInt(int64(length/time.Second), 10))))
			break
		}
	}
	const chosen = "$__conditionalAll(job IN (${job:singlequote}), $job)"
	of := "(job, version) IN (" + strings.Join(versions, ", ") + ") AND " + chosen
	b := newBoard(clickHouse)
	b.several("job", "Job", names)
	b.add("stat", "Audit mismatches", "What does not add up between ledger and rows. 0 is right; weir verify says more.", 6, 4,
		"SELECT count() AS mismatches FROM weir_audit WHERE "+chosen)
	b.alarm(1)
	b.add("stat", "Slowest watermark", "How far the event time of the slowest partition is behind now, in seconds. A partition that has counted nothing has no event time.", 6, 4,
		"SELECT max(behind) AS behind\nFROM\n(\n  SELECT dateDiff('second', nullIf(max(watermark), 0), now()) AS behind\n  FROM weir_ledger\n  WHERE "+of+"\n  GROUP BY job, partition\n)")
	b.add("stat", "Last flush", "Seconds since anything was written.", 6, 4,
		"SELECT dateDiff('second', max(flushed_at), now()) AS ago FROM weir_ledger WHERE "+of)
	b.add("stat", "Dead letters", "Records of the time range that reached no count: malformed, late or future.", 6, 4,
		"SELECT count() AS records FROM weir_dead_letters FINAL WHERE $__timeFilter(record_time) AND "+of)
	b.add("timeseries", "Events counted", "By event time.", 12, 8,
		"SELECT $__timeInterval(window_start) AS time, job, sum(hits) AS events\nFROM\n(\n"+strings.Join(counted, "\n  UNION ALL\n")+"\n)\nWHERE "+chosen+"\nGROUP BY time, job\nORDER BY time, job")
	b.add("timeseries", "Dead letters by outcome", "By the time of the Kafka record.", 12, 8,
		"SELECT $__timeInterval(record_time) AS time, outcome, count() AS records\nFROM weir_dead_letters FINAL\nWHERE $__timeFilter(record_time) AND "+of+"\nGROUP BY time, outcome\nORDER BY time, outcome")
	b.add("table", "Partitions", "As of the last flush of each partition. One that has counted nothing has no newest event.", 14, 9,
		"SELECT job, partition, argMax(next, (flushed_at, epoch, next)) AS next_offset, nullIf(max(watermark), 0) AS newest, dateDiff('second', newest, now()) AS behind,\n  max(flushed_at) AS flushed, dateDiff('second', flushed, now()) AS ago\nFROM weir_ledger\nWHERE "+of+"\nGROUP BY job, partition\nORDER BY job, partition")
	b.add("table", "Outcomes", "Every offset has exactly one. Since the ledger began.", 10, 9,
		"SELECT job, sum(counted) AS counted, sum(late) AS late, sum(future) AS future, sum(malformed) AS malformed,\n  sum(duplicate) AS duplicate, sum(filtered) AS filtered, sum(throttled) AS throttled, sum(gap) AS gap\nFROM weir_ledger FINAL\nWHERE "+of+"\nGROUP BY job\nORDER BY job")
	b.add("table", "What does not add up", "Empty is right.", columns, 6, "SELECT * FROM weir_audit WHERE "+chosen+" LIMIT 100")
	b.add("table", "Latest dead letters", "The last hundred of the time range.", columns, 9,
		"SELECT record_time, job, topic, partition, offset, outcome, reason, substring(payload, 1, 200) AS beginning\nFROM weir_dead_letters FINAL\nWHERE $__timeFilter(record_time) AND "+of+"\nORDER BY record_time DESC\nLIMIT 100")
	return b.render("weir-pipeline", "weir: Pipeline", "Ledger, dead letters and audit of the jobs.")
}

// Metrics returns the dashboard of weir's figures in Prometheus (docs/metrics.md).
func Metrics() (Board, error) {
	b := newBoard(prometheus)
	b.all("job", "Job", "label_values(weir_records_total, job)")
	for _, p := range []struct{ title, about, expr string }{
		{"Records", "Records per second by job and outcome, replays after a restart included.", `sum by (job, outcome) (rate(weir_records_total{job=~"$job"}[$__rate_interval]))`},
		{"Dead letters", "Records per second that reached no count, by reason.", `sum by (job, reason) (rate(weir_dead_letters_total{job=~"$job"}[$__rate_interval]))`},
		{"Lag", "Age in seconds of the last record counted while there are more to read; the slowest partition.", `max by (job) (weir_consumer_lag_seconds{job=~"$job"})`},
		{"Records behind", "Records that are not counted yet.", `sum by (job) (weir_consumer_lag_records{job=~"$job"})`},
		{"Event time behind the clock", "Seconds between now and the time up to which windows are complete.", `time() - min by (job) (weir_complete_until_timestamp_seconds{job=~"$job"})`},
		{"Last flush", "Seconds since the last flush was acknowledged.", `time() - max by (job) (weir_last_successful_flush_timestamp_seconds{job=~"$job"})`},
		{"Flush, 99th percentile", "Seconds until ClickHouse acknowledged a flush.", `histogram_quantile(0.99, sum by (job, le) (rate(weir_flush_duration_seconds_bucket{job=~"$job"}[$__rate_interval])))`},
		{"Rows flushed", "Rows of (window, group) written per second.", `sum by (job) (rate(weir_flush_rows_total{job=~"$job"}[$__rate_interval]))`},
		{"Failures", "Flushes and rollups that failed, per second.", `sum by (job) (rate(weir_flush_failures_total{job=~"$job"}[$__rate_interval])) + sum by (job) (rate(weir_rollups_total{outcome="failed", job=~"$job"}[$__rate_interval]))`},
		{"Memory", "Share of the memory budget; fetching stops at 1.", `max by (job) (weir_memory_budget_ratio{job=~"$job"})`},
		{"Rebalances", "Generations of the consumer group joined, per hour.", `sum by (job) (increase(weir_rebalances_total{job=~"$job"}[1h]))`},
		{"Audit", "What the last audit found not to add up; 0 is right.", `max(weir_audit_mismatches)`},
	} {
		b.add("timeseries", p.title, p.about, 12, 8, p.expr)
	}
	return b.render("weir-metrics", "weir: Metrics", "What weir tells Prometheus about itself.")
}

// A board is a dashboard that is being made.
type board struct {
	source    string // type of data source
	variables []object
	panels    []object
	x, y, h   int // where the next panel goes, and the height of its line
}

func newBoard(source string) *board {
	return &board{source: source, variables: []object{
		{"name": "datasource", "label": "Data source", "type": "datasource", "query": source, "current": object{}, "hide": 0, "refresh": 1},
	}}
}

func (b *board) datasource() object { return object{"type": b.source, "uid": "${datasource}"} }

// custom adds a variable with fixed values, of which the first is chosen.
func (b *board) custom(name, label string, values []string) {
	var options []object
	for i, v := range values {
		options = append(options, object{"text": v, "value": v, "selected": i == 0})
	}
	b.variables = append(b.variables, object{
		"name": name, "label": label, "type": "custom", "query": strings.Join(values, ","), "options": options,
		"current": object{"text": values[0], "value": values[0]}, "multi": false, "includeAll": false, "hide": 0,
	})
}

// several adds a variable with fixed values, of which all are chosen.
func (b *board) several(name, label string, values []string) {
	options := []object{{"text": "All", "value": "$__all", "selected": true}}
	for _, v := range values {
		options = append(options, object{"text": v, "value": v, "selected": false})
	}
	b.variables = append(b.variables, object{
		"name": name, "label": label, "type": "custom", "query": strings.Join(values, ","), "options": options,
		"current": object{"text": []string{"All"}, "value": []string{"$__all"}}, "multi": true, "includeAll": true, "hide": 0,
	})
}

// all adds a variable with the values that a query finds. All are chosen.
func (b *board) all(name, label, query string) {
	b.variables = append(b.variables, object{
		"name": name, "label": label, "type": "query", "query": query, "definition": query, "datasource": b.datasource(),
		"current": object{"text": []string{"All"}, "value": []string{"$__all"}}, "multi": true, "includeAll": true, "refresh": 2, "sort": 0, "hide": 0,
	})
}

// columns is the width of a dashboard.
const columns = 24

// add adds a panel to the right of the last one, or below if there is no room.
func (b *board) add(kind, title, about string, w, h int, text string) {
	if b.x+w > columns {
		b.x, b.y, b.h = 0, b.y+b.h, 0
	}
	target := object{"datasource": b.datasource(), "refId": "A"}
	switch {
	case b.source == prometheus:
		target["expr"], target["range"], target["editorMode"] = text, true, "code"
	case kind == "timeseries":
		target["editorType"], target["queryType"], target["format"], target["rawSql"], target["pluginVersion"] = "sql", "timeseries", 0, text, "4.20.0"
	default:
		target["editorType"], target["queryType"], target["format"], target["rawSql"], target["pluginVersion"] = "sql", "table", 1, text, "4.20.0"
	}
	defaults, options, overrides := looks(kind)
	b.panels = append(b.panels, object{
		"id": len(b.panels) + 1, "type": kind, "title": title, "description": about, "datasource": b.datasource(),
		"gridPos": object{"x": b.x, "y": b.y, "w": w, "h": h}, "targets": []object{target},
		"fieldConfig": object{"defaults": defaults, "overrides": overrides}, "options": options,
	})
	b.x, b.h = b.x+w, max(b.h, h)
}

// alarm lets the last panel be green below a number, and red from there on.
func (b *board) alarm(from int) {
	config := b.panels[len(b.panels)-1]["fieldConfig"].(object)
	config["defaults"].(object)["thresholds"] = steps("green", object{"color": "red", "value": from})
}

// steps returns thresholds: a colour, or one up to a number and another one from there on.
// Without any, Grafana shows each number above 80 in red.
func steps(below string, above ...object) object {
	return object{"mode": "absolute", "steps": append([]object{{"color": below, "value": nil}}, above...)}
}

// looks returns the settings of a type of panel.
func looks(kind string) (defaults, options object, overrides []object) {
	overrides = []object{}
	switch kind {
	case "stat":
		return object{"unit": "short", "color": object{"mode": "thresholds"}, "thresholds": steps("text")}, object{"reduceOptions": object{"values": false, "calcs": []string{"lastNotNull"}, "fields": "/.*/"}, "graphMode": "none", "textMode": "value"}, overrides
	case "timeseries":
		// The columns low and high are the edges of a band, in the colour of the first line.
		edge := func(name string, more ...object) object {
			hidden := []object{{"id": "custom.lineWidth", "value": 0}, {"id": "custom.hideFrom", "value": object{"legend": true, "tooltip": false, "viz": false}}}
			return object{"matcher": object{"id": "byName", "options": name}, "properties": append(hidden, more...)}
		}
		overrides = append(overrides, edge("low", object{"id": "custom.fillOpacity", "value": 0}), edge("high", object{"id": "custom.fillBelowTo", "value": "low"},
			object{"id": "custom.fillOpacity", "value": 30}, object{"id": "color", "value": object{"mode": "fixed", "fixedColor": "green"}}))
		return object{"unit": "short", "color": object{"mode": "palette-classic"}, "custom": object{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10, "showPoints": "auto", "spanNulls": false}},
			object{"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true}, "tooltip": object{"mode": "multi", "sort": "desc"}}, overrides
	case "geomap":
		style := object{"color": object{"fixed": "orange"}, "size": object{"fixed": 3}, "opacity": 0.7, "symbol": object{"fixed": "img/icons/marker/circle.svg", "mode": "fixed"}}
		return object{}, object{
			"basemap": object{"type": "default", "name": "Base"},
			"layers": []object{
				{"type": "geojson", "name": "Countries", "tooltip": false, "config": object{
					"src": "public/maps/countries.geojson", "style": object{"color": object{"fixed": "dark-gray"}, "opacity": 0.3, "size": object{"fixed": 1}}}},
				{"type": "markers", "name": "Places", "tooltip": true, "location": object{"mode": "geohash", "geohash": "geohash"}, "config": object{"style": style, "showLegend": false}},
			},
			"view":     object{"id": "fit", "allLayers": false, "lastOnly": true, "padding": 5},
			"controls": object{"showZoom": true, "mouseWheelZoom": true, "showAttribution": true},
			"tooltip":  object{"mode": "details"},
		}, overrides
	default:
		return object{}, object{"footer": object{"show": false}}, overrides
	}
}

func (b *board) render(uid, title, about string) (Board, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(object{
		"uid": uid, "title": title, "description": about, "tags": []string{"weir"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "timezone": "utc",
		"time": object{"from": "now-1h", "to": "now"}, "refresh": "10s",
		"links":       []object{{"type": "dashboards", "title": "weir", "tags": []string{"weir"}, "asDropdown": false, "includeVars": false, "keepTime": true}},
		"annotations": object{"list": []object{}},
		"templating":  object{"list": b.variables},
		"panels":      b.panels,
	})
	return Board{UID: uid, JSON: out.Bytes()}, err
}
