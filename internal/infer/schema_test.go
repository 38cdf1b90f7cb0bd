package infer

import (
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/event"
	"weir/schemas"
)

// TestSilentRegistry: a registry that does not answer is asked once, however many schemas
// records name.
func TestSilentRegistry(t *testing.T) {
	var asked atomic.Int32
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	defer silent.Close()
	registry, err := schemas.NewRegistry(schemas.Config{URL: silent.URL, Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	var records []event.Record
	for id := range uint32(5) {
		records = append(records, event.Record{Value: append(binary.BigEndian.AppendUint32([]byte{0}, id+1), "value"...)})
	}
	facts := Read(t.Context(), records, Schemas{Registry: registry}, func(string) bool { return true })
	if facts.Named != 5 || facts.Trouble == nil || !strings.Contains(facts.Trouble.Error(), "schema id 1 of the registry") {
		t.Errorf("%d of 5 records name a schema, with the trouble %v", facts.Named, facts.Trouble)
	}
	if n := asked.Load(); n > 1 {
		t.Errorf("a registry that does not answer was asked %d times, want once", n)
	}
}
