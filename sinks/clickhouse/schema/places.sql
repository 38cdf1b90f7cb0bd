{{- /* The last position of each member in each window. */ -}}
CREATE OR REPLACE VIEW {{.View}}{{.OnCluster}}
(`window_start` DateTime('UTC'), `member` String, `score` UInt64, `lon` Float64, `lat` Float64, `geohash` String, `ts` DateTime64(3, 'UTC'))
AS SELECT
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
    FROM {{.Table}}
    GROUP BY window_start, member
) AS _t
