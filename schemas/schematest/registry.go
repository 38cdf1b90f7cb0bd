// Package schematest is a schema registry for tests. It answers the requests of Confluent's
// HTTP interface that a reader sends, and can fail in the ways in which registries do.
package schematest

import (
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Schema is a schema of the registry.
type Schema struct {
	Text       string
	Type       string // AVRO, PROTOBUF or JSON
	References []Reference
}

// A Reference names a schema that another one uses.
type Reference struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

// A Mood is how the registry answers.
type Mood int

// The moods.
const (
	Well    Mood = iota
	Away         // it closes the connection
	Slow         // it does not answer while it is in this mood
	Broken       // 500 with its own error
	Forgets      // 404
	Refuses      // 401
	Lies         // 200, and a page of HTML
	Other        // 200, and JSON that is no schema
	Cut          // the answer ends early
	Wrong        // a schema of another type
	Garbage      // a schema that cannot be parsed
	Moods
)

var moods = [...]string{"well", "away", "slow", "broken", "forgets", "refuses", "lies", "other", "cut", "wrong", "garbage"}

func (m Mood) String() string { return moods[m] }

// A Registry is a running registry.
type Registry struct {
	URL string

	User, Password string // if set, requests must have them

	mu       sync.Mutex
	mood     Mood
	changed  chan struct{} // closed when the mood changes
	schemas  []Schema      // by id, from 1
	subjects map[string][]int
	requests int
}

// Start starts an empty registry.
func Start(t testing.TB) *Registry { return start(t, nil) }

// StartTLS starts one that speaks TLS.
func StartTLS(t testing.TB, config *tls.Config) *Registry { return start(t, config) }

func start(t testing.TB, config *tls.Config) *Registry {
	r := &Registry{subjects: map[string][]int{}, changed: make(chan struct{})}
	server := httptest.NewUnstartedServer(r)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log every handshake that is meant to fail
	if server.TLS = config; config == nil {
		server.Start()
	} else {
		server.StartTLS()
	}
	t.Cleanup(func() {
		r.Be(Well) // lets slow requests go
		server.Close()
	})
	r.URL = server.URL
	return r
}

// Be changes the mood.
func (r *Registry) Be(m Mood) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mood = m
	close(r.changed)
	r.changed = make(chan struct{})
}

// Requests returns how many requests came.
func (r *Registry) Requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// Add registers a schema as the next version of a subject and returns its id.
func (r *Registry) Add(subject string, s Schema) (id uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.schemas = append(r.schemas, s)
	r.subjects[subject] = append(r.subjects[subject], len(r.schemas))
	return uint32(len(r.schemas))
}

// guid returns the GUID of an id: any fixed relation will do.
func guid(id uint32) (g [16]byte) {
	binary.BigEndian.PutUint64(g[:], 0x8979176223364186)
	binary.BigEndian.PutUint32(g[12:], id)
	return g
}

// Prefix returns what stands in front of a value of the schema.
func Prefix(id uint32) []byte { return binary.BigEndian.AppendUint32([]byte{0}, id) }

// Header returns the value of the header __value_schema_id of the schema, in the form with a
// GUID.
func Header(id uint32) []byte {
	g := guid(id)
	return append([]byte{1}, g[:]...)
}

// ServeHTTP answers a request.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.requests++
	for r.mood == Slow {
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-req.Context().Done():
			return
		case <-time.After(time.Hour):
		}
		r.mu.Lock()
	}
	mood := r.mood
	s, id, version := r.find(req.URL.Path)
	r.mu.Unlock()
	fail := func(status, code int, message string) {
		w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error_code": code, "message": message})
	}
	if user, password, _ := req.BasicAuth(); mood == Refuses || user != r.User || password != r.Password {
		fail(http.StatusUnauthorized, 401, "Unauthorized")
		return
	}
	switch {
	case mood == Away:
		panic(http.ErrAbortHandler)
	case mood == Broken:
		fail(http.StatusInternalServerError, 50001, "Error in the backend data store")
		return
	case mood == Lies:
		_, _ = w.Write([]byte("<html>Welcome to nginx!</html>"))
		return
	case mood == Other:
		_, _ = w.Write([]byte(`{"status":"ok"}`))
		return
	case req.URL.Path == "/schemas/types":
		_, _ = w.Write([]byte(`["JSON","PROTOBUF","AVRO"]`))
		return
	case mood == Forgets || s == nil:
		fail(http.StatusNotFound, 40403, "Schema not found")
		return
	}
	answer := map[string]any{"schema": s.Text, "id": id}
	if s.Type != "AVRO" {
		answer["schemaType"] = s.Type
	}
	if mood == Wrong {
		answer["schemaType"] = "JSON"
	}
	if mood == Garbage {
		answer["schema"] = "{"
	}
	if s.References != nil {
		answer["references"] = s.References
	}
	if version > 0 {
		answer["version"] = version
	}
	b, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	if mood == Cut {
		b = b[:len(b)/2]
	}
	_, _ = w.Write(b)
}

// find returns the schema at a path of the interface; nil if there is none.
func (r *Registry) find(path string) (s *Schema, id uint32, version int) {
	of := func(id int) *Schema {
		if id < 1 || id > len(r.schemas) {
			return nil
		}
		return &r.schemas[id-1]
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case len(parts) == 3 && parts[0] == "schemas" && parts[1] == "ids":
		n, _ := strconv.Atoi(parts[2])
		return of(n), uint32(n), 0
	case len(parts) == 3 && parts[0] == "schemas" && parts[1] == "guids":
		for i := range r.schemas {
			g := guid(uint32(i + 1))
			h := hex.EncodeToString(g[:])
			if parts[2] == fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:]) {
				return of(i + 1), uint32(i + 1), 0
			}
		}
	case len(parts) == 4 && parts[0] == "subjects" && parts[2] == "versions":
		v, _ := strconv.Atoi(parts[3])
		if ids := r.subjects[parts[1]]; v >= 1 && v <= len(ids) {
			return of(ids[v-1]), uint32(ids[v-1]), v
		}
	}
	return nil, 0, 0
}
