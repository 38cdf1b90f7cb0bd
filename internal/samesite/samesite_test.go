package samesite

import (
	"net/http/httptest"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		host, origin, fetch  string
		onLoopback, anywhere bool // whether it is answered
	}{
		{"127.0.0.1:8686", "", "", true, true},
		{"127.0.0.1", "", "", true, true},
		{"127.8.9.10:8686", "", "", true, true},
		{"[::1]:8686", "", "", true, true},
		{"[::1]", "", "", true, true},
		{"localhost:8686", "", "", true, true},
		{"LocalHost.", "", "", true, true},
		{"weir.localhost:8686", "", "", true, true},
		{"", "", "", true, true},
		{"localhost:8686", "http://localhost:8686", "same-origin", true, true},
		{"localhost:8686", "", "none", true, true},

		{"evil.example", "", "", false, true},
		{"evil.example:8686", "", "", false, true},
		{"localhost.evil.example:8686", "", "", false, true},
		{"127.0.0.1.evil.example", "", "", false, true},
		{"10.0.0.7:8686", "", "", false, true},
		{"0.0.0.0:8686", "", "", false, true},
		{"evil.example", "http://evil.example", "same-origin", false, true},
		{"localhost:8686", "http://evil.example", "", false, false},
		{"localhost:8686", "http://localhost:3000", "", false, false},
		{"localhost:8686", "null", "", false, false},
		{"localhost:8686", "http://%zz", "", false, false},
		{"localhost:8686", "", "cross-site", false, false},
		{"localhost:8686", "", "same-site", false, false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.fetch != "" {
			r.Header.Set("Sec-Fetch-Site", c.fetch)
		}
		if err := Check(r, true); (err == nil) != c.onLoopback {
			t.Errorf("%+v on loopback: %v", c, err)
		}
		if err := Check(r, false); (err == nil) != c.anywhere {
			t.Errorf("%+v elsewhere: %v", c, err)
		}
	}
}
