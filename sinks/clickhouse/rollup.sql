{{- /* Writes the finished numbers of some windows, from all rows of these windows: of the first rollup from
state rows. A longer rollup also has merged states: those of the next shorter one or, because the first has none,
those of the state rows. Its hits and totals are the sums of the next shorter one. If states of a window have
expired, the measure has no number and an empty state, because the states that are left would give a wrong number.
State rows have expired if they have fewer events than the first rollup has counted. */ -}}
INSERT INTO {{.Table}} ({{.Groups}}window_start, hits{{range .Finished}}, {{.Column}}{{end}}{{range .Stated}}, {{.Rolled}}{{end}}, rolled_in)
SELECT
    {{.Groups}}window_start,
    hits
{{- range .Finished}},
    {{$gone := $.Gone .}}{{if $gone}}if({{$gone}}, {{.Nothing}}, {{.Number .Column}}){{else}}{{.Number .Column}}{{end}}
{{- end}}
{{- range .Stated}},
    {{$gone := $.Gone .}}{{if $gone}}{{.Packed (printf "if(%s, %s, %s)" $gone .Empty .Column)}}{{else}}{{.Packed .Column}}{{end}}
{{- end}},
    {{.Round}}
FROM
(
{{- if .First}}
    {{template "tail.sql" .Counted}}
{{- else}}
    SELECT
        {{.Groups}}_start AS window_start,
        sum(_n.hits) AS hits
{{- range .Measures}},
        {{.Plus (print "_n." .Column)}} AS {{.Column}}
{{- end}}
{{- range .Flags}},
        max(_n.{{.Name}}) AS {{.Name}}
{{- end}}
    FROM
    (
        SELECT {{.Groups}}{{.Start}} AS _start, sum(_w.hits) AS hits{{range .Measures}}, {{if .Additive}}{{.Plus (print "_w." .Column)}}{{else}}{{.Empty}}{{end}} AS {{.Column}}{{end}}{{range .Flags}}, max(_w.{{.Name}}) AS {{.Name}}{{end}}
        FROM
        (
            SELECT {{.Groups}}window_start, max(_s.hits) AS hits{{range .Additive}}, {{.Merge (print "_s." .State)}} AS {{.Column}}{{end}}{{range .Flags}}, {{.Of}} AS {{.Name}}{{end}}
{{- if and .Second .Finished}}
            FROM
            (
                SELECT {{.Groups}}window_start, hits, 0 AS _held, rolled_at{{range .Additive}}, {{.Rolled}}{{end}}
                FROM {{.Source}}
                WHERE {{.Within}}
                UNION ALL
                SELECT {{.Groups}}window_start, 0, hits, toDateTime(0, 'UTC'){{range .Additive}}, {{.Empty}}{{end}}
                FROM
                (
        {{template "tail.sql" .Counted}}
                ) AS _c
            ) AS _s
            GROUP BY {{.Groups}}window_start
            HAVING hits > 0
{{- else}}
            FROM {{.Source}} AS _s
            WHERE {{.Within}}
            GROUP BY {{.Groups}}window_start
{{- end}}
        ) AS _w
        GROUP BY {{.Groups}}_start
{{- if .Finished}}
        UNION ALL
        SELECT {{.Groups}}{{.Start}}, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else if $.Second}}{{.Stored}}{{else}}{{.State}}{{end}}{{end}}{{range .Flags}}, 0{{end}}
        FROM {{if .Second}}{{.State}}{{else}}{{.Source}}{{end}}
        WHERE {{.Within}}
{{- end}}
    ) AS _n
    GROUP BY {{.Groups}}_start
{{- end}}
)
