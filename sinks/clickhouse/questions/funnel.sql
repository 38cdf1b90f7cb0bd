{{- /* How many ids take the steps in their order, at least and at most (funnel.go). The panes
of an id matter only if it has taken the first step. Conditions are put together by * where AND
would cost more than all else: ClickHouse looks at each pair of comparisons in a chain of ANDs. */ -}}
WITH
    {{.Asked}} AS _asked,
    {{template "at.sql" .}}
SELECT
    toUInt32(_k) AS step,
    {steps:Array(String)}[_k] AS name,
    toUInt64(greatest(0, toInt64(_sure) - toInt64({{.Margin "_mixed" "_mixed" "1"}}))) AS least,
    toUInt64(_may + {{.Margin "_both" "_both" "1"}}) AS most,
    toUInt8(ifNull(toDateTime({{.Until}}, 'UTC') <= _at.{{.CompleteAt}}, 0)) AS complete
FROM
(
    SELECT
        _k, arraySum(w -> w.4 * (w.2 >= _k), _went) AS _sure, arraySum(w -> w.4 * (w.3 >= _k), _went) AS _may,
        toFloat64(arrayMin(arrayMap(j -> arraySum(w -> w.4 * bitTest(w.1, j), _went), range(_k)))) * _n / 4294967296. AS _mixed,
        toFloat64(_may) * _may / 8589934592. AS _both
    FROM
    (
        SELECT groupArray((_steps, _sure, _may, _ids)) AS _went, sum(_ids) AS _n
        FROM
        (
            SELECT
                _steps,
                toUInt8(bitAnd(_least, 63) + (bitAnd(_least, 63) + 1 = _of) * ({{.After "_last" "_least"}}) * (_of > 1)) AS _sure,
                toUInt8(bitAnd(_most, 63) + (bitAnd(_most, 63) + 1 = _of) * (_last > _most) * (_of > 1)) AS _may,
                count() AS _ids
            FROM
            (
                SELECT
                    length({steps:Array(String)}) AS _of,
                    groupBitOr(bitShiftLeft(toUInt32(1), bitAnd(_place, 63) - 1)) AS _steps,
                    minIf(_place, bitAnd(_place, 63) = 1) AS _first,
                    maxIf(_place, bitAnd(_place, 63) = _of) AS _last,
                    arraySort(if(_first > 0, groupArrayIf(_place, toUInt8((bitAnd(_place, 63) > 1) * (bitAnd(_place, 63) < _of))), [])) AS _places,
                    {{.Reached "_first" "_places"}} AS _reached,
                    _reached.1 AS _least,
                    _reached.2 AS _most
                FROM (SELECT _place, arrayJoin(_ids) AS _id FROM (
            {{template "ids.sql" .}}) AS _s)
                GROUP BY _id
            )
            GROUP BY _steps, _sure, _may
        )
    )
    ARRAY JOIN arrayEnumerate({steps:Array(String)}) AS _k
)
ORDER BY step
