{{- /* Stamps windows whose numbers whole rows gave: the next longer rollup finds them by it. */ -}}
INSERT INTO {{.Table}} ({{.Groups}}window_start, rolled_in)
SELECT {{.Groups}}window_start, {{.Round}}
FROM {{.Table}}
WHERE {{.Within}}
GROUP BY {{.Groups}}window_start
