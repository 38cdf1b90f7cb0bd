"""What redis-py does with the endpoint, in RESP2 and RESP3; prints ok."""

import sys

import redis

host, port = sys.argv[1], int(sys.argv[2])

for protocol in (2, 3):
    r = redis.Redis(host, port, protocol=protocol, decode_responses=True)
    r.flushall()
    assert r.ping()
    assert r.set("k", "v", ex=100) and r.get("k") == "v" and 99 <= r.ttl("k") <= 100
    assert r.pfadd("h", "a", "b", "c") == 1 and r.pfcount("h") == 3
    assert r.pfmerge("h2", "h") and r.pfcount("h2", "h") == 3
    assert r.setbit("b", 7, 1) == 0 and r.bitcount("b") == 1 and r.bitop("NOT", "n", "b") == 1
    assert r.bitfield("f").set("u8", 0, 255).incrby("u8", 0, 1).execute() == [0, 0]
    assert r.geoadd("g", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")) == 2
    assert abs(r.geodist("g", "Palermo", "Catania", unit="km") - 166.2742) < 1e-9
    near = r.geosearch("g", longitude=15, latitude=37, radius=200, unit="km", sort="ASC", withdist=True)
    assert [name for name, _ in near] == ["Catania", "Palermo"], near
    assert abs(r.geopos("g", "Palermo")[0][0] - 13.36138933897018433) < 1e-9
    assert r.zadd("z", {"a": 1.5, "b": 2}) == 2 and r.zscore("z", "a") == 1.5
    assert [(m, s) for m, s in r.zrange("z", 0, -1, withscores=True)] == [("a", 1.5), ("b", 2.0)]
    assert r.sadd("u", "a", "b", "c") == 3 and r.sismember("u", "a") and r.smismember("u", "a", "x") == [1, 0]
    assert r.smembers("u") == {"a", "b", "c"} and r.sinter("u", "u") == {"a", "b", "c"}
    assert r.sunionstore("u2", "u") == 3 and r.sdiff("u", "u2") == set() and r.sintercard(2, ["u", "u2"]) == 3
    assert len(r.srandmember("u", 2)) == 2 and len(r.spop("u2", 2)) == 2 and r.scard("u2") == 1
    assert set(r.sscan_iter("u", count=2)) == {"a", "b", "c"}
    assert sorted(r.scan_iter(count=2)) == sorted(r.keys("*"))

    bf = r.bf()
    assert bf.create("seen", 0.01, 1000) and bf.add("seen", "x") == 1
    assert bf.exists("seen", "x") == 1 and bf.exists("seen", "y") == 0
    assert bf.card("seen") == 1

    with r.pipeline(transaction=True) as p:
        p.set("k", "w")
        p.get("k")
        assert p.execute() == [True, "w"]

    # The lock runs the scripts that it is released and extended with.
    lock = r.lock("lock", timeout=10)
    assert lock.acquire(blocking=False)
    assert not r.lock("lock", timeout=10).acquire(blocking=False)
    assert lock.reacquire()
    lock.release()
    assert r.get("lock") is None

    try:
        r.lpush("k", "x")
        raise AssertionError("no error for the wrong type")
    except redis.ResponseError as e:
        assert str(e).startswith("WRONGTYPE"), e
    r.close()
print("ok")
