{{- /* Windows of the rollup with rows that it may not hold yet. */ -}}
SELECT {{.Start}} FROM {{.State}} WHERE flushed_in >= (SELECT max(done) FROM {{.Rollups}} WHERE {{.Job}} AND rollup = {{.Seconds}})
