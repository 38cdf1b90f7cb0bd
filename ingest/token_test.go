package ingest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/event"
	"weir/internal/await"
)

// unsigned makes a JSON Web Token without a signature, which the test's brokers accept.
func unsigned(t testing.TB, life time.Duration) string {
	t.Helper()
	claims, err := json.Marshal(map[string]any{"sub": testUser, "iat": float64(time.Now().UnixMilli()) / 1000, "exp": float64(time.Now().Add(life).UnixMilli()) / 1000})
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(claims) + "."
}

func TestExpiry(t *testing.T) {
	if got, want := expiry(unsigned(t, time.Hour)), time.Now().Add(time.Hour); got.Sub(want).Abs() > await.Never {
		t.Errorf("%v, want about %v", got, want)
	}
	for _, text := range []string{"", "opaque", "a.b.c", "..", unsigned(t, time.Hour)[:30]} {
		if e := expiry(text); !e.IsZero() {
			t.Errorf("%q expires %v", text, e)
		}
	}
}

// An authorization server, a file, and what each says when there is no token.
func TestTokens(t *testing.T) {
	var asked url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		user, secret, _ := r.BasicAuth()
		if asked = r.Form; user != "weir" || secret != "hush" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"abc","token_type":"bearer","expires_in":3600}`)
	}))
	defer server.Close()
	tok, err := ClientCredentials(server.URL, "weir", "hush", "kafka")(t.Context())
	if err != nil || tok.Value != "abc" || time.Until(tok.Expires) < 50*time.Minute || asked.Get("grant_type") != "client_credentials" || asked.Get("scope") != "kafka" {
		t.Errorf("%+v, %v, asked %v", tok, err, asked)
	}
	if _, err := ClientCredentials(server.URL, "weir", "wrong-secret")(t.Context()); err == nil || !strings.Contains(err.Error(), "invalid_client") || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("a wrong secret: %v", err)
	}

	file := filepath.Join(t.TempDir(), "token")
	if _, err := TokenFile(file)(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, text := range []string{"one", "two"} { // it is read anew
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if tok, err := TokenFile(file)(t.Context()); err != nil || tok.Value != text || !tok.Expires.IsZero() {
			t.Errorf("%+v, %v", tok, err)
		}
	}
}

// The token is a signed address, as AWS's library makes it.
func TestMSK(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAWEIR")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "kept-quiet-7")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	tok, err := MSK("eu-central-1")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := base64.RawURLEncoding.DecodeString(tok.Value)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Host != "kafka.eu-central-1.amazonaws.com" || q.Get("Action") != "kafka-cluster:Connect" || !strings.HasPrefix(q.Get("X-Amz-Credential"), "AKIAWEIR/") || q.Get("X-Amz-Signature") == "" {
		t.Errorf("%s", text)
	}
	if life := time.Until(tok.Expires); life < 5*time.Minute || life > 20*time.Minute {
		t.Errorf("it lives for %v", life)
	}
}

// A token that the broker refuses is a fatal error before the start, and is waited for while
// the process runs. No error has the token in it.
func TestTokenIsRefused(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	produce(t, kafka.Addrs(), topic, 0, numbered("", 0, 3))
	var good atomic.Bool
	config := Config{Brokers: kafka.Listener("SASL"), Topic: topic, SASL: SASL{Mechanism: "oauthbearer", Tokens: func(context.Context) (Token, error) {
		if good.Load() {
			return Token{Value: unsigned(t, time.Hour)}, nil
		}
		return Token{Value: "not-a-token"}, nil
	}}}
	s, _ := open(t, config)
	var unreachable *UnreachableError
	err := s.Ping(await.Context(t))
	if !errors.As(err, &unreachable) || !unreachable.Fatal() {
		t.Fatalf("Ping: %v", err)
	}
	contains(t, "the error", err.Error(), "oauthbearer", "refuses the token", "invalid")
	if strings.Contains(err.Error(), "not-a-token") {
		t.Errorf("the token is in the error: %v", err)
	}
	config.AwaitRights = true
	s, book := open(t, config)
	ctx := await.Context(t)
	assigned := make(chan *Generation)
	go func() {
		g, err := s.Assign(ctx)
		if err != nil {
			t.Error(err)
		}
		assigned <- g
	}()
	eventually(t, "it is said", func() bool { return strings.Contains(book.String(), "refuses the token") })
	good.Store(true)
	g := <-assigned
	got := 0
	enough := errors.New("enough")
	err = g.Fetch(ctx, starts(g), func(p event.Part) error { got++; p.Done(); return enough })
	if !errors.Is(err, enough) || got != 1 {
		t.Errorf("%d parts, %v", got, err)
	}
}
