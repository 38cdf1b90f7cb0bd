{{- /* Writes the finished numbers and merged states of some windows, from all rows of
these windows: state rows for the first rollup, rows of the next shorter rollup for the
others. Hits are a map from slots, or from shorter windows, to counts, whose values
merge by maximum and are summed at the end. Rows of a shorter rollup may have lost the
states that expire. If only some still have them, the measure has no number and an empty
state, because the states that are left would give a wrong number. */ -}}
INSERT INTO {{.Table}} ({{.Groups}}window_start, hits{{range .Finished}}, {{.Column}}{{end}}{{range .Measures}}, {{.Rolled}}{{end}}, rolled_in)
SELECT
    {{.Groups}}_start,
    hits
{{- range .Finished}},
    {{if and $.Forgets .Expires}}if({{.Whole}}, {{.Number .Column}}, {{.Nothing}}){{else}}{{.Number .Column}}{{end}}
{{- end}}
{{- range .Measures}},
    {{if and $.Forgets .Expires}}{{.Packed (printf "if(%s, %s, %s)" .Whole .Column .Empty)}}{{else}}{{.Packed .Column}}{{end}}
{{- end}},
    {{.Round}}
FROM
(
{{- if .ByWindow}}
    SELECT
        {{.Groups}}_start,
        sum(_w.hits) AS hits
{{- range .Measures}},
        {{.Plus (print "_w." .Column)}} AS {{.Column}}
{{- if and $.Forgets .Expires}},
        sum(_w.{{.Known}}) = sum(_w.{{.Held}}) AS {{.Whole}}
{{- end}}
{{- end}}
    FROM
    (
        SELECT
            {{.Groups}}{{.Start}} AS _start,
            {{if .First}}{{.Hits}}{{else}}max(_s.hits){{end}} AS hits
{{- range .Measures}},
            {{if $.First}}{{.Folded (print "_s." .Stored)}}{{else}}{{.Merge (print "_s." .State)}}{{end}} AS {{.Column}}
{{- if and $.Forgets .Expires}},
            max({{$.Had .}}) AS {{.Known}},
            max({{$.Has .}}) AS {{.Held}}
{{- end}}
{{- end}}
        FROM {{.Source}} AS _s
        WHERE {{.Range}} AND toUnixTimestamp({{.Start}}) IN ({{.List}})
        GROUP BY {{.Groups}}window_start
    ) AS _w
{{- else}}
    SELECT
        {{.Groups}}{{.Start}} AS _start,
{{- if .First}}
        {{.Hits}} AS hits
{{- range .Measures}},
        {{.Folded (print "_s." .Stored)}} AS {{.Column}}
{{- end}}
{{- else}}
        arraySum(mapValues(maxMap(map(toUnixTimestamp(window_start), _s.hits)))) AS hits
{{- range .Measures}},
        {{.Merge (print "_s." .State)}} AS {{.Column}}
{{- if and $.Forgets .Expires}},
        uniqExactIf(window_start, {{$.Had .}}) = uniqExactIf(window_start, {{$.Has .}}) AS {{.Whole}}
{{- end}}
{{- end}}
{{- end}}
    FROM {{.Source}} AS _s
    WHERE {{.Range}} AND toUnixTimestamp({{.Start}}) IN ({{.List}})
{{- end}}
    GROUP BY {{.Groups}}_start
)
