{{- /* How many ids take the steps in their order, at least and at most (funnel.go). The panes
of an id matter only if it has taken the first two steps in any order. */ -}}
WITH
    {{template "at.sql" .}}
SELECT
    toUInt32(_k) AS step,
    {steps:Array(String)}[_k] AS name,
    toUInt64(greatest(0, toInt64(arraySum(w -> w.3 * (w.1 >= _k), _went)) - toInt64(_margin))) AS least,
    toUInt64(arraySum(w -> w.3 * (w.2 >= _k), _went) + _margin) AS most,
    toUInt8(ifNull(toDateTime({{.Until}}, 'UTC') <= _at.{{.CompleteAt}}, 0)) AS complete
FROM
(
    SELECT groupArray((_sure, _may, _n)) AS _went, {{.Margin "(toFloat64(sum(_n)) * sum(_n) / 8589934592.)"}} AS _margin
    FROM
    (
        SELECT _sure, _may, count() AS _n
        FROM
        (
            SELECT
                groupBitOr(bitShiftLeft(toUInt64(1), bitAnd(_place, 63))) AS _steps,
                bitAnd(_steps, 6) = 6 AS _two,
                arraySort(if(_two, groupArray(_place), [])) AS _places,
                if(_two, {{.Sure "_places"}}, bitTest(_steps, 1)) AS _sure,
                if(_two, {{.May "_places"}}, bitTest(_steps, 1)) AS _may
            FROM (SELECT _place, arrayJoin(bitmapToArray(_ids)) AS _id FROM (
            {{template "ids.sql" .}}) AS _s)
            GROUP BY _id
        )
        GROUP BY _sure, _may
    )
)
ARRAY JOIN arrayEnumerate({steps:Array(String)}) AS _k
ORDER BY step
