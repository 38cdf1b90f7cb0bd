package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// imageMost is how many bytes weir's image may have.
const imageMost = 40_000_000

// never is how long a wait lasts before it fails.
const never = 10 * time.Minute

// services has the services that are started; compose starts what they depend on.
// Grafana and Prometheus are left out, because there are no stand-ins for their images.
var services = []string{"kafka", "clickhouse", "weir", "gen-clicks", "gen-locations"}

// A check is one run over the whole stack.
type check struct {
	*stack
	env map[string]string // demo.env
}

func (c *check) all(ctx context.Context) (err error) {
	if c.env, err = readEnv("demo.env"); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"build", c.build},
		{"up", c.up},
		{"answers", c.answers},
		{"accounts", c.accounts},
		{"restarts", c.restarts},
		{"down and up", c.downAndUp},
		{"verify", c.verify},
		{"nothing left", c.nothingLeft},
	} {
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// took prints how long a step took.
func took(what string, began time.Time) {
	fmt.Printf("%-48s %6.1f s\n", what, time.Since(began).Seconds())
}

// ok prints a result of a step that succeeded.
func ok(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// build builds weir's image from the Dockerfile, and checks its contents.
func (c *check) build(ctx context.Context) error {
	began := time.Now()
	if _, err := c.compose(ctx, "build", "weir"); err != nil {
		return err
	}
	took("weir's image built", began)
	const image = "weir-stack/weir"
	text, err := c.output(ctx, "docker", "image", "inspect", image)
	if err != nil {
		return err
	}
	var found []struct {
		Size   int64
		Config struct {
			User   string
			Labels map[string]string
		}
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return err
	}
	i := found[0]
	if i.Size > imageMost {
		return fmt.Errorf("the image has %d bytes, want at most %d", i.Size, imageMost)
	}
	if i.Config.User != "65532:65532" {
		return fmt.Errorf("the image runs as %q", i.Config.User)
	}
	files, err := c.files(ctx, image)
	if err != nil {
		return err
	}
	if want := []string{"LICENSE", "etc/ssl/certs/ca-certificates.crt", "weir"}; !slices.Equal(files, want) {
		return fmt.Errorf("the image holds %q, want %q", files, want)
	}
	said, err := c.output(ctx, "docker", "run", "--rm", "--network", "none", image, "--version")
	if err != nil {
		return err
	}
	for _, label := range []string{"version", "revision"} {
		value := i.Config.Labels["org.opencontainers.image."+label]
		if value == "" || !strings.Contains(said, value) {
			return fmt.Errorf("weir --version says %q, the image's label %s is %q", said, label, value)
		}
	}
	ok("%s", said)
	_, err = c.output(ctx, "docker", "run", "--rm", "--network", "none", image, "up")
	if err == nil || !strings.Contains(err.Error(), "without the embedded engine") {
		return fmt.Errorf("weir up in the image says: %s", errText(err))
	}
	return nil
}

// files returns the files of an image, without those that docker adds for a container.
func (c *check) files(ctx context.Context, image string) ([]string, error) {
	id, err := c.output(ctx, "docker", "create", image)
	if err != nil {
		return nil, err
	}
	listed, err := c.output(ctx, "sh", "-c", "docker export "+id+" | tar -t")
	if _, e := c.output(ctx, "docker", "rm", id); err == nil {
		err = e
	}
	var files []string
	for name := range strings.FieldsSeq(listed) {
		switch {
		case strings.HasSuffix(name, "/"), strings.HasPrefix(name, "dev/"), slices.Contains([]string{".dockerenv", "etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/mtab"}, name):
		default:
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files, err
}

// up starts the stack with the command in the first line of docker-compose.yml, and waits
// for numbers.
func (c *check) up(ctx context.Context) error {
	if err := c.publish(ctx, services...); err != nil {
		return err
	}
	began := time.Now()
	if err := c.start(ctx); err != nil {
		return err
	}
	took("up --wait, from images present to healthy", began)
	began = time.Now()
	if err := c.wait(ctx, "numbers in SQL", c.growing(ctx)); err != nil {
		return err
	}
	took("numbers in SQL", began)
	return nil
}

func (c *check) start(ctx context.Context) error {
	_, err := c.compose(ctx, append([]string{"up", "--detach", "--no-build", "--wait"}, services...)...)
	return err
}

// growing returns a condition that holds when each job has counted more than at the
// first call.
func (c *check) growing(ctx context.Context) func() error {
	var first map[string]int
	return func() error {
		now := map[string]int{}
		for _, job := range []string{"clicks", "locations"} {
			text, err := c.sql(ctx, "grafana", "SELECT sum(hits) FROM "+job+"_1m")
			if err != nil {
				return err
			}
			if now[job], err = strconv.Atoi(text); err != nil {
				return err
			}
		}
		if first == nil {
			first = now
		}
		for job, n := range now {
			if n <= first[job] {
				return fmt.Errorf("%s stands at %d", job, n)
			}
		}
		return nil
	}
}

// answers sends requests to the ports that the stack publishes.
func (c *check) answers(ctx context.Context) error {
	for path, want := range map[string]string{
		"/livez":         "ok",
		"/readyz":        "ok",
		"/api/v1/status": `"state": "running"`,
		"/metrics":       "weir_build_info",
		"/api/v1/query?key=w:clicks:hits:-1..now:*": `"found":true`,
	} {
		switch text, err := c.get(ctx, "http://127.0.0.1:8686"+path); {
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		case !strings.Contains(text, want):
			return fmt.Errorf("%s says %.300q, want %q", path, text, want)
		}
	}
	ok("health, status, metrics and a window over HTTP")
	redis := func(password string) (string, error) {
		return c.output(ctx, "redis-cli", "-h", "127.0.0.1", "-p", "6379", "-a", password, "--no-auth-warning", "-e", "PFCOUNT", "w:clicks:users:-1..now:*")
	}
	people, err := redis(c.env["REDIS_PASSWORD"])
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(people); err != nil || n < 1 {
		return fmt.Errorf("PFCOUNT says %q", people)
	}
	if text, err := redis("wrong"); err == nil {
		return fmt.Errorf("with a wrong password PFCOUNT says %q", text)
	}
	ok("%s people in the last minutes over the Redis port, and none with a wrong password", people)
	if _, err := c.weir(ctx, "check"); err != nil {
		return err
	}
	ok("weir check from outside, by the published ports of Kafka and ClickHouse")
	return nil
}

// accounts tries, for each account of ClickHouse, a statement that it must not run.
func (c *check) accounts(ctx context.Context) error {
	for _, try := range []struct{ user, statement string }{
		{"weir", "CREATE TABLE weir.more (n UInt8) ENGINE = Memory"},
		{"weir", "ALTER TABLE weir.clicks_state DELETE WHERE 1"},
		{"weir", "DROP TABLE weir.clicks_state"},
		{"grafana", "INSERT INTO weir.weir_dead_letters (job) VALUES ('x')"},
	} {
		if text, err := c.sql(ctx, try.user, try.statement); err == nil || !strings.Contains(err.Error(), "497") {
			return fmt.Errorf("user %s ran a statement that it must not run: %s: %s%s", try.user, try.statement, text, errText(err))
		}
	}
	if _, err := c.query(ctx, "weir", "wrong", "SELECT 1"); err == nil || !strings.Contains(err.Error(), "516") {
		return fmt.Errorf("with a wrong password ClickHouse says: %s", errText(err))
	}
	ok("weir's account may read and insert, Grafana's may read")
	return nil
}

// restarts restarts each service under load.
func (c *check) restarts(ctx context.Context) error {
	for _, service := range services {
		began := time.Now()
		if _, err := c.compose(ctx, "restart", service); err != nil {
			return err
		}
		if err := c.wait(ctx, service+" healthy", func() error { return c.healthy(ctx, service) }); err != nil {
			return err
		}
		if err := c.wait(ctx, "numbers after the restart of "+service, c.growing(ctx)); err != nil {
			return err
		}
		took("restart of "+service+", until numbers grow", began)
	}
	for _, service := range services {
		if n, err := c.inspect(ctx, service, "{{.RestartCount}}"); err != nil || n != "0" {
			return fmt.Errorf("%s ended by itself and was started again %s times%s", service, n, errText(err))
		}
	}
	return nil
}

func (c *check) healthy(ctx context.Context, service string) error {
	state, err := c.inspect(ctx, service, "{{.State.Status}} {{with .State.Health}}{{.Status}}{{end}}")
	if err == nil && state != "running healthy" && state != "running" {
		err = errors.New(state)
	}
	return err
}

// downAndUp stops the stack under load with docker compose down and starts it again.
// Nothing may be left to replay, and all counts must still be there.
func (c *check) downAndUp(ctx context.Context) error {
	// Compare windows to which nothing is added: they ended 5 seconds ago at least, and an
	// event of the generators is at most 2 seconds late.
	const closed = "SELECT sum(hits), sum(users) FROM clicks_1m WHERE window_start BETWEEN toStartOfMinute(now() - INTERVAL 5 SECOND) - INTERVAL 3 MINUTE AND toStartOfMinute(now() - INTERVAL 5 SECOND) - INTERVAL 1 SECOND"
	if err := c.wait(ctx, "a closed window", func() error {
		text, err := c.sql(ctx, "grafana", closed)
		if err == nil && strings.HasPrefix(text, "0\t") {
			err = errors.New("none yet")
		}
		return err
	}); err != nil {
		return err
	}
	frozen := strings.ReplaceAll(closed, "now()", "toDateTime("+strconv.FormatInt(time.Now().Unix(), 10)+")")
	if _, err := c.allCounted(ctx); err != nil {
		return err
	}
	before, err := c.sql(ctx, "grafana", frozen)
	if err != nil {
		return err
	}
	if _, err := c.compose(ctx, "start", "gen-clicks", "gen-locations"); err != nil {
		return err
	}
	if err := c.wait(ctx, "numbers", c.growing(ctx)); err != nil {
		return err
	}
	ended := map[string]chan string{}
	for _, service := range services {
		ended[service] = make(chan string, 1)
		waits := exec.CommandContext(ctx, "docker", "wait", c.container(service))
		waits.Env = c.engine.env
		code, err := waits.StdoutPipe()
		if err == nil {
			err = waits.Start()
		}
		if err != nil {
			return err
		}
		go func() {
			text, _ := io.ReadAll(code)
			_ = waits.Wait()
			ended[service] <- strings.TrimSpace(string(text))
		}()
	}
	began := time.Now()
	if _, err := c.compose(ctx, "down"); err != nil {
		return err
	}
	took("down, under load", began)
	for _, service := range services {
		code := <-ended[service]
		if want := map[string]string{"kafka": "143"}[service]; code != "0" && code != want {
			return fmt.Errorf("%s ended with %s, want 0", service, code)
		}
	}
	// Exit code 75 would mean that changes were not flushed. weir reads the open chunk of
	// each partition again in any case, to the same numbers.
	ok("weir ended with 0: all that was counted is flushed and committed")
	if err := c.start(ctx); err != nil {
		return err
	}
	after, err := c.sql(ctx, "grafana", frozen)
	if err != nil {
		return err
	}
	if after != before {
		return fmt.Errorf("closed windows held %q before down, %q after up", before, after)
	}
	ok("closed windows after down and up as before: %s hits, users", strings.ReplaceAll(after, "\t", ", "))
	return c.wait(ctx, "numbers after down and up", c.growing(ctx))
}

// verify stops the traffic and runs weir verify.
func (c *check) verify(ctx context.Context) error {
	said, err := c.allCounted(ctx)
	if err != nil {
		return err
	}
	ok("%s", said)
	return nil
}

// allCounted stops the traffic and waits until weir verify finds no record that is not
// counted yet. It returns what weir verify says.
func (c *check) allCounted(ctx context.Context) (said string, err error) {
	if _, err := c.compose(ctx, "stop", "gen-clicks", "gen-locations"); err != nil {
		return "", err
	}
	err = c.wait(ctx, "weir verify", func() error {
		var err error
		if said, err = c.weir(ctx, "verify"); err == nil && strings.Count(said, "; 0 records not counted yet") != 2 {
			err = errors.New(said)
		}
		return err
	})
	return said, err
}

// nothingLeft removes the stack with its data.
func (c *check) nothingLeft(ctx context.Context) error {
	if _, err := c.compose(ctx, "down", "--volumes"); err != nil {
		return err
	}
	for what, list := range map[string][]string{
		"containers": {"ps", "--all", "--quiet"}, "volumes": {"volume", "ls", "--quiet"}, "networks": {"network", "ls", "--quiet"},
	} {
		left, err := c.output(ctx, "docker", append(list, "--filter", "label=com.docker.compose.project="+project)...)
		if err != nil || left != "" {
			return fmt.Errorf("after down --volumes there are %s: %s%s", what, left, errText(err))
		}
	}
	ok("down --volumes leaves nothing")
	return nil
}

// weir runs a command of the binary on this machine, outside of the containers.
func (c *check) weir(ctx context.Context, args ...string) (string, error) {
	env := append(os.Environ(), "WEIR_KAFKA_BROKERS=127.0.0.1:9092", "WEIR_CLICKHOUSE_USER=weir", "WEIR_CLICKHOUSE_PASSWORD="+c.env["CLICKHOUSE_PASSWORD"])
	return output(ctx, env, "bin/weir", append(args, "-c", "weir.yaml")...)
}

// sql runs a statement in ClickHouse as a user of the stack.
func (c *check) sql(ctx context.Context, user, statement string) (string, error) {
	return c.query(ctx, user, c.env[map[string]string{"grafana": "CLICKHOUSE_READER_PASSWORD", "weir": "CLICKHOUSE_PASSWORD"}[user]], statement)
}

func (c *check) query(ctx context.Context, user, password, statement string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:8123/?"+url.Values{"database": {"weir"}}.Encode(), strings.NewReader(statement))
	if err != nil {
		return "", err
	}
	r.SetBasicAuth(user, password)
	return c.do(r)
}

func (c *check) get(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	return c.do(r)
}

func (c *check) do(r *http.Request) (string, error) {
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.500s", answer.StatusCode, text)
	}
	return string(bytes.TrimSpace(text)), err
}

// client keeps no connection open, because the next request may go to another container.
var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// wait waits until a condition holds.
func (c *check) wait(ctx context.Context, what string, holds func() error) error {
	for deadline := time.Now().Add(never); ; {
		err := holds()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("%s: does not come: %w", what, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// readEnv reads a file of NAME=value lines.
func readEnv(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(name, "#") {
			env[name] = value
		}
	}
	return env, nil
}
