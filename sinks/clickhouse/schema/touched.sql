{{- /* Windows of the first rollup that have rows which it may lack. */ -}}
SELECT {{.Start}} FROM {{.State}} WHERE flushed_in >= {{.Done}}
