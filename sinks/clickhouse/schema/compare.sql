{{- /* Compares a rollup with the rows that it is made from, by window and group.
rolled and held are their numbers of events. whole: none of the rows can have expired, or
is being written, and the rollup was made of them, of which none is yet to come. ahead: how far this server's clock is behind their times, in seconds.
due: the rollup should have all of them by now. With measures, odd has those that
differ: the measure's index, the lesser and the greater of the rollup's two numbers (its
finished number and that of its state), and the number by the rows. States that may
have expired are left out. The states of both sides are in one column, and finished
says of which side they are. So each number has one expression: the server takes longer
to analyse that of an HLL than to compute it for a thousand windows. */ -}}
SELECT
    {{.Groups}}window_start,
    toUInt64(sum(_n.rolled)) AS rolled,
    toUInt64(sum(_n.held)) AS held,
    {{if .First}}max(_n.made) > {{.Horizon}}{{else}}window_start >= {{.SourceKept}}{{with .Begun}} AND max(_n.made) >= {{.}}{{end}}{{end}} AS kept,
    kept AND max(_n.touched) <= {{.Settled}}{{with .Lacking}} AND window_start NOT IN ({{.}}){{end}} AS whole,
    if(kept, {{.Ahead "max(_n.touched)"}}, 0) AS ahead,
    max(_n.stamp) < {{.Done}} AND window_start >= {{.Kept}} AS due
{{- if .Measures}},
    arrayFilter(m -> m.2 != m.4 OR m.3 != m.4, [
{{- range $i, $m := .Measures}}{{if $i}}, {{end -}}
        ({{$i}}, least({{$.Number .}}, {{$.StateNumber .}}), greatest({{$.Number .}}, {{$.StateNumber .}}), {{$.HeldNumber .}})
{{- end}}]) AS odd
{{- end}}
FROM
(
{{- if .Measures}}
    SELECT * REPLACE ({{range $i, $m := .Measures}}{{if $i}}, {{end}}{{.Rank (.Number .Rolled)}} AS {{.Rolled}}{{end}})
    FROM
    (
{{- end}}
    SELECT {{.Groups}}window_start, toUInt64(max(hits)) AS rolled, toUInt64(0) AS held, max(_r.rolled_at) AS made, toDateTime(0, 'UTC') AS touched, toUInt64(0) AS stamp
{{- range .Measures}}, {{.Rank (.Final (.Best (print "_r." .Viewed)))}} AS {{.Column}}, {{.Merge (print "_r." .State)}} AS {{.Rolled}}{{end}}
{{- if .Measures}}, toDateTime(4294967295, 'UTC') AS oldest, 1 AS finished{{end}}
    FROM {{.Table}} AS _r
    WHERE {{.Within}}
    GROUP BY {{.Groups}}window_start
    UNION ALL
{{- if .Several}}
    SELECT {{.Groups}}_start, 0, sum(_w.held), toDateTime(0, 'UTC'), max(_w.touched), max(_w.stamp)
{{- range .Measures}}, 0, {{.Plus (print "_w." .Held)}}{{end}}, min(_w.oldest), 0
    FROM
    (
{{- end}}
    SELECT {{.Groups}}{{.Start}} AS _start, 0, {{if .First}}arraySum(mapValues(maxMap(_s.hits))){{else}}max(_s.hits){{end}} AS held, toDateTime(0, 'UTC'), max(_s.{{.Touched}}) AS touched, max(_s.{{.Stamp}}) AS stamp
{{- range .Measures}}, 0, {{if $.First}}{{.Fold (.Merge ($.Below .))}}{{else}}{{.Merge ($.Below .)}}{{end}} AS {{.Held}}{{end}}
{{- if .Measures}}, min(_s.{{.Touched}}) AS oldest, 0{{end}}
    FROM {{.Source}} AS _s
    WHERE {{.Within}}
    GROUP BY {{.Groups}}window_start
{{- if .Several}}
    ) AS _w
    GROUP BY {{.Groups}}_start
{{- end}}
{{- if .Measures}}
    )
{{- end}}
) AS _n
GROUP BY {{.Groups}}window_start
