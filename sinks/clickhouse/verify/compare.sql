{{- /* Compares a rollup with the rows that it is made from, by window and group. The states of the second one are made
from state rows. _rows is their number of events: they are compared if none of them has expired or is new.
_rolled and _held are their numbers of events. _whole: none of the rows can have expired, or
is being written, and the rollup was made of them, of which none is yet to come. _ahead: how far this server's clock is behind their times, in seconds.
_due: the rollup should have all of them by now. With measures, _odd has those that
differ: the measure's index, the rollup's finished number, that of the rollup's state, and the
number by the rows, if none of their states may have expired. Where a measure adds up, the
finished number is that of the state; and that of the state is the finished number where the rollup has no states. The states of both sides are in one column, and _finished
says of which side they are. So each number has one expression: the server takes longer
to analyse that of an HLL than to compute it for a thousand windows. Names begin with _, as that
of no group column and no measure does. */ -}}
SELECT
    {{.Groups}}window_start,
    toUInt64(sum(_n._rolled)) AS _rolled,
    toUInt64(sum(_n._held)) AS _held,
    {{if .First}}max(_n._made) > {{.Horizon}}{{else}}window_start >= {{.SourceKept}}{{with .Begun}} AND max(_n._made) >= {{.}}{{end}}{{end}} AS _kept,
    _kept AND max(_n._touched) <= {{.Settled}}{{with .Lacking}} AND window_start NOT IN ({{.}}){{end}} AS _whole,
    if(_kept, {{.Ahead "max(_n._touched)"}}, 0) AS _ahead,
    max(_n._stamp) < {{.Done}} AND window_start >= {{.Kept}} AS _due
{{- if .Measures}},
    arrayFilter(m -> m.5 AND (m.2 != m.4 OR m.3 != m.4), [
{{- range $i, $m := .Measures}}{{if $i}}, {{end -}}
        ({{$i}}, {{$.Number .}}, {{$.StateNumber .}}, {{$.HeldNumber .}}, {{$.Judged .}})
{{- end}}]) AS _odd
{{- end}}
FROM
(
{{- if .Measures}}
    SELECT * REPLACE ({{range $i, $m := .Measures}}{{if $i}}, {{end}}{{.Rank (.Number .Rolled)}} AS {{.Rolled}}{{end}})
    FROM
    (
{{- end}}
    SELECT {{.Groups}}window_start, toUInt64(max(hits)) AS _rolled, toUInt64(0) AS _held, max(_r.rolled_at) AS _made, toDateTime(0, 'UTC') AS _touched, toUInt64(0) AS _stamp
{{- if .Measures}}, toDateTime(4294967295, 'UTC') AS _oldest, toUInt64(0) AS _rows, 1 AS _finished{{end}}
{{- range .Measures}}{{if not .Additive}}, {{.Rank (.Best (print "_r." .Column))}} AS {{.Column}}{{end}}, {{if $.HasStates .}}{{.Merge (print "_r." .State)}}{{else}}{{.Empty}}{{end}} AS {{.Rolled}}{{end}}
    FROM {{.Table}} AS _r
    WHERE {{.Within}}
    GROUP BY {{.Groups}}window_start
    UNION ALL
{{- if .Several}}
    SELECT {{.Groups}}_start, 0, sum(_w._held), toDateTime(0, 'UTC'), max(_w._touched), max(_w._stamp), min(_w._oldest), 0, 0
{{- range .Measures}}{{if not .Additive}}, 0{{end}}, {{if $.Apart .}}{{.Empty}}{{else}}{{.Plus (print "_w." .Held)}}{{end}}{{end}}
    FROM
    (
{{- end}}
    SELECT {{.Groups}}{{.Start}} AS _start, 0, {{if .First}}arraySum(mapValues(maxMap(_s.hits))){{else}}max(_s.hits){{end}} AS _held, toDateTime(0, 'UTC'), max(_s.{{.Touched}}) AS _touched, max(_s.{{.Stamp}}) AS _stamp
{{- if .Measures}}, min(_s.{{.Touched}}) AS _oldest, 0, 0{{end}}
{{- range .Measures}}{{if not .Additive}}, 0{{end}}, {{if $.Apart .}}{{.Empty}}{{else if $.First}}{{.Fold (.Merge ($.Sourced .))}}{{else}}{{.Merge ($.Sourced .)}}{{end}} AS {{.Held}}{{end}}
    FROM {{.Source}} AS _s
    WHERE {{.Within}}
    GROUP BY {{.Groups}}window_start
{{- if .Several}}
    ) AS _w
    GROUP BY {{.Groups}}_start
{{- if .Second}}
    UNION ALL
    SELECT {{.Groups}}_start, 0, 0, toDateTime(0, 'UTC'), toDateTime(0, 'UTC'), 0, toDateTime(4294967295, 'UTC'), sum(_w._rows), 0
{{- range .Measures}}{{if .Additive}}, {{.Empty}}{{else}}, 0, {{.Merge (print "_w." .Held)}}{{end}}{{end}}
    FROM
    (
        SELECT {{.Groups}}{{.Start}} AS _start, arraySum(mapValues(maxMap(_s.hits))) AS _rows
{{- range .Finished}}, {{.Merge (print "_s." .Stored)}} AS {{.Held}}{{end}}
        FROM {{.State}} AS _s
        WHERE {{.Within}}
        GROUP BY {{.Groups}}window_start
    ) AS _w
    GROUP BY {{.Groups}}_start
{{- end}}
{{- end}}
{{- if .Measures}}
    )
{{- end}}
) AS _n
GROUP BY {{.Groups}}window_start
