package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A stack is docker-compose.yml under a project name of its own, so that a stack
// that runs on this machine already is left alone.
type stack struct {
	*engine
	project string
	files   []string       // laid over the shipped file
	kafka   []string       // where the brokers are published
	doors   []net.Listener // see publish
}

// compose runs docker compose on the shipped file, as for a look at it, and the
// override.
func (s *stack) compose(ctx context.Context, args ...string) (string, error) {
	words := []string{"compose", "--progress", "plain", "--project-name", s.project, "--env-file", "demo.env", "--file", "docker-compose.yml"}
	for _, file := range s.files {
		words = append(words, "--file", file)
	}
	return s.output(ctx, "docker", append(words, args...)...)
}

// network is where services and clients meet.
func (s *stack) network() string { return s.project + "_weir" }

// container is the name of a service's first container.
func (s *stack) container(service string) string { return s.project + "-" + service + "-1" }

// inspect is one value of a service's container, by a template of docker inspect.
func (s *stack) inspect(ctx context.Context, service, format string) (string, error) {
	return s.output(ctx, "docker", "inspect", "--format", format, s.container(service))
}

// published are the ports that the file publishes, by service.
func (s *stack) published(ctx context.Context) (map[string][]port, error) {
	text, err := s.compose(ctx, "config", "--format", "json")
	if err != nil {
		return nil, err
	}
	var file struct {
		Services map[string]struct{ Ports []port }
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return nil, err
	}
	all := map[string][]port{}
	for name, service := range file.Services {
		all[name] = service.Ports
	}
	return all, nil
}

// A port is one of a service's.
type port struct {
	HostIP    string `json:"host_ip"`
	Published string // on this machine
	Target    int    // in the container
}

// publish does for services what docker does for a network that leads outside:
// an internal one publishes no port. It listens where the file says and passes
// connections on to the service's container, wherever that is by then.
func (s *stack) publish(ctx context.Context, services ...string) error {
	all, err := s.published(ctx)
	if err != nil {
		return err
	}
	for _, service := range services {
		for _, p := range all[service] {
			l, err := net.Listen("tcp", net.JoinHostPort(p.HostIP, p.Published))
			if err != nil {
				return fmt.Errorf("port of %s: %w: the stack wants it, end what has it", service, err)
			}
			s.doors = append(s.doors, l)
			go s.pass(ctx, l, service, p.Target)
		}
	}
	return nil
}

// pass passes connections of a door on until it is closed.
func (s *stack) pass(ctx context.Context, l net.Listener, service string, target int) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			ip, err := s.inspect(ctx, service, `{{with index .NetworkSettings.Networks "`+s.network()+`"}}{{.IPAddress}}{{end}}`)
			if err != nil {
				return // the client sees its connection end
			}
			to, err := net.DialTimeout("tcp", net.JoinHostPort(ip, strconv.Itoa(target)), 5*time.Second)
			if err != nil {
				return
			}
			defer to.Close()
			var both sync.WaitGroup
			for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
				both.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_ = way[0].(*net.TCPConn).CloseWrite()
				})
			}
			both.Wait()
		}()
	}
}

// down removes everything, volumes and images without a name included.
func (s *stack) down(ctx context.Context) error {
	for _, l := range s.doors {
		_ = l.Close()
	}
	if _, err := s.compose(ctx, "down", "--volumes", "--remove-orphans", "--timeout", "30"); err != nil {
		return err
	}
	// What newer builds have taken the names of.
	for _, label := range []string{keyLabel, "com.docker.compose.project=" + s.project} {
		if err := s.run(ctx, "docker", "image", "prune", "--force", "--filter", "label="+label); err != nil {
			return err
		}
	}
	return nil
}

// lastWords writes what a failure may come from: the state of every container,
// what its health check said last, and the end of its log.
func (s *stack) lastWords(ctx context.Context, w io.Writer) {
	ids, err := s.compose(ctx, "ps", "--all", "--quiet")
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	for id := range strings.FieldsSeq(ids) {
		state, err := s.output(ctx, "docker", "inspect", "--format",
			`{{.Name}}: {{.State.Status}}, exit code {{.State.ExitCode}}, restarted {{.RestartCount}} times{{if .State.OOMKilled}}, out of memory{{end}}`+
				`{{with .State.Health}}, {{.Status}}{{range .Log}}{{$last := .Output}}{{end}}{{end}}`, id)
		fmt.Fprintln(w, "==", state, errText(err))
		logs := exec.CommandContext(ctx, "docker", "logs", "--tail", "15", id)
		logs.Env = s.env
		words, err := logs.CombinedOutput()
		fmt.Fprintln(w, lastLines(string(words), 15), errText(err))
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// say tells what is going on.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "stack: "+format+"\n", args...)
}
