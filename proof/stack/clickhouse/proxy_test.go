package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"weir/demo/local/localtest"
	"weir/sinks/clickhouse"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/wire"
)

func TestMain(m *testing.M) { localtest.Main(m) }

// TestProxy: the accounts that weir migrate makes may do what they are for, and
// nothing else, as on a server.
func TestProxy(t *testing.T) {
	engine, database := localtest.Engine(t)
	file := filepath.Join(t.TempDir(), "accounts.json")
	open := func() *httptest.Server {
		d, err := newProxy(engine, "admin", "zero", file)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(d)
		t.Cleanup(server.Close)
		return server
	}
	server := open()
	as := func(user, password string) *clickhouse.Client {
		c, err := clickhouse.Open(wire.Config{URLs: []string{server.URL}, Database: database, User: user, Password: password})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	code := func(err error) int32 {
		var refused *wire.Error
		if errors.As(err, &refused) {
			return refused.Code
		}
		return 0
	}
	accounts := migrate.Options{
		Writer: &migrate.Account{User: "weir", Password: "one"}, Reader: &migrate.Account{User: "grafana", Password: "two"},
	}
	for range 2 { // a second time changes nothing
		if _, err := as("admin", "zero").Migrate(t.Context(), nil, accounts); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := as("weir", "one").ID(t.Context()); err != nil {
		t.Errorf("weir: %v", err)
	}
	if _, err := as("weir", "one").Migrate(t.Context(), nil, accounts); code(err) != accessDenied {
		t.Errorf("weir migrates: %v", err)
	}
	for user, password := range map[string]string{"weir": "two", "admin": "", "nobody": "one"} {
		if _, err := as(user, password).ID(t.Context()); code(err) != authenticationFailed {
			t.Errorf("%s with password %q: %v", user, password, err)
		}
	}
	ask := func(user, password, sql string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/?database="+database, strings.NewReader(sql))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(user, password)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	server = open() // as after a restart of the container
	for _, c := range []struct{ user, password, sql, want string }{
		{"grafana", "two", "SELECT count() FROM weir_schema WHERE 0", "0"},
		{"grafana", "two", "-- a comment\n(SELECT 1)", "1"},
		{"grafana", "two", "WITH 1 AS one SELECT one", "1"},
		{"grafana", "two", "INSERT INTO weir_schema (object) VALUES ('x')", "Code: 497"},
		{"weir", "one", "INSERT INTO weir_schema (object) VALUES ('x')", ""},
		{"weir", "one", "CHECK GRANT SELECT, INSERT ON " + database + ".*", "1"},
		{"grafana", "two", "CHECK GRANT SELECT, INSERT ON " + database + ".*", "0"},
		{"grafana", "two", "CHECK GRANT SELECT ON " + database + ".*", "1"},
		{"weir", "one", "ALTER TABLE weir_schema DELETE WHERE 1", "Code: 497"},
		{"weir", "one", "DROP TABLE weir_schema", "Code: 497"},
		{"weir", "one", "ALTER USER `weir` IDENTIFIED WITH sha256_hash BY '' SALT ''", "Code: 497"},
	} {
		if got := ask(c.user, c.password, c.sql); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %s\n%s, want %s", c.user, c.sql, got, c.want)
		}
	}
	accounts.Writer.Password = "three"
	if _, err := as("admin", "zero").Migrate(t.Context(), nil, accounts); err != nil {
		t.Fatal(err)
	}
	if _, err := as("weir", "three").ID(t.Context()); err != nil {
		t.Errorf("weir with its new password: %v", err)
	}
	if _, err := as("weir", "one").ID(t.Context()); code(err) != authenticationFailed {
		t.Errorf("weir with its old password: %v", err)
	}
}
