{{- /* How many sessions begin in each window. Of each id, the panes it is in are put in order,
and each is compared with the one before (sessions.go). A pane in which a session may begin
becomes the number w·2, and w·2 + 1 if it does so for certain; and each id adds a 1, so that
they are counted. No id begins more than _most sessions in a window, and in all of them more than
it has _starts: those are what the rows of the 1 have. */ -}}
WITH
    {{template "at.sql" .}}
SELECT
    {{.By}}toDateTime({{.First}} + _number * {{.Every}}, 'UTC') AS window_start,
    toDateTime({{.First}} + (_number + 1) * {{.Every}}, 'UTC') AS window_end,
    toUInt64(_sure) AS least,
    toUInt64(_may + {{.Margin "(toFloat64(_may) * _of / 4294967296.)" "(toFloat64(_squares) * _of / 2147483648.)" "(2 * _each)"}}) AS most,
    toUInt64(_all + {{.Margin "(toFloat64(_all) * _of / 4294967296.)" "(toFloat64(_all_squares) * _of / 2147483648.)" "(2 * _all_each)"}}) AS total_most,
    toUInt8(ifNull(window_end <= _at.{{.CompleteAt}}, 0)) AS complete
FROM
(
    SELECT
        {{.By}}_number, _sure, _may, _squares, _each,
        sum(if(_number < 0, _may, 0)) OVER ({{.Partition}}) AS _of,
        sum(if(_number < 0, 0, _may)) OVER ({{.Partition}}) AS _all,
        sum(if(_number < 0, _squares, 0)) OVER ({{.Partition}}) AS _all_squares,
        max(if(_number < 0, _each, 0)) OVER ({{.Partition}}) AS _all_each
    FROM
    (
        SELECT
            {{.By}}if(_begun = 1, -1, intDiv(toInt64(bitShiftRight(_begun, 1)) - 1 - {{.Before}}, intDiv({{.Every}}, {{.Pane}}))) AS _number,
            sum(bitAnd(_begun, 1)) AS _sure,
            count() AS _may,
            sum(if(_begun = 1, length(_starts) * length(_starts), _most)) AS _squares,
            max(if(_begun = 1, length(_starts), _most)) AS _each
        FROM
        (
            SELECT
                {{.By}}arraySort(groupArray(_place)) AS _panes,
                arrayFilter(b -> b > 0, arrayMap(
                    (w, gap) -> if(w > {{.Before}} AND gap >= intDiv({{.Gap}}, {{.Pane}}), toUInt64(w) * 2 + (gap > {{.Before}}), 0),
                    _panes, arrayPopFront(arrayDifference(arrayPushFront(_panes, toInt32(-1000000)))))) AS _starts,
                least(length(_starts), toUInt64(intDiv(toUInt64({{.Every}}) + {{.Gap}} - 1, {{.Gap}}))) AS _most,
                arrayJoin(arrayPushBack(_starts, 1)) AS _begun
            FROM (SELECT {{.By}}_place, arrayJoin(_ids) AS _id FROM (
            {{template "ids.sql" .}}) AS _s)
            GROUP BY {{.By}}_id
        )
        GROUP BY {{.By}}_number
    )
)
WHERE _number >= 0
