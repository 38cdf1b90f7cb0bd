{{- /* The last position of each member in each window. */ -}}
SELECT
    window_start,
    member,
    _t.latest.score AS score,
    weirLon(score) AS lon,
    weirLat(score) AS lat,
    weirGeohash(score, 11) AS geohash,
    _t.latest.ts AS ts
FROM
(
    SELECT window_start, member, max(last) AS latest
    FROM {{.}}
    GROUP BY window_start, member
) AS _t
