package main

import (
	"bytes"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"weir/internal/await"
	"weir/internal/kafkatest"
	"weir/schemas/schematest"
)

// TestRegistryTLS: with the right authority, client certificate, user and password, weir reads a
// schema over TLS. With any of them wrong, weir check says which, and the record waits: it is not
// malformed, and no message has the password.
func TestRegistryTLS(t *testing.T) {
	const user, password = "weir", "correct-horse"
	dir := t.TempDir()
	certify := func(name string, until time.Duration) *kafkatest.Certificate {
		t.Helper()
		c, err := kafkatest.Certify(time.Now().Add(until))
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string][]byte{"-ca.pem": c.CertPEM, "-key.pem": c.KeyPEM} {
			if err := os.WriteFile(filepath.Join(dir, name+file), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	start := func(c, clients *kafkatest.Certificate) *schematest.Registry {
		t.Helper()
		pair, err := tls.X509KeyPair(c.CertPEM, c.KeyPEM)
		if err != nil {
			t.Fatal(err)
		}
		config := &tls.Config{Certificates: []tls.Certificate{pair}}
		if clients != nil {
			config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, clients.Pool
		}
		r := schematest.StartTLS(t, config)
		r.User, r.Password = user, password
		r.Add("plays-value", schematest.Schema{Type: "AVRO", Text: playSchema})
		return r
	}
	for name, text := range map[string]string{"password": password + "\n", "wrong": "wrong-horse"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, client, old := certify("server", time.Hour), certify("client", time.Hour), certify("old", -time.Hour)
	certify("other", time.Hour)
	open, mutual, expired := start(server, nil), start(server, client), start(old, nil)

	s := newTapStage(t)
	config, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	brokers, _, _ := strings.Cut(strings.TrimSpace(string(config)), "\n")
	if err := s.client.ProduceSync(await.Context(t), &kgo.Record{Timestamp: at(0), Value: append(schematest.Prefix(1), play(0, "a", 1)...)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	const own = "ca_file: server-ca.pem"
	for _, c := range []struct{ name, url, tls, password, words string }{
		{"right", open.URL, own, "password", ""},
		{"right, with a client certificate", mutual.URL, own + ", cert_file: client-ca.pem, key_file: client-key.pem", "password", ""},
		{"another authority", open.URL, "ca_file: other-ca.pem", "password", "certificate signed by unknown authority"},
		{"the system's authorities", open.URL, "", "password", "certificate signed by unknown authority"},
		{"an expired certificate", expired.URL, "ca_file: old-ca.pem", "password", "certificate has expired"},
		{"no client certificate", mutual.URL, own, "password", "certificate required"},
		{"another client certificate", mutual.URL, own + ", cert_file: other-ca.pem, key_file: other-key.pem", "password", "unknown certificate authority"},
		{"another password", open.URL, own, "wrong", `it refuses the user "weir" (401, error 401: Unauthorized): see registry.user and registry.password_file`},
		{"http", strings.Replace(open.URL, "https", "http", 1), "", "password", "it answers 400"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(dir, "weir.yaml")
			if err := os.WriteFile(file, []byte(brokers+`
registry: {url: "`+c.url+`", user: `+user+`, password_file: `+c.password+`, tls: {`+c.tls+`}}
jobs: [{name: plays, topic: plays, format: avro, time: {field: ts}, window: 1m, by: [song], measures: [{name: users, kind: hll, field: user}]}]
`), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			say := func(args ...string) string {
				t.Helper()
				var stdout, stderr bytes.Buffer
				execute(await.Context(t), append(args, "-c", file, "--clickhouse.urls", "http://127.0.0.1:1"), &stdout, &stderr)
				if all := stdout.String() + stderr.String(); strings.Contains(all, "horse") {
					t.Errorf("%q prints a password:\n%s", args, all)
				}
				return stdout.String() + stderr.String()
			}
			checked, tapped := say("check"), say("tap", "--from", "beginning", "--until", "end")
			if c.words == "" {
				if !strings.Contains(checked, c.url+": it answers\n") || !strings.Contains(tapped, `counted    "a"`) {
					t.Errorf("check says\n%s\ntap says\n%s", checked, tapped)
				}
				return
			}
			if !strings.Contains(checked, c.words) || strings.Contains(checked, c.url+": it answers\n") {
				t.Errorf("check does not say %q:\n%s", c.words, checked)
			}
			if !strings.Contains(tapped, "waits      -  schemas: schema id 1 of the registry at "+c.url+": ") || !strings.Contains(tapped, c.words) {
				t.Errorf("tap does not say that the record waits, and %q:\n%s", c.words, tapped)
			}
		})
	}
}
