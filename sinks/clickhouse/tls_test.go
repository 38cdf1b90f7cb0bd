package clickhouse

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/demo/local/localtest"
	"weir/internal/kafkatest"
	"weir/sinks/clickhouse/wire"
)

const gateUser, gatePassword = "weir", "correct-horse"

// gate starts a proxy in front of the engine that behaves as a ClickHouse with TLS and a
// password. It has the given certificate, accepts one account, and answers others as
// ClickHouse does.
func gate(t *testing.T, engine string, cert *kafkatest.Certificate, clients *x509.CertPool) (address string) {
	t.Helper()
	u, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert.CertPEM, cert.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(u)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user := r.Header.Get("X-ClickHouse-User")
		if user != gateUser || r.Header.Get("X-ClickHouse-Key") != gatePassword {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("X-ClickHouse-Exception-Code", "516")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "Code: 516. DB::Exception: %s: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)", user)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log every handshake that is meant to fail
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	if clients != nil {
		srv.TLS.ClientAuth, srv.TLS.ClientCAs = tls.RequireAndVerifyClientCert, clients
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

func certify(t *testing.T, until time.Duration) *kafkatest.Certificate {
	t.Helper()
	c, err := kafkatest.Certify(time.Now().Add(until))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestGate: with the right authority and password, a job is made, written and read over
// TLS. Otherwise the error comes at once, names what is wrong, and does not contain the
// password.
func TestGate(t *testing.T) {
	engine, database := localtest.Engine(t)
	cert, old, stranger := certify(t, time.Hour), certify(t, -time.Hour), certify(t, time.Hour)
	open := gate(t, engine, cert, nil)
	trust := &tls.Config{RootCAs: cert.Pool}

	t.Run("right", func(t *testing.T) {
		c := dial(t, wire.Config{URLs: []string{"https://" + open}, Database: database, User: gateUser, Password: gatePassword, TLS: trust})
		s := full(t, c, clicks())
		op := operator(t, s.layout.Spec, 0)
		observe(t, op, 0, 0, noon, click(noon, "/a", 1, "x"), click(noon, "/a", 2, "y"))
		write(t, s, op.Take())
		if got := one(t, c, "SELECT sum(hits) FROM "+c.Name("clicks_1m")); got != "(2)" {
			t.Errorf("%s hits came through", got)
		}
	})

	const wrong = "wrong-horse"
	account := func(cfg wire.Config) wire.Config {
		cfg.User, cfg.Password = gateUser, gatePassword
		return cfg
	}
	for name, c := range map[string]struct {
		config wire.Config
		words  []string
	}{
		"wrong password": {
			wire.Config{URLs: []string{"https://" + open}, User: gateUser, Password: wrong, TLS: trust},
			[]string{"Authentication failed", "check user and password"},
		},
		"unknown user": {
			wire.Config{URLs: []string{"https://" + open}, User: "stranger", Password: wrong, TLS: trust},
			[]string{"stranger", "check user and password"},
		},
		"another authority": {
			account(wire.Config{URLs: []string{"https://" + open}, TLS: &tls.Config{RootCAs: stranger.Pool}}),
			[]string{"certificate", "clickhouse.tls.ca_file"},
		},
		"expired": {
			account(wire.Config{URLs: []string{"https://" + gate(t, engine, old, nil)}, TLS: &tls.Config{RootCAs: old.Pool}}),
			[]string{"expired", "renew it"},
		},
		"no client certificate": {
			account(wire.Config{URLs: []string{"https://" + gate(t, engine, cert, cert.Pool)}, TLS: trust}),
			[]string{"certificate required", "check clickhouse.tls"},
		},
		"http to a TLS port": {
			account(wire.Config{URLs: []string{"http://" + open}}),
			[]string{"write https://"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Database = database
			client := dial(t, c.config)
			err := client.Ping(t.Context())
			if err == nil {
				t.Fatal("let in")
			}
			t.Log(err)
			var e *wire.Error
			if !errors.As(err, &e) || !e.Fatal() {
				t.Errorf("%v would be tried again", err)
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v, want %q in it", err, w)
				}
			}
			// Check the error of a job too, not only that of Ping.
			_, later := client.Job(t.Context(), clicks())
			if later == nil {
				t.Error("the job was opened")
			}
			if all := fmt.Sprint(err, later); strings.Contains(all, wrong) || strings.Contains(all, gatePassword) {
				t.Errorf("the password is in %s", all)
			}
		})
	}
}
