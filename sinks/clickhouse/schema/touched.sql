{{- /* Windows of the rollup that have rows which it may lack. */ -}}
SELECT {{.Start}} FROM {{.State}} WHERE flushed_in >= (SELECT max(done) FROM {{.Rollups}} WHERE {{.Job}} AND rollup = {{.Seconds}})
