package http

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/samesite"
)

// guard passes a request on to next if its client may read the answer. If there is
// a token, the request must carry it, and may use any host name. If there is none,
// guard refuses requests that a page of another site has caused.
func (s *Server) guard(next http.Handler) http.Handler {
	if s.Token == "" {
		return s.sameSite(next)
	}
	want, session := []byte(s.Token), []byte(sessionOf(s.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		ok := strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(got), want) == 1
		if cookies := r.CookiesNamed(sessionCookie); len(cookies) > 0 && !ok {
			// A browser sends it of its own accord, so the page must be of this site.
			if err := samesite.Check(r, false); err != nil {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
			for _, c := range cookies { // perhaps one of another weir on this host
				ok = ok || subtle.ConstantTimeCompare([]byte(c.Value), session) == 1
			}
		}
		if !ok {
			s.refused.note(s.log(), r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
			http.Error(w, "a bearer token is wanted: http.token_file", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameSite refuses requests that a page of another site has caused.
func (s *Server) sameSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := samesite.Check(r, s.loopback); err != nil {
			http.Error(w, err.Error()+"; a proxy in front may set the Host, or give a token (http.token_file)", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// open is guard for the files of the page, which hold no data. The page asks for the token
// itself, and a link on another site may lead to it.
func (s *Server) open(next http.Handler) http.Handler {
	if s.Token != "" {
		return next
	}
	guarded := s.sameSite(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
			r.Header.Del("Sec-Fetch-Site")
		}
		guarded.ServeHTTP(w, r)
	})
}

// sessionCookie is what a browser sends in place of the token.
const sessionCookie = "weir_session"

// sessionOf returns the value of the cookie: it stands for the token, and the token cannot
// be read from it.
func sessionOf(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("weir session"))
	return hex.EncodeToString(m.Sum(nil))
}

// session answers POST /api/v1/session: a client that has sent the token gets the cookie.
// Scripts cannot read the cookie, and other sites cannot make a browser send it.
func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	if s.Token != "" {
		http.SetCookie(w, &http.Cookie{
			Name: sessionCookie, Value: sessionOf(s.Token), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
		})
	}
	w.WriteHeader(http.StatusNoContent)
}

// onLoopback reports whether only this machine can reach a listener.
func onLoopback(l net.Listener) bool {
	a, ok := l.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// refusals counts the requests without the right token. It logs the first, and then one at
// most in a minute, with how many there were since.
type refusals struct {
	mu     sync.Mutex
	total  uint64
	logged uint64 // how many of them the log has
	next   time.Time
}

// refusalsPause is the time between two log lines.
const refusalsPause = time.Minute

func (r *refusals) note(log *slog.Logger, client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	if now := time.Now(); now.After(r.next) {
		log.Warn("http: requests without the right token were refused", "requests", r.total-r.logged, "last_from", client)
		r.logged, r.next = r.total, now.Add(refusalsPause)
	}
}

func (r *refusals) count() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}
