package redis

import (
	"math"
	"strconv"

	"weir/sketches/geo"
)

var geoCommands = []command{
	{name: "geoadd", arity: -5, flags: flagWrite | flagGrow, keys: firstKey, family: "geo", about: "adds members at positions; NX XX CH", run: geoadd},
	{name: "geodist", arity: -4, keys: firstKey, family: "geo", about: "the distance of two members in m, km, ft or mi", run: geodist},
	{name: "geopos", arity: -2, keys: firstKey, family: "geo", about: "the positions of members", run: geopos},
	{name: "geohash", arity: -2, keys: firstKey, family: "geo", about: "the geohash texts of members", run: geohash},
	{name: "georadius", arity: -6, flags: flagWrite | flagGrow, keys: firstKey, dest: -1, family: "geo", about: "members within a radius of a position; may STORE them", run: func(c call, k *keyspace) { georadius(c, k, search{store: true}) }},
	{name: "georadius_ro", arity: -6, keys: firstKey, family: "geo", about: "members within a radius of a position", run: func(c call, k *keyspace) { georadius(c, k, search{}) }},
	{name: "georadiusbymember", arity: -5, flags: flagWrite | flagGrow, keys: firstKey, dest: -1, family: "geo", about: "members within a radius of a member; may STORE them", run: func(c call, k *keyspace) { georadius(c, k, search{byMember: true, store: true}) }},
	{name: "georadiusbymember_ro", arity: -5, keys: firstKey, family: "geo", about: "members within a radius of a member", run: func(c call, k *keyspace) { georadius(c, k, search{byMember: true}) }},
	{name: "geosearch", arity: -7, keys: firstKey, family: "geo", about: "members within a circle or a box around a position or a member", run: func(c call, k *keyspace) { geosearch(c, k, search{free: true}, 2) }},
	{name: "geosearchstore", arity: -8, flags: flagWrite | flagGrow, keys: keySpec{1, 2, 1}, dest: 1, family: "geo", about: "GEOSEARCH into a key; the source may be a window key", run: func(c call, k *keyspace) { geosearch(c, k, search{free: true, store: true}, 3) }},
}

// place reads a longitude and a latitude; if they are none, it sends the error.
func (c call) place(args [][]byte) (lon, lat float64, ok bool) {
	if lon, ok = c.float(args[0]); !ok {
		return
	}
	if lat, ok = c.float(args[1]); !ok {
		return
	}
	if lon < geo.LonMin || lon > geo.LonMax || lat < geo.LatMin || lat > geo.LatMax {
		c.w.Error("ERR invalid longitude,latitude pair " + printed(lon) + "," + printed(lat))
		return lon, lat, false
	}
	return lon, lat, true
}

// printed returns a number as printf of C does with %f.
func printed(v float64) string {
	if math.IsInf(v, 0) {
		return [...]string{"inf", "-inf"}[btoi(v < 0)]
	}
	return strconv.FormatFloat(v, 'f', 6, 64)
}

func (c call) unit(arg []byte) (geo.Unit, bool) {
	u, ok := geo.ParseUnit(arg)
	if !ok {
		c.w.Error("ERR unsupported unit provided. please use M, KM, FT, MI")
	}
	return u, ok
}

func geoadd(c call, k *keyspace) {
	r, triples := c.addOptionsOf(false)
	if len(triples)%3 != 0 || r.nx && r.xx {
		c.w.Error(errSyntax)
		return
	}
	scores := make([]float64, 0, 8)
	names := make([][]byte, 0, 8)
	for ; len(triples) > 0; triples = triples[3:] {
		lon, lat, ok := c.place(triples)
		if !ok {
			return
		}
		cell, _ := geo.Encode(lon, lat)
		scores, names = append(scores, float64(cell)), append(names, triples[2])
	}
	if len(names) == 0 { // options only: ZADD has the error
		c.w.Error(errSyntax)
		return
	}
	c.addMembers(k, r, scores, names)
}

func geodist(c call, k *keyspace) {
	u := geo.Metre
	switch {
	case len(c.args) == 5:
		var ok bool
		if u, ok = c.unit(c.args[4]); !ok {
			return
		}
	case len(c.args) > 5:
		c.w.Error(errSyntax)
		return
	}
	c.ask(k, func(z *zset) bool {
		lon1, lat1, ok1 := z.Position(c.args[2])
		lon2, lat2, ok2 := z.Position(c.args[3])
		if ok1 && ok2 {
			c.distance(geo.Distance(lon1, lat1, lon2, lat2) / float64(u))
		}
		return ok1 && ok2
	})
}

// distance sends a distance, which is a string in RESP3, too.
func (c call) distance(d float64) {
	var room [40]byte
	c.w.Bulk(geo.AppendDistance(room[:0], d))
}

func (c call) position(lon, lat float64) {
	var room [48]byte
	c.w.Array(2)
	c.w.Number(geo.AppendCoordinate(room[:0], lon))
	c.w.Number(geo.AppendCoordinate(room[:0], lat))
}

// askEach replies with an array: answer sends an element for each member that is named.
// missing sends the element if there is no sorted set, or if answer returns false, which
// has sent nothing then.
func (c call) askEach(k *keyspace, answer func(z *zset, name []byte) bool, missing func()) {
	z, ok := c.members(k, c.args[1])
	if !ok {
		return
	}
	c.w.Array(len(c.args) - 2)
	for _, name := range c.args[2:] {
		if z == nil || !answer(z, name) {
			missing()
		}
	}
}

func geopos(c call, k *keyspace) {
	c.askEach(k, func(z *zset, name []byte) bool {
		lon, lat, ok := z.Position(name)
		if ok {
			c.position(lon, lat)
		}
		return ok
	}, c.w.NullArray)
}

func geohash(c call, k *keyspace) {
	c.askEach(k, func(z *zset, name []byte) bool {
		score, ok := z.Score(name)
		if ok {
			var room [geo.HashPrecisionMax]byte
			c.w.Bulk(geo.AppendHashOf(room[:0], geo.CellOf(score)))
		}
		return ok
	}, c.w.Null)
}

// A search is a geo search while its arguments are read: in one pass, with errors in
// the order of georadiusGeneric of geo.c.
type search struct {
	byMember bool // GEORADIUSBYMEMBER
	free     bool // GEOSEARCH: the centre and the shape are options
	store    bool // may store, and must if free

	q                             geo.Query
	dest                          []byte
	storeDist                     bool
	withCoord, withDist, withHash bool
	centre, shape                 string // the kind of option that has given each; "" before
}

// radius reads a length and its unit.
func (c call) radius(args [][]byte) (geo.Shape, bool) {
	r, ok := parseFloat(args[0])
	if !ok {
		c.w.Error("ERR need numeric radius")
		return geo.Shape{}, false
	}
	if r < 0 {
		c.w.Error("ERR radius cannot be negative")
		return geo.Shape{}, false
	}
	u, ok := c.unit(args[1])
	return geo.Circle(r, u), ok
}

func (c call) box(args [][]byte) (geo.Shape, bool) {
	w, ok := parseFloat(args[0])
	if !ok {
		c.w.Error("ERR need numeric width")
		return geo.Shape{}, false
	}
	h, ok := parseFloat(args[1])
	if !ok {
		c.w.Error("ERR need numeric height")
		return geo.Shape{}, false
	}
	if w < 0 || h < 0 {
		c.w.Error("ERR height or width cannot be negative")
		return geo.Shape{}, false
	}
	u, ok := c.unit(args[2])
	return geo.Rectangle(w, h, u), ok
}

func (c call) centreOn(z *zset, member []byte, q *geo.Query) bool {
	var ok bool
	if q.Lon, q.Lat, ok = z.Position(member); !ok {
		c.w.Error("ERR could not decode requested zset member")
	}
	return ok
}

func georadius(c call, k *keyspace, s search) {
	z, ok := c.members(k, c.args[1])
	if !ok {
		return
	}
	rest := 6
	if s.byMember {
		rest = 5
	}
	switch {
	case !s.byMember:
		if s.q.Lon, s.q.Lat, ok = c.place(c.args[2:]); !ok {
			return
		}
		if s.q.Shape, ok = c.radius(c.args[4:]); !ok {
			return
		}
	case z != nil:
		if !c.centreOn(z, c.args[2], &s.q) {
			return
		}
		if s.q.Shape, ok = c.radius(c.args[3:]); !ok {
			return
		}
	}
	c.search(k, z, &s, c.args[rest:])
}

func geosearch(c call, k *keyspace, s search, rest int) {
	z, ok := c.members(k, c.args[rest-1])
	if !ok {
		return
	}
	if s.store {
		s.dest = c.args[1]
	}
	c.search(k, z, &s, c.args[rest:])
}

// search reads the options, searches, and replies or stores.
func (c call) search(k *keyspace, z *zset, s *search, args [][]byte) {
	for i := 0; i < len(args); i++ {
		n, ok := c.searchOption(z, s, args[i:])
		if !ok {
			return
		}
		i += n
	}
	switch {
	case s.dest != nil && (s.withDist || s.withHash || s.withCoord):
		option := "STORE option in GEORADIUS"
		if s.free {
			option = "GEOSEARCHSTORE"
		}
		c.w.Error("ERR " + option + " is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
		return
	case s.free && s.centre == "":
		c.w.Error("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for " + string(c.args[0]))
		return
	case s.free && s.shape == "":
		c.w.Error("ERR exactly one of BYRADIUS and BYBOX can be specified for " + string(c.args[0]))
		return
	case s.q.Any && s.q.Count == 0:
		c.w.Error("ERR the ANY argument requires COUNT argument")
		return
	case s.dest != nil && k.isWindow(s.dest):
		c.w.Error(errReadOnlyWindow)
		return
	}
	var hits []geo.Hit
	if z != nil {
		s.q.WithDist = s.withDist || s.storeDist
		hits = z.Search(nil, s.q)
	}
	if s.dest != nil {
		c.storeHits(k, s, hits)
		return
	}
	c.sendHits(s, hits)
}

// searchOption reads one option and returns how many arguments it has.
func (c call) searchOption(z *zset, s *search, args [][]byte) (n int, ok bool) {
	a, more := args[0], len(args)-1
	switch {
	case is(a, "WITHDIST"):
		s.withDist = true
	case is(a, "WITHHASH"):
		s.withHash = true
	case is(a, "WITHCOORD"):
		s.withCoord = true
	case is(a, "ANY"):
		s.q.Any = true
	case is(a, "ASC"):
		s.q.Order = geo.Asc
	case is(a, "DESC"):
		s.q.Order = geo.Desc
	case is(a, "COUNT") && more >= 1:
		count, ok := c.integer(args[1])
		if ok && count <= 0 {
			c.w.Error("ERR COUNT must be > 0")
			ok = false
		}
		s.q.Count = int(count)
		return 1, ok
	case s.store && !s.free && more >= 1 && (is(a, "STORE") || is(a, "STOREDIST")):
		s.dest, s.storeDist = args[1], len(a) > len("STORE")
		return 1, true
	case s.free && more >= 1 && is(a, "FROMMEMBER") && s.centre != "lonlat":
		s.centre = "member"
		return 1, z == nil || c.centreOn(z, args[1], &s.q)
	case s.free && more >= 2 && is(a, "FROMLONLAT") && s.centre != "member":
		s.centre = "lonlat"
		s.q.Lon, s.q.Lat, ok = c.place(args[1:])
		return 2, ok
	case s.free && more >= 2 && is(a, "BYRADIUS") && s.shape != "box":
		s.shape = "radius"
		s.q.Shape, ok = c.radius(args[1:])
		return 2, ok
	case s.free && more >= 3 && is(a, "BYBOX") && s.shape != "radius":
		s.shape = "box"
		s.q.Shape, ok = c.box(args[1:])
		return 3, ok
	case s.free && s.store && is(a, "STOREDIST"):
		s.storeDist = true
	default:
		c.w.Error(errSyntax)
		return 0, false
	}
	return 0, true
}

func (c call) storeHits(k *keyspace, s *search, hits []geo.Hit) {
	if len(hits) == 0 {
		k.remove(s.dest, k.now)
		c.w.Int(0)
		return
	}
	set := geo.Stored(hits)
	if s.storeDist {
		set = geo.StoredDist(hits)
	}
	z, before := zsetOf(set), 0
	if it := k.find(s.dest, k.now); it != nil {
		before = it.size
	}
	it := &item{typ: typeZset, value: z}
	if !k.fits(c, it.memory(), before) {
		return
	}
	k.put(s.dest, it)
	c.w.Int(int64(len(hits)))
}

func (c call) sendHits(s *search, hits []geo.Hit) {
	fields := btoi(s.withDist) + btoi(s.withHash) + btoi(s.withCoord)
	c.w.Array(len(hits))
	for i := range hits {
		h := &hits[i]
		if fields > 0 {
			c.w.Array(1 + fields)
		}
		c.w.BulkString(h.Member)
		if s.withDist {
			c.distance(h.Dist)
		}
		if s.withHash {
			c.w.Int(int64(h.Score))
		}
		if s.withCoord {
			c.position(h.Position())
		}
	}
}
