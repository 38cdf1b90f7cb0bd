package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"weir/demo/local/localtest"
	"weir/internal/await"
)

// binary returns the path of weir: TestMain has put a copy of this test binary on
// the PATH, which is weir when it is called by that name. A build in each test
// would take most of the package's time.
func binary(t *testing.T) string {
	t.Helper()
	file, err := exec.LookPath("weir")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// The secrets of the tests. Each is used in one place only, so that a leak
// shows its source, and none resembles any other output.
var secrets = map[string]string{
	"kafka.sasl.password":  "kq7-sasl-plum",
	"clickhouse.password":  "kq7-click-plum",
	"http.token":           "kq7-http-plum",
	"resp.password":        "kq7-resp-plum",
	"rollup.lock_password": "kq7-lock-plum",
	"hash_key":             "kq7-hash-key-of-some-length-plum",
	"wrong":                "kq7-wrong-plum",
	"reader":               "kq7-reader-plum",
}

// clean fails the test if a text contains a secret, or an encoding of one.
func clean(t *testing.T, what, text string) {
	t.Helper()
	for name, s := range secrets {
		for _, form := range []string{s, url.QueryEscape(s), fmt.Sprintf("%x", s)} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s: %s is there: …%s…", what, name, text[max(0, i-200):min(len(text), i+len(form)+50)])
			}
		}
	}
}

// TestSecrets runs the binary with a secret in every place that takes one, with
// a Kafka that needs SASL and a ClickHouse that needs a password. It makes
// everything fail in turn, and searches for the secrets in everything visible:
// standard output, standard error, status, metrics, and what ClickHouse stores
// about a job.
func TestSecrets(t *testing.T) {
	weir := binary(t)
	engine, database := localtest.Engine(t)
	server := newAccount(t, engine, secrets["clickhouse.password"])
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "clicks"),
		kfake.EnableSASL(), kfake.Superuser("PLAIN", "weir", secrets["kafka.sasl.password"]))
	if err != nil {
		t.Fatal(err)
	}
	defer kafka.Close()

	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range secrets {
		write(name, s+"\n")
	}
	// A dependency that answers may take its time; what never answers is given up after limit.
	configure := func(brokers, clickhouse, password, limit string) {
		t.Helper()
		write("weir.yaml", fmt.Sprintf(`
kafka:
  brokers: [%s]
  session: 6s
  connect_timeout: %s
  sasl: {mechanism: plain, user: weir, password_file: %s}
clickhouse: {urls: "%s", database: %s, user: weir, password_file: %s, connect_timeout: %s}
http: {listen: 127.0.0.1:0, token_file: http.token}
resp: {listen: "localhost:0", password_file: resp.password}
rollup: {lock: 127.0.0.1:1, lock_password_file: rollup.lock_password}
flush: {interval: 200ms, stop_timeout: 2s}
log: {level: debug}
jobs:
  - name: clicks
    topic: clicks
    time: {field: ts}
    window: 1m
    hash_key_file: hash_key
    measures: [{name: users, kind: hll, field: user_id}]
`, brokers, limit, password, clickhouse, database, password, limit))
	}
	start := func(out io.Writer, env []string, args ...string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command(weir, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
		cmd.Env = append(append(os.Environ(), "WEIR_CONFIG="), env...)
		cmd.WaitDelay = 5 * time.Second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	// said runs the binary to its end and returns its output.
	said := func(code int, env []string, args ...string) string {
		t.Helper()
		var out await.Output
		cmd := start(&out, env, args...)
		limit := time.AfterFunc(await.Never, func() { _ = cmd.Process.Kill() }) // then the code is wrong
		defer limit.Stop()
		_ = cmd.Wait() // the exit code says it
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("weir %q: exit code %d, want %d:\n%s", args, got, code, out.String())
		}
		clean(t, fmt.Sprintf("weir %q", args), out.String())
		return out.String()
	}
	addr := kafka.ListenAddrs()[0]
	good := func() { configure(addr, server.URL, "/dev/null", "5m") }
	fromEnv := []string{"WEIR_KAFKA_SASL_PASSWORD=" + secrets["kafka.sasl.password"], "WEIR_CLICKHOUSE_PASSWORD=" + secrets["clickhouse.password"]}
	good()

	t.Run("config print", func(t *testing.T) {
		if out := said(0, fromEnv, "config", "print"); !strings.Contains(out, "***") {
			t.Errorf("a secret that is set should show as ***:\n%s", out)
		}
	})
	t.Run("refused as an argument", func(t *testing.T) {
		for _, key := range []string{"kafka.sasl.password", "clickhouse.password", "http.token", "resp.password", "rollup.lock_password"} {
			for _, args := range [][]string{{"--" + key + "=" + secrets[key]}, {"--" + key, secrets[key]}} {
				said(exitConfig, nil, append([]string{"check", "--offline"}, args...)...)
			}
		}
	})
	t.Run("refused in the file", func(t *testing.T) {
		write("bad.yaml", "kafka: {sasl: {mechanism: plain, user: weir, password: "+secrets["kafka.sasl.password"]+"}}\n"+
			"clickhouse: {urls: \"http://weir:"+secrets["clickhouse.password"]+"@127.0.0.1:8123\"}\n"+
			"http: {token: "+secrets["http.token"]+"}\njobs: []\n")
		for _, args := range [][]string{{"check", "--offline"}, {"check", "-o", "json"}, {"run"}, {"config", "print"}} {
			said(exitConfig, nil, append(args, "-c", "bad.yaml")...)
		}
	})
	t.Run("refused where there is no place for one", func(t *testing.T) {
		for _, wrong := range []string{
			"WEIR_CLICKHOUSE_URLS=http://weir:" + secrets["wrong"] + "@127.0.0.1:1", "WEIR_CLICKHOUSE_URLS=weir:" + secrets["wrong"] + "@127.0.0.1:1",
			"WEIR_CLICKHOUSE_URLS=http://127.0.0.1:1/?password=" + secrets["wrong"], "WEIR_ROLLUP_LOCK=redis://:" + secrets["wrong"] + "@127.0.0.1:1",
			"WEIR_KAFKA_BROKERS=weir:" + secrets["wrong"] + "@127.0.0.1:1", "WEIR_HTTP_LISTEN=weir:" + secrets["wrong"] + "@127.0.0.1:1",
		} {
			said(exitConfig, append(fromEnv, wrong), "run")
		}
	})
	t.Run("tables and reader", func(t *testing.T) {
		said(0, append(fromEnv, "WEIR_READER_PASSWORD="+secrets["reader"]), "migrate", "--dry-run", "--reader", "grafana")
		said(0, fromEnv, "migrate")
		said(0, fromEnv, "check")
		stored, err := localtest.Query(engine, database, "SELECT * FROM weir_jobs")
		if err != nil || !strings.Contains(stored, "hash_key") {
			t.Errorf("the meaning of the job: %q, %v", stored, err)
		}
		clean(t, "weir_jobs", stored)
	})
	t.Run("errors", func(t *testing.T) {
		wrong := []string{"WEIR_KAFKA_SASL_PASSWORD=" + secrets["wrong"], "WEIR_CLICKHOUSE_PASSWORD=" + secrets["clickhouse.password"]}
		configure(addr, server.URL, "/dev/null", "1s")
		said(exitUnavailable, wrong, "run") // this broker closes the connection; tests of ingest cover a real one
		good()
		wrong = []string{"WEIR_KAFKA_SASL_PASSWORD=" + secrets["kafka.sasl.password"], "WEIR_CLICKHOUSE_PASSWORD=" + secrets["wrong"]}
		if out := said(exitConfig, wrong, "run"); !strings.Contains(out, "check user and password") {
			t.Errorf("ClickHouse's refusal:\n%s", out)
		}
		said(exitConfig, wrong, "check")
		said(exitConfig, wrong, "migrate")
		configure(addr, "http://127.0.0.1:1", "clickhouse.password", "1s")
		said(exitUnavailable, nil, "run")
		configure("127.0.0.1:1", server.URL, "clickhouse.password", "1s")
		said(exitUnavailable, nil, "run")
		configure(addr, server.URL, "not/there", "5m")
		said(exitConfig, nil, "run")
		good()
	})
	t.Run("while it runs", func(t *testing.T) {
		var out await.Output
		cmd := start(&out, fromEnv, "run")
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }() // the test checks the output, not the exit code
		defer func() { _ = cmd.Process.Kill(); <-ended }()
		var address string
		eventually(t, "the address", func() bool {
			m := regexp.MustCompile(`"http":"([^"]+)"`).FindStringSubmatch(out.String())
			if m != nil {
				address = "http://" + m[1]
			}
			return m != nil
		})
		look := func(path, token string) string {
			t.Helper()
			r, err := http.NewRequest("GET", address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprint(res.Header, string(b))
			clean(t, path, text)
			return text
		}
		produce(t, addr)
		eventually(t, "a flush", func() bool { return strings.Contains(look("/api/v1/status", secrets["http.token"]), `"durable": 1`) })
		server.answer.Store("241 Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)") // which is temporary
		produce(t, addr)
		eventually(t, "the error in the status", func() bool {
			return strings.Contains(look("/api/v1/status", secrets["http.token"]), "Memory limit exceeded")
		})
		for _, path := range []string{"/", "/metrics", "/livez", "/readyz", "/api/v1/status"} {
			look(path, secrets["http.token"])
			look(path, secrets["wrong"])
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
		if err != nil && runtime.GOOS == "linux" {
			t.Error(err)
		}
		clean(t, "the command line", string(line))
		server.answer.Store("516 Authentication failed. (AUTHENTICATION_FAILED)") // which is permanent
		eventually(t, "the end", func() bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		})
		if !strings.Contains(out.String(), "check user and password") {
			t.Errorf("the last lines name no remedy:\n%s", out.String())
		}
		clean(t, "the log", out.String())
	})
}

// account is the engine behind a password, with answers that a test can set.
type account struct {
	*httptest.Server
	answer  atomic.Value // "241 words": to inserts
	refused atomic.Int64 // how often answer was sent
}

func newAccount(t *testing.T, engine, password string) *account {
	t.Helper()
	u, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(u)
	behind.ErrorLog = log.New(io.Discard, "", 0) // clients that were killed
	a := &account{}
	a.answer.Store("")
	refuse := func(w http.ResponseWriter, r *http.Request, answer string) {
		code, words, _ := strings.Cut(answer, " ")
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the client gets no answer
		w.Header().Set("X-ClickHouse-Exception-Code", code)
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "Code: %s. DB::Exception: %s", code, words)
	}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := a.answer.Load().(string)
		user, given, _ := r.BasicAuth() // which the client uses without TLS
		if given != password {
			answer = "516 " + user + ": Authentication failed: password is incorrect. (AUTHENTICATION_FAILED)"
		}
		if answer != "" {
			a.refused.Add(1)
			refuse(w, r, answer)
			return
		}
		r.Header.Del("Authorization") // the engine has no accounts
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// produce writes an event, as the only user.
func produce(t *testing.T, addr string) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.SASL(plain.Auth{User: "weir", Pass: secrets["kafka.sasl.password"]}.AsMechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	value := fmt.Sprintf(`{"ts":%d,"user_id":7}`, time.Now().UnixMilli())
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "clicks", Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	await.Until(t, func() error {
		if !so() {
			return errors.New(what)
		}
		return nil
	})
}
