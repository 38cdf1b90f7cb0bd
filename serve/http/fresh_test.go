package http

import (
	"net/http/httptest"
	"testing"
)

// TestNoStore: no cache may keep an answer, whatever its path and its code; the page itself may be
// kept, if it is asked for again each time.
func TestNoStore(t *testing.T) {
	e, _ := newEndpoints(t)
	h := e.http.Handler()
	for path, code := range map[string]int{
		"/api/v1/query?key=w:clicks:hits:now": 200, "/api/v1/query?key=none": 400, "/api/v1/jobs": 200, "/api/v1/top": 400, "/api/v1/openapi.json": 200,
		"/api/v1/status": 200, "/livez": 200, "/readyz": 200, "/metrics": 200, "/none": 404, "/api/v1/session": 405, "/page/0123/app.js": 404,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1"+path, nil))
		if got := w.Header().Get("Cache-Control"); got != "no-store" || w.Code != code {
			t.Errorf("%s: code %d and Cache-Control %q, want %d and no-store", path, w.Code, got, code)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/", nil))
	if got := w.Header().Get("Cache-Control"); got != "no-cache" {
		t.Errorf("the page: Cache-Control %q", got)
	}
}
