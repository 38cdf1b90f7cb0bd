{{- /* What people and dashboards read. The statement lists the columns, so that ClickHouse
need not analyse the query to create the view. */ -}}
CREATE OR REPLACE VIEW {{.View}}{{.OnCluster}}
({{.Columns}})
AS {{template "shown.sql" .}}
