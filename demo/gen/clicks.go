package gen

import (
	"encoding/binary"
	"strconv"
)

var (
	actions       = []string{"view", "click", "scroll", "search", "cart", "buy"}
	actionWeights = []uint64{70, 15, 6, 5, 3, 1}

	referrers = []string{
		"https://search.example.com/", "https://news.example.org/", "https://shop.example.net/",
		"https://social.example.com/", "https://mail.example.org/", "https://blog.example.net/",
		"https://www.example.com/de/", "https://m.example.org/home",
	}
	countries = []string{
		"DE", "US", "IN", "BR", "FR", "GB", "JP", "PL", "IT", "ES", "NL", "MX", "CA", "AU", "SE", "CH",
		"AT", "BE", "CZ", "DK", "FI", "GR", "HU", "ID", "IE", "KR", "NG", "NO", "PT", "TR", "UA", "ZA",
	}
	devices = []string{"mobile", "mobile", "desktop", "tablet"}
)

// drawClick decides everything about a click except its user and its time.
func (g *Generator) drawClick(r *Record) {
	binary.BigEndian.PutUint64(r.ID[:8], g.random.next())
	binary.BigEndian.PutUint64(r.ID[8:], g.random.next())
	r.Page = g.pages.choose(g.random.next()) + 1
}

// appendClick writes the event. Lasting properties of a person come from a hash
// of the person, and the others from the event's own id, so that an event that
// is sent twice is the same both times.
func (g *Generator) appendClick(b []byte, r *Record) []byte {
	who := hash(g.cfg.Seed, drawVisitor, uint64(r.User), 0)
	what := mix(binary.BigEndian.Uint64(r.ID[:8]))
	// Half the world lives in the first eighth of the list.
	country := who % 32
	if who>>32&1 == 1 {
		country %= 4
	}
	b = append(b, `{"event_id":"`...)
	b = appendHex(b, r.ID)
	b = append(b, `","ts":`...)
	b = strconv.AppendInt(b, int64(r.Stamp), 10)
	b = append(b, `,"user_id":`...)
	b = strconv.AppendUint(b, uint64(r.User), 10)
	b = append(b, `,"page":"/p/`...)
	b = strconv.AppendUint(b, uint64(r.Page), 10)
	b = append(b, `","action":"`...)
	b = append(b, actions[g.action.choose(what)]...)
	b = append(b, `","referrer":"`...)
	b = append(b, referrers[mix(what)%8]...)
	b = append(b, `","country":"`...)
	b = append(b, countries[country]...)
	b = append(b, `","device":"`...)
	b = append(b, devices[who>>40%4]...)
	return append(b, `"}`...)
}

func appendHex(b []byte, id [16]byte) []byte {
	const digits = "0123456789abcdef"
	for _, c := range id {
		b = append(b, digits[c>>4], digits[c&15])
	}
	return b
}
