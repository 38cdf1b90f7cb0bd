package schemas

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/event"
)

// A Config says where the registry is. URL or Local is required.
type Config struct {
	URL      string // http or https, perhaps with a path in front of the registry's own; empty: there is none
	User     string // empty: no authentication
	Password string
	TLS      *tls.Config   // nil: the system's certificates
	Timeout  time.Duration // of one request; default 10 s

	// Local has the texts of schemas that are not asked for, by their number or their GUID.
	Local map[string]string
}

const (
	maxAnswer     = 16 << 20 // bytes of one answer
	maxReferences = 1000     // schemas that one schema refers to, in all
	maxText       = 4 << 20  // bytes of a schema with those that it refers to; Confluent's registry keeps each in a record of 1 MB
)

// A Registry is a client of a schema registry. It may be used by several goroutines.
type Registry struct {
	config Config
	base   string
	client *http.Client

	mu    sync.Mutex
	known map[string]*entry // by path of the request and format
}

// An entry is a schema that is known, or is being asked for.
type entry struct {
	done   chan struct{}
	parsed parsed
	err    error
}

// parsed is a schema of a registry. Of those that hold several messages, the id of a record
// says which one it is.
type parsed interface {
	schema(n event.SchemaName) *event.Schema
}

// one is a schema that holds nothing to choose from.
type one struct{ *event.Schema }

func (o one) schema(event.SchemaName) *event.Schema { return o.Schema }

// NewRegistry makes a client. It does not connect yet.
func NewRegistry(c Config) (*Registry, error) {
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Second
	}
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" && (c.URL != "" || len(c.Local) == 0) {
		return nil, errors.New("schemas: the registry has no valid URL")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = c.TLS
	return &Registry{
		config: c, base: strings.TrimRight(c.URL, "/"), known: map[string]*entry{},
		client: &http.Client{Transport: transport, Timeout: c.Timeout},
	}, nil
}

// Close closes idle connections.
func (r *Registry) Close() { r.client.CloseIdleConnections() }

// Of is the registry for the jobs of one format.
type Of struct {
	*Registry
	format event.Format
}

// For returns the registry for the jobs of a format.
func (r *Registry) For(format event.Format) Of { return Of{r, format} }

// Schema returns the schema of an id. It asks the registry once for each; an error is not
// kept.
func (o Of) Schema(ctx context.Context, id event.SchemaID) (*event.Schema, error) {
	n := id.Name()
	p, err := o.find(ctx, n)
	if err != nil {
		return nil, err
	}
	return p.schema(n), nil
}

// Has reports whether records of a schema can be read now.
func (o Of) Has(ctx context.Context, n event.SchemaName) bool {
	_, err := o.find(ctx, n)
	return err == nil
}

func (o Of) find(ctx context.Context, n event.SchemaName) (parsed, error) {
	if text, ok := o.config.Local[n.Key()]; ok {
		p, err := o.once(ctx, o.format.String()+" "+n.Key(), func() (parsed, error) { return o.parse(text, nil) })
		if err != nil {
			return nil, fmt.Errorf("schemas: the file of %v cannot be parsed as %s: %w", n, o.format, err)
		}
		return p, nil
	}
	if n.Glue {
		return nil, fmt.Errorf("schemas: registry.schemas does not list %v", n)
	}
	if o.base == "" {
		return nil, fmt.Errorf("schemas: registry.schemas does not list %v, and there is no registry.url to ask", n)
	}
	p, err := o.once(ctx, o.format.String()+pathOf(n), func() (parsed, error) { return o.read(ctx, n) })
	if n.Key() == "0" && errors.Is(err, errNotFound) {
		err = errNoID
	}
	if err != nil {
		return nil, fmt.Errorf("schemas: %v of the registry at %s: %w", n, o.base, err)
	}
	return p, nil
}

// pathOf returns where the registry has a schema.
func pathOf(n event.SchemaName) string {
	if n.GUID != "" {
		return "/schemas/guids/" + n.GUID
	}
	return "/schemas/ids/" + strconv.FormatUint(uint64(n.Number), 10)
}

// once calls f unless another call has succeeded or is under way.
func (r *Registry) once(ctx context.Context, key string, f func() (parsed, error)) (parsed, error) {
	r.mu.Lock()
	e := r.known[key]
	if e != nil {
		r.mu.Unlock()
		select {
		case <-e.done:
			if errors.Is(e.err, context.Canceled) && ctx.Err() == nil { // the other caller gave up
				return r.once(ctx, key, f)
			}
			return e.parsed, e.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	e = &entry{done: make(chan struct{})}
	r.known[key] = e
	r.mu.Unlock()
	e.parsed, e.err = f()
	if e.err != nil {
		r.mu.Lock()
		delete(r.known, key)
		r.mu.Unlock()
	}
	close(e.done)
	return e.parsed, e.err
}

// An answer is a schema as the registry sends it.
type answer struct {
	Schema     *string     `json:"schema"`
	Type       string      `json:"schemaType"` // empty: AVRO
	References []reference `json:"references"`
}

// A reference names a schema that another one uses: by Name in the text of that one.
type reference struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

// A source is the text of a schema that another one uses.
type source struct{ name, text string }

// read reads and parses a schema, and those that it refers to.
func (o Of) read(ctx context.Context, n event.SchemaName) (parsed, error) {
	a, err := o.ask(ctx, pathOf(n))
	if err != nil {
		return nil, err
	}
	want := strings.ToUpper(o.format.String())
	if a.Type != want {
		return nil, fmt.Errorf("it has the type %s, and %w %s", a.Type, ErrFormat, o.format)
	}
	var sources []source
	left := maxText - len(*a.Schema)
	if left < 0 {
		return nil, errTooLong
	}
	if err := o.references(ctx, a.References, map[reference]bool{}, &sources, &left); err != nil {
		return nil, err
	}
	p, err := o.parse(*a.Schema, sources)
	if err != nil {
		return nil, fmt.Errorf("it cannot be parsed as %s: %w", o.format, err)
	}
	return p, nil
}

// parse parses a schema of the format. Each source comes after those that it uses.
func (o Of) parse(text string, sources []source) (parsed, error) {
	if o.format == event.Protobuf {
		return parseProto(text, sources)
	}
	var texts []string
	for _, s := range sources {
		texts = append(texts, s.text)
	}
	s, err := parseAvro(text, texts)
	return one{s}, err
}

// errNoID is the error of an id that no registry gives.
var errNoID = errors.New("no schema has the id 0. The records have probably ids of 8 bytes, as Apicurio's serializers write them: set apicurio.registry.as-confluent to true in the producers. Pass over the records so far with lost_schemas: [0]")

// ErrFormat is the error of a schema of another format.
var ErrFormat = errors.New("the job's format is")

// errTooLong is the error of a schema that would take too much memory: a parser needs up to two hundred times
// the text.
var errTooLong = fmt.Errorf("it has more than %d MiB, with the schemas to which it refers", maxText>>20)

// references appends the schemas that others refer to, each after those that it refers to. Together they have
// at most left bytes.
func (o Of) references(ctx context.Context, list []reference, seen map[reference]bool, into *[]source, left *int) error {
	for _, ref := range list {
		if seen[ref] {
			continue
		}
		if seen[ref] = true; len(seen) > maxReferences {
			return fmt.Errorf("it refers to more than %d other schemas", maxReferences)
		}
		a, err := o.ask(ctx, "/subjects/"+url.PathEscape(ref.Subject)+"/versions/"+strconv.Itoa(ref.Version))
		if err != nil {
			return fmt.Errorf("version %d of subject %s, to which it refers: %w", ref.Version, ref.Subject, err)
		}
		if *left -= len(*a.Schema); *left < 0 {
			return errTooLong
		}
		if err := o.references(ctx, a.References, seen, into, left); err != nil {
			return err
		}
		*into = append(*into, source{ref.Name, *a.Schema})
	}
	return nil
}

// Ping asks the registry once whether it answers, as a registry of schemas does.
func (r *Registry) Ping(ctx context.Context) error {
	body, err := r.get(ctx, "/schemas/types")
	var types []string
	if errors.Is(err, errNotFound) || err == nil && json.Unmarshal(body, &types) != nil {
		err = errNoRegistry
	}
	if err != nil {
		return fmt.Errorf("schemas: the registry at %s: %w", r.base, err)
	}
	return nil
}

// errNotFound is the error of an answer with the status 404.
var errNotFound = errors.New("404")

var errNoRegistry = errors.New("its answer is no schema: does registry.url name a schema registry?")

// ask asks for a schema.
func (r *Registry) ask(ctx context.Context, path string) (*answer, error) {
	body, err := r.get(ctx, path)
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil || a.Schema == nil {
		return nil, errNoRegistry
	}
	if a.Type == "" {
		a.Type = "AVRO"
	}
	return &a, nil
}

// get sends one request and returns the body of the answer.
func (r *Registry) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/vnd.schemaregistry.v1+json, application/json")
	if r.config.User != "" {
		req.SetBasicAuth(r.config.User, r.config.Password)
	}
	res, err := r.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // it repeats the URL
			err = u.Err
		}
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("its answer ends early: %w", err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("its answer has more than %d MiB", maxAnswer>>20)
	case res.StatusCode == http.StatusNotFound && message(body) == "": // a registry says what it did not find
		return nil, fmt.Errorf("it has nothing at this address (%w): does registry.url name a schema registry, with the path of Confluent's interface?", errNotFound)
	case res.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("it does not know the schema (%w%s): was it deleted, or is it in another registry?", errNotFound, message(body))
	case res.StatusCode == http.StatusUnauthorized && r.config.User == "":
		return nil, fmt.Errorf("it wants a user (%d%s): see registry.user and registry.password_file", res.StatusCode, message(body))
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("it refuses the user %q (%d%s): see registry.user and registry.password_file", r.config.User, res.StatusCode, message(body))
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers %d%s", res.StatusCode, message(body))
	}
	return body, nil
}

// message returns the registry's own words, if an answer has any.
func message(body []byte) string {
	var e struct {
		Code    int    `json:"error_code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &e) != nil || e.Message == "" {
		return ""
	}
	const most = 200
	return fmt.Sprintf(", error %d: %.*s", e.Code, most, e.Message)
}
