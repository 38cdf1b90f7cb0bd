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

// project is a name of its own, so that the stack does not disturb another one on this machine.
const project = "weir-stack"

// A stack runs docker-compose.yml.
type stack struct {
	*engine
	listeners []net.Listener // see publish
}

// compose runs docker compose on docker-compose.yml and the file that overrides it.
func (s *stack) compose(ctx context.Context, args ...string) (string, error) {
	words := []string{"compose", "--progress", "plain", "--project-name", project, "--env-file", "demo.env", "--file", "docker-compose.yml", "--file", "proof/stack/override.yml"}
	return s.output(ctx, "docker", append(words, args...)...)
}

// network returns the name of the network of services and clients.
func (s *stack) network() string { return project + "_weir" }

// container returns the name of a service's first container.
func (s *stack) container(service string) string { return project + "-" + service + "-1" }

// inspect returns one value of a service's container, by a template of docker inspect.
func (s *stack) inspect(ctx context.Context, service, format string) (string, error) {
	return s.output(ctx, "docker", "inspect", "--format", format, s.container(service))
}

// published returns the ports that docker-compose.yml publishes, by service.
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

// A port is a published port of a service.
type port struct {
	HostIP    string `json:"host_ip"`
	Published string // on this machine
	Target    int    // in the container
}

// publish publishes the ports of services, because docker publishes none of a network
// that is internal. It listens on the published addresses and passes connections on to
// the service's container, whose address may change.
func (s *stack) publish(ctx context.Context, services ...string) error {
	all, err := s.published(ctx)
	if err != nil {
		return err
	}
	for _, service := range services {
		for _, p := range all[service] {
			l, err := net.Listen("tcp", net.JoinHostPort(p.HostIP, p.Published))
			if err != nil {
				return fmt.Errorf("port of %s: %w: stop the program that listens there", service, err)
			}
			s.listeners = append(s.listeners, l)
			go s.pass(ctx, l, service, p.Target)
		}
	}
	return nil
}

// pass passes connections on until the listener is closed.
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

// down removes the stack, with its volumes and with images that have no name.
func (s *stack) down(ctx context.Context) error {
	for _, l := range s.listeners {
		_ = l.Close()
	}
	if _, err := s.compose(ctx, "down", "--volumes", "--remove-orphans", "--timeout", "30"); err != nil {
		return err
	}
	// Images that have lost their names to newer builds.
	for _, label := range []string{keyLabel, "com.docker.compose.project=" + project} {
		if err := s.run(ctx, "docker", "image", "prune", "--force", "--filter", "label="+label); err != nil {
			return err
		}
	}
	return nil
}

// explain writes what may explain a failure: the state of every container, the last
// output of its health check, and the end of its log.
func (s *stack) explain(ctx context.Context, w io.Writer) {
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

// say prints what the program does.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "stack: "+format+"\n", args...)
}
