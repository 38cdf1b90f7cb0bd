{{- /* The job's current round; the round before which the rollup has every row; and the
time up to which its windows were last recorded as complete. */ -}}
SELECT
    greatest(max(opened), max(done)),
    maxIf(done, rollup = {{.Seconds}}),
    toInt64(toUnixTimestamp64Milli(maxIf(complete_until, rollup = {{.Seconds}})))
FROM {{.Rollups}}
WHERE {{.Job}}{{.ByKey}}
