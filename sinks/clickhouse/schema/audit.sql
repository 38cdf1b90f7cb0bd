{{- /* The view weir_audit: what does not add up; no row is fine. It makes the checks of
package audit for a reader who has only SQL. It does not judge rows and lines of the
last seconds, because a flush writes the rows of a chunk before its line. If the time
of writing is ahead of the server's clock, it says so, because nothing else says how old
they are. */ -}}
CREATE OR REPLACE VIEW {{.View}}{{.OnCluster}}
(
    `job` String, `version` UInt32, `kind` String, `epoch` UInt8, `partition` UInt16, `chunk` UInt64,
    `window_start` Nullable(DateTime('UTC')), `groups` String, `expected` UInt64, `found` UInt64, `detail` String
)
AS WITH lines AS
(
    SELECT
        job, version, epoch, partition, chunk, first,
        toUInt64(max(_l.next)) AS next, toUInt64(max(_l.counted)) AS counted, toUInt64({{.Others}}) AS others,
        toUInt64(max(_l.events)) AS events, toUInt64({{.Events}}) AS each, toUInt64(max(_l.events_counted)) AS events_counted,
        toUInt64(if(max(_l.events) + each > 0, max(_l.events_counted), max(_l.counted))) AS hits,
        max(flushed_at) AS flushed, min(_l.began) AS began
    FROM {{.Ledger}} AS _l
    GROUP BY job, version, epoch, partition, chunk, first
)
SELECT
    job, version, CAST('outcomes', 'String') AS kind, epoch, partition, chunk,
    CAST(NULL, 'Nullable(DateTime(\'UTC\'))') AS window_start, '' AS groups,
    toUInt64(next - first) AS expected, counted + others AS found,
    'the outcomes of a ledger line do not sum up to its offsets: the line was changed' AS detail
FROM lines
WHERE next - first != counted + others

UNION ALL

SELECT
    job, version, 'events', epoch, partition, chunk, NULL, '', events, hits,
    'the events of a ledger line do not add up, or do not go with the records that were counted: the line was changed'
FROM lines
WHERE events != each OR (each > 0 AND (counted > events_counted OR (counted > 0) != (events_counted > 0)))

UNION ALL

SELECT
    job, version, 'hole', epoch, partition, chunk, NULL, '', reached, first,
    'offsets between two ledger lines have no outcome: a line is missing before this one'
FROM
(
    SELECT
        job, version, epoch, partition, chunk, first,
        max(next) OVER before AS reached, countIf(next > first) OVER before AS earlier
    FROM lines
    WINDOW before AS (PARTITION BY job, version, epoch, partition ORDER BY first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
WHERE earlier > 0 AND first > reached

UNION ALL

SELECT
    '', 0, 'function', 0, 0, 0, NULL, name, 0, 0,
    'the SQL function is not the one of the version that made this view, so queries and rollups may have wrong numbers: run weir migrate'
FROM system.functions
WHERE {{.Foreign}}
{{- range .Jobs}}

UNION ALL

SELECT
    {{text .Name}}, {{.Version}},
    multiIf(ahead > 0, 'ahead', known = 0, 'no line', hits < least_counted, 'rows missing', 'rows in excess'),
    toUInt8(bitShiftRight(slot, 56)), toUInt16(bitAnd(bitShiftRight(slot, 40), 65535)), bitAnd(slot, 1099511627775),
    NULL, '', if(hits < least_counted, least_counted, most_counted), hits,
    multiIf(
        ahead > 0, concat('not judged: the server\'s clock is behind the time at which the chunk was written, by seconds: ', toString(ahead)),
        known = 0, 'state rows count events of a chunk that has no ledger line',
        hits < least_counted, 'state rows hold fewer events of the chunk than the ledger says were counted: rows are gone',
        'state rows hold more events of the chunk than the ledger says were counted: rows were changed, or a flush was interrupted and weir was not started since')
FROM
(
    SELECT slot, sum(_n.hits) AS hits, max(_n.touched) AS touched, {{$.Ahead "max(_n.touched)"}} AS ahead, max(_n.known) AS known, max(_n.least_counted) AS least_counted, max(_n.most_counted) AS most_counted, min(_n.began) AS began
    FROM
    (
        SELECT arrayJoin(arrayZip(mapKeys(_merged), mapValues(_merged))) AS pair, pair.1 AS slot, pair.2 AS hits, _touched AS touched, 0 AS known, 0 AS least_counted, 0 AS most_counted, toDateTime('2106-01-01 00:00:00', 'UTC') AS began
        FROM
        (
            SELECT maxMap(hits) AS _merged, max(flushed_at) AS _touched
            FROM {{.State}}
            GROUP BY {{.Groups}}window_start
        )
        UNION ALL
        SELECT (0, 0), bitOr(bitOr(bitShiftLeft(toUInt64(epoch), 56), bitShiftLeft(toUInt64(partition), 40)), chunk), 0, max(flushed), 1, max(lines.hits), sum(lines.hits), min(began)
        FROM lines
        WHERE job = {{text .Name}} AND version = {{.Version}}
        GROUP BY epoch, partition, chunk
    ) AS _n
    GROUP BY slot
)
WHERE (hits < least_counted OR hits > most_counted) AND (touched <= now() - {{$.Quiet}} OR ahead > 0) AND began > greatest(now() - {{.Horizon}}, {{.Raised}})
{{- range .Levels}}

UNION ALL

SELECT
    {{text .Name}}, {{.Version}}, multiIf(_rolled < _held, 'rollup', _ahead > 0, 'ahead', 'window'), 0, 0, 0, window_start, {{.GroupText}}, greatest(_rolled, _held), least(_rolled, _held),
    multiIf(
        _rolled < _held, concat({{text .Label}}, ' holds fewer events of the window than the rows it is made from: run weir repair'),
        _ahead > 0, concat('not judged: the server\'s clock is behind the time at which the rows of the window were written, by seconds: ', toString(_ahead)),
        concat('the rows hold fewer events of the window than ', {{text .Label}}, ', which is made from them: rows are gone'))
FROM
(
    {{template "compare.sql" .}}
)
WHERE _held < _rolled AND (_whole OR _ahead > 0) OR _rolled < _held AND _due
{{- end}}
{{- end}}
