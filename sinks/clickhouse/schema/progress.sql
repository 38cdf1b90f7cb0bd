{{- /* The job's current round; the round below which the rollup holds every row;
up to where its windows were last noted to be complete. */ -}}
SELECT
    greatest(max(opened), max(done)),
    maxIf(done, rollup = {{.Seconds}}),
    toInt64(toUnixTimestamp64Milli(maxIf(complete_until, rollup = {{.Seconds}})))
FROM {{.Rollups}}
WHERE {{.Job}}
