{{- /* Windows of the rollup that were written since it last ran. */ -}}
SELECT {{.Start}} FROM {{.State}} WHERE flushed_at >= (SELECT max(since) FROM {{.Rollups}} WHERE {{.Job}} AND rollup = {{.Seconds}})
