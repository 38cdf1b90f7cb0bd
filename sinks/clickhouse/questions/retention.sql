{{- /* How many ids of each period were there in the same and in each later one. Each id gets
the bits of its periods, and a number. Sets of these numbers are dense, whatever the ids are,
and so two of them are compared in microseconds: sets of a million hashes would take 10 ms. */ -}}
WITH
    {{template "at.sql" .}}
SELECT
    {{.By}}{{.WindowStart}} AS window_start,
    {{.WindowEnd}} AS window_end,
    toUInt64({{.Distinct "_of"}}) AS cohort,
    {{.Starts "_later"}} AS later,
    toUInt64({{.Distinct "_of"}} + {{.Distinct "_in"}} - least({{.Distinct "(_of + _in - _both)"}}, {{.Distinct "_of"}} + {{.Distinct "_in"}})) AS returned,
    toUInt8(ifNull({{.Ends "_later"}} <= _at.{{.CompleteAt}}, 0)) AS complete
FROM
(
    SELECT
        {{.By}}{{.Window "_a.1"}} AS _window, {{.Window "_b.1"}} AS _later,
        bitmapCardinality(_a.2) AS _of, bitmapCardinality(_b.2) AS _in, bitmapAndCardinality(_a.2, _b.2) AS _both
    FROM
    (
        SELECT {{.By}}groupArray((_period, _set)) AS _sets
        FROM
        (
            SELECT {{.By}}_period, groupBitmapState(toUInt32(_number)) AS _set
            FROM
            (
                SELECT {{.By}}rowNumberInAllBlocks() AS _number, arrayJoin(bitPositionsToArray(_bits)) AS _period
                FROM
                (
                    SELECT {{.By}}_id, groupBitOr(bitShiftLeft(toUInt64(1), _place)) AS _bits
                    FROM (SELECT {{.By}}_place, arrayJoin(_ids) AS _id FROM (
            {{template "ids.sql" .}}) AS _s)
                    GROUP BY {{.By}}_id
                )
            )
            GROUP BY {{.By}}_period
        )
        {{.Grouped}}
    )
    ARRAY JOIN _sets AS _a
    ARRAY JOIN _sets AS _b
    WHERE _a.1 <= _b.1
)
{{- if .Kept}}
WHERE {{.Kept}}
{{- end}}
