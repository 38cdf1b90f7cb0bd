{{- /* The server's time; since when the rollup may lack rows; up to where its
windows were last noted to be complete. */ -}}
SELECT
    toInt64(toUnixTimestamp(now())),
    toInt64(toUnixTimestamp(max(since))),
    toInt64(toUnixTimestamp64Milli(max(complete_until)))
FROM {{.Rollups}}
WHERE {{.Job}} AND rollup = {{.Seconds}}
