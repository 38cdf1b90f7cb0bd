{{- /* The view weir_audit: what does not add up; no row is fine. It makes the checks of
package audit for a reader who has only SQL. It does not judge rows and lines of the
last seconds, because a flush writes the rows of a chunk before its line. If the time
of writing is ahead of the server's clock, it says so, because nothing else says how old
they are.

Of little data nearly all of the cost is the analysis of the statement, and each SELECT, GROUP BY
or subquery of a job adds to it. So all jobs are in one pass. A job has only the reads of its tables, in views of their
own (audit_states.sql, audit_rows.sql), because the analyser walks through a whole subquery for each expression above
it. What differs between tables is in _tables, by their places: the state rows and then the rollups of each job. */ -}}
CREATE OR REPLACE VIEW {{.Name "weir_audit"}}{{.OnCluster}}
(
    `job` String, `version` UInt32, `kind` String, `epoch` UInt8, `partition` UInt16, `chunk` UInt64,
    `window_start` Nullable(DateTime('UTC')), `groups` String, `expected` UInt64, `found` UInt64, `detail` String
)
AS WITH
    (
        WITH
            (SELECT mapFromArrays(groupArray(concat(job, ' ', toString(version))), groupArray(_at)) FROM ({{.Raised}})) AS _raised,
            (SELECT mapFromArrays(groupArray(concat(job, ' ', toString(version), ' ', toString(rollup))), groupArray(_round)) FROM (SELECT job, version, rollup, max(done) AS _round FROM {{.Read "weir_rollups"}} GROUP BY job, version, rollup)) AS _rounds,
            (SELECT mapFromArrays(groupArray(object), groupArray(_at)) FROM (SELECT object, toDateTime(max(applied_at)) AS _at FROM {{.Name "weir_schema"}} WHERE object LIKE '%_rollup%' GROUP BY object)) AS _applied,
            toInt64(toUnixTimestamp(now())) AS _now
        SELECT CAST(arrayMap(t -> (t.4, t.5,
                greatest(_now - t.6, 0, _raised[concat(t.1, ' ', toString(t.2))]),
                greatest(if(t.7 = 0, 0, _now - t.7), t.8),
                if(t.9 = '', 0, intDiv(_now - t.6, t.4) * t.4),
                _rounds[concat(t.1, ' ', toString(t.2), ' ', toString(t.4))],
                greatest(_applied[t.9], _applied[concat(t.9, ' ttl')], _applied[concat(t.3, {{text .Progressed}})])
            ), [{{template "audit_tables.sql" .}}]), 'Array(Tuple(seconds UInt32, last UInt32, horizon DateTime(\'UTC\'), since Int64, within Int64, done UInt64, begun DateTime(\'UTC\')))')
    ) AS _tables,
    (SELECT CAST(arrayMap(t -> (t.1, t.2, t.3, t.10, t.11), [{{template "audit_tables.sql" .}}]), 'Array(Tuple(job String, version UInt32, table String, groups UInt32, chunk UInt64))')) AS _names,
    lines AS
    (
        SELECT
            job, version, epoch, partition, chunk, first,
            toUInt64(max(_l.next)) AS next, toUInt64(max(_l.counted)) AS counted, toUInt64({{.Others}}) AS others,
            toUInt64(max(_l.events)) AS events, toUInt64({{.Events}}) AS each, toUInt64(max(_l.events_counted)) AS events_counted,
            toUInt64(if(max(_l.events) + each > 0, max(_l.events_counted), max(_l.counted))) AS hits,
            max(flushed_at) AS flushed, min(_l.began) AS began
        FROM {{.Read "weir_ledger"}} AS _l
        GROUP BY job, version, epoch, partition, chunk, first
        {{- /* Without lines that stand for nothing, because a fold of lines covers them. */}}
        QUALIFY (max(max(_l.next)) OVER (PARTITION BY job, version, epoch, partition ORDER BY chunk RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS _before) <= first OR _before < max(_l.next)
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

UNION ALL

SELECT
    _of.job, _of.version,
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
    SELECT _names[_source] AS _of, _tables[_source].horizon AS _horizon, _at AS slot, sum(_m.hits) AS hits, max(_m.touched) AS touched, {{.Ahead "max(_m.touched)"}} AS ahead, max(_m.known) AS known, max(_m.least_counted) AS least_counted, max(_m.most_counted) AS most_counted, min(_m.began) AS began
    FROM
    ({{- /* Rows of chunks that a fold stands for are compared with it. */}}
        SELECT _source, slot, hits, touched, known, least_counted, most_counted, began, if(slot < max(until) OVER before, max(if(until > 0, slot, 0)) OVER before, slot) AS _at
        FROM
        (
            SELECT _source, slot, sum(_n.hits) AS hits, max(_n.touched) AS touched, max(_n.known) AS known, max(_n.least_counted) AS least_counted, max(_n.most_counted) AS most_counted, min(_n.began) AS began, max(_n.until) AS until
            FROM
            (
                SELECT _source, arrayJoin(arrayZip(mapKeys(_counts), mapValues(_counts))) AS pair, pair.1 AS slot, pair.2 AS hits, _at AS touched, 0 AS known, 0 AS least_counted, 0 AS most_counted, toDateTime('2106-01-01 00:00:00', 'UTC') AS began, toUInt64(0) AS until
                FROM {{.Name "weir_audit_states"}}
                UNION ALL
                SELECT arrayFirstIndex(t -> (t.job, t.version) = (toString(job), version), _names) AS _of, (0, 0), bitOr(bitOr(bitShiftLeft(toUInt64(epoch), 56), bitShiftLeft(toUInt64(partition), 40)), chunk) AS _slot, 0, max(flushed), 1, max(lines.hits), sum(lines.hits), min(began), toUInt64(if(intDiv(max(next) - min(first), greatest(_names[_of].chunk, 1)) AS _chunks > 1, _slot + _chunks, 0))
                FROM lines
                GROUP BY job, version, epoch, partition, chunk
            ) AS _n
            WHERE _source > 0
            GROUP BY _source, slot
        )
        WINDOW before AS (PARTITION BY _source ORDER BY slot)
    ) AS _m
    GROUP BY _source, _at
)
WHERE (hits < least_counted OR hits > most_counted) AND (touched <= now() - {{.Quiet}} OR ahead > 0) AND began > _horizon

UNION ALL
{{- /* A row goes to the rollup that it is of, and to the next longer one, which is made from it. It goes to all
that are still longer, too, if that one may lack it. compare.sql has the same for one rollup, with its measures. */}}

SELECT
    _of.job, _of.version, multiIf(_rolled < _held, 'rollup', _ahead > 0, 'ahead', 'window'), 0, 0, 0, toDateTime(_start, 'UTC'), arrayStringConcat(arraySlice(_group, 1, _of.groups), ' '), greatest(_rolled, _held), least(_rolled, _held),
    multiIf(
        _rolled < _held, concat(_of.table, ' holds fewer events of the window than the rows it is made from: run weir repair'),
        _ahead > 0, concat('not judged: the server\'s clock is behind the time at which the rows of the window were written, by seconds: ', toString(_ahead)),
        concat('the rows hold fewer events of the window than ', _of.table, ', which is made from them: rows are gone'))
FROM
(
    SELECT
        _names[_level] AS _of, _all[_level] AS _t, _all[_level - 1] AS _b, _start, _group, _rolled, _held,
        if(_b.seconds = 0, _made > _t.horizon, _start >= _b.since AND _made >= _t.begun) AS _kept,
        _kept AND _touched <= now('UTC') - {{.Quiet}} AND NOT _lacking AS _whole,
        if(_kept, {{.Ahead "_touched"}}, 0) AS _ahead,
        _stamp < _t.done AND _start >= _t.since AS _due
    FROM
    (
        SELECT
            _tables AS _all, max(_lacks) OVER (PARTITION BY _level, _start) AS _lacking, _level, _start, _group,
            sumIf(_hits, _level = _source) AS _rolled, sumIf(_hits, _level = _source + 1) AS _held,
            maxIf(_at, _level = _source) AS _made, maxIf(_at, _level = _source + 1) AS _touched, maxIf(_in, _level = _source + 1) AS _stamp, max(_level > _source + 1) AS _lacks
        FROM
        (
            SELECT
                _source, _group, _hits, _at, _in, _tables AS _all, _all[_source] AS _s,
                arrayJoin(range(_source + (_s.seconds = 0), if(_in >= _all[_source + 1].done, _s.last, least(_source + 1, _s.last)) + 1)) AS _level,
                _all[_level] AS _t, if(_level = _source, toUnixTimestamp(window_start), intDiv(toUnixTimestamp(window_start), _t.seconds) * _t.seconds) AS _start
            FROM {{.Name "weir_audit_rows"}}
        )
        WHERE _start >= _t.within
        GROUP BY _level, _start, _group
        HAVING _rolled != _held OR _lacks
    )
)
WHERE _held < _rolled AND (_whole OR _ahead > 0) OR _rolled < _held AND _due
