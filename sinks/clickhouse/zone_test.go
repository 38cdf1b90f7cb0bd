package clickhouse

import (
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"strings"
	"testing"
	"time"

	"weir/demo/local/localtest"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
)

// kathmandu is a time zone whose hours and days begin at other moments than those of UTC.
const kathmandu = "Asia/Kathmandu"

// openIn connects to a database of its own on a server in a time zone: each statement
// has it as session_timezone, as if the server's configuration or the user's profile said so.
func openIn(t *testing.T, zone string) *Client {
	t.Helper()
	url, database := localtest.Engine(t)
	where, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(where)
		q := r.Out.URL.Query()
		q.Set("session_timezone", zone)
		r.Out.URL.RawQuery = q.Encode()
	}})
	t.Cleanup(s.Close)
	c := dial(t, wire.Config{URLs: []string{s.URL}, Database: database})
	hour := map[string]string{"UTC": "('00:00')", kathmandu: "('05:30')"}[zone] // in 1970
	if got := one(t, c, "SELECT formatDateTime(toDateTime(0), '%H:%i')"); got != hour {
		t.Fatalf("in the server's time zone 1970 begins at %s, want %s: the test tests nothing", got, hour)
	}
	return c
}

// TestTailZone: ClickHouse writes the windows of the live tail into its statements for other
// shards as texts, so their type has to say the zone.
func TestTailZone(t *testing.T) {
	c := openIn(t, kathmandu)
	j := clicks()
	j.Rollups = []schema.Rollup{{Window: time.Minute}, {Window: time.Hour}}
	s := install(t, c, j)
	with, _, _ := strings.Cut(schema.Render("view", s.layout.Local(c.DB, 1)), "\nSELECT\n")
	got := one(t, c, with+" SELECT toTypeName(_tail.1), toTypeName(_tail.2)")
	if want := `('Array(DateTime(\'UTC\'))','Array(DateTime(\'UTC\'))')`; got != want {
		t.Errorf("the windows of the live tail are %s, want %s", got, want)
	}
}
