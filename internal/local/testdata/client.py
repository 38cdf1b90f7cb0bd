"""Uses an engine the way people use ClickHouse from Python; run by a Go test.

usage: client.py HOST PORT DATABASE
"""
import datetime
import sys
import threading

import clickhouse_connect
from clickhouse_connect.driver.external import ExternalData
from clickhouse_connect.driver.exceptions import DatabaseError

host, port, database = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def connect(**args):
    return clickhouse_connect.get_client(host=host, port=port, database=database, **args)


def equal(got, want, what):
    assert got == want, f"{what}: got {got!r}, want {want!r}"


def fails(code, f, what):
    try:
        f()
    except DatabaseError as e:
        assert f"code {code}" in str(e) or f"Code: {code}." in str(e), f"{what}: {e}"
    else:
        raise AssertionError(f"{what}: no error")


def round_trip(name, client):
    assert client.ping(), "ping"
    assert client.server_version.startswith("26."), client.server_version
    equal(client.command("SELECT currentDatabase()"), database, "database")
    equal(client.command("SELECT 7"), 7, "command")

    table = f"t_{name}"
    client.command(f"""CREATE TABLE {table} (a UInt64, s String, d DateTime64(3, 'UTC'), l Array(Nullable(Int32)),
        m Map(String, UInt64), c LowCardinality(String), t Tuple(x Float64, y UUID)) ENGINE = MergeTree ORDER BY a""")
    uuid = "61f0c404-5cb3-11e7-907b-a6006ad3dba0"
    when = datetime.datetime(2025, 11, 20, 1, 2, 3, 456000, tzinfo=datetime.timezone.utc)
    rows = [[i, f"{i}\n\n'\\\t\0 ä", when, [1, None, -i % 100], {"\n\n": i}, "low", {"x": i / 4, "y": uuid}] for i in range(500)]
    client.insert(table, rows, column_names=["a", "s", "d", "l", "m", "c", "t"])
    equal(client.command(f"SELECT count() FROM {table}"), 500, "count")
    got = client.query(f"SELECT * FROM {table} ORDER BY a").result_rows
    for g, w in zip(got, rows, strict=True):
        if g[2].tzinfo is None:  # the client answers UTC without a zone
            g = (g[0], g[1], g[2].replace(tzinfo=datetime.timezone.utc), *g[3:])
        equal([*g[:6], str(g[6]["y"] if isinstance(g[6], dict) else g[6][1])], [*w[:6], uuid], "row")

    nasty = "it's \\ {x:String}\n\n\ttab"
    got = client.query("SELECT {s:String} AS s, {n:UInt64} AS n, {l:Array(String)} AS l",
                       parameters={"s": nasty, "n": 2**64 - 1, "l": ["a'b", "\n"]}).first_row
    equal(tuple(got), (nasty, 2**64 - 1, ["a'b", "\n"]), "parameters")

    equal(client.query("SELECT getSetting('max_block_size')", settings={"max_block_size": 123}).first_row[0], 123, "setting")
    equal(client.query("SELECT getSetting('max_block_size')").first_row[0], 65409, "setting afterwards")

    client.command("CREATE TEMPORARY TABLE mine (a UInt8)")
    client.command("INSERT INTO mine VALUES (1), (2)")
    equal(client.command("SELECT sum(a) FROM mine"), 3, "temporary table in the client's session")

    external = ExternalData(file_name="ext", data=b"1,x\n2,y\n", fmt="CSV", structure=["a UInt64", "s String"])
    equal(client.query("SELECT sum(a), max(s) FROM ext", external_data=external).first_row, (3, "y"), "external data")

    client.raw_insert(table, column_names=["a", "s"], insert_block=b"100000,\"x\n\ny\"\n", fmt="CSV")
    equal(client.query(f"SELECT s FROM {table} WHERE a = 100000").first_row[0], "x\n\ny", "raw insert")
    equal(client.raw_query("SELECT 1 AS x, 'y' AS y", fmt="JSONEachRow").strip(), b'{"x":1,"y":"y"}', "raw query")

    total = 0
    with client.query_row_block_stream("SELECT number, toString(number) FROM numbers(140000)") as stream:
        for block in stream:
            total += len(block)
    equal(total, 140000, "stream")

    fails(60, lambda: client.query("SELECT * FROM nosuch"), "unknown table")
    fails(62, lambda: client.query("SELECT 1 1 1"), "syntax")
    fails(395, lambda: client.query("SELECT throwIf(1)"), "throwIf")
    summary = client.command(f"INSERT INTO {table} (a) SELECT number FROM numbers(10)")
    equal(summary.written_rows, 10, "summary")


for name, args in {
    "plain": {"compress": False},
    "default": {},
    "lz4": {"compress": "lz4"},
    "zstd": {"compress": "zstd"},
    "gzip": {"compress": "gzip"},
    "stateless": {"autogenerate_session_id": False},
}.items():
    try:
        if name == "stateless":
            client = connect(**args)
            equal(client.query("SELECT getSetting('max_block_size')", settings={"max_block_size": 5}).first_row[0], 5, name)
        else:
            round_trip(name, connect(**args))
    except Exception as e:
        raise SystemExit(f"{name}: {type(e).__name__}: {e}")

errors = []


def reader(i):
    try:
        client = connect()
        for j in range(20):
            equal(client.command(f"SELECT {i * 1000 + j}"), i * 1000 + j, "parallel")
    except Exception as e:
        errors.append(e)


threads = [threading.Thread(target=reader, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
if errors:
    raise SystemExit(f"parallel: {errors[0]}")
print("ok")
