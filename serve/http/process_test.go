package http

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestKill: POST /api/v1/kill kills once the answer has left, and nothing else does: no GET, no
// page of another site, no client without the token; a process that weir up has not started has no such
// path.
func TestKill(t *testing.T) {
	e, _ := newEndpoints(t)
	for name, c := range map[string]struct {
		child         bool
		token, method string
		headers       []string
		want          int
	}{
		"a child":           {true, "", "POST", nil, 204},
		"the same origin":   {true, "", "POST", []string{"Origin", "http://127.0.0.1:8686", "Sec-Fetch-Site", "same-origin"}, 204},
		"with the token":    {true, "horse", "POST", []string{"Authorization", "Bearer horse"}, 204},
		"with the cookie":   {true, "horse", "POST", []string{"Cookie", sessionCookie + "=" + sessionOf("horse")}, 204},
		"no child":          {false, "", "POST", nil, 404},
		"a link":            {true, "", "GET", nil, 405},
		"another origin":    {true, "", "POST", []string{"Origin", "http://other.example"}, 403},
		"another site":      {true, "", "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"without the token": {true, "horse", "POST", nil, 401},
		"a foreign cookie":  {true, "horse", "POST", []string{"Cookie", sessionCookie + "=" + sessionOf("horse"), "Origin", "http://other.example"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			killed := false
			s := &Server{Windows: e.http.Windows, Token: c.token}
			if c.child {
				s.Process = &Process{Kill: func() {
					killed = true
					if w.Code != c.want || !w.Flushed {
						t.Errorf("killed before the answer has left: %d", w.Code)
					}
				}}
			}
			r := httptest.NewRequest(c.method, "http://127.0.0.1:8686/api/v1/kill", http.NoBody)
			for i := 0; i < len(c.headers); i += 2 {
				r.Header.Set(c.headers[i], c.headers[i+1])
			}
			s.Handler().ServeHTTP(w, r)
			if w.Code != c.want || killed != (c.want == 204) {
				t.Errorf("%d, killed %t, want %d", w.Code, killed, c.want)
			}
		})
	}
}
