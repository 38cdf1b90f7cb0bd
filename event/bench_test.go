package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The benchmarks read five of the eight fields of 1,024 different clicks, the
// time included, one event per iteration. Compare within one run:
//
//	go test ./event -run ^$ -bench Click -cpu 1 -benchmem

func clicks() [][]byte {
	docs := make([][]byte, 1024)
	for i := range docs {
		x := uint64(i+1) * 0x9e3779b97f4a7c15
		docs[i] = fmt.Appendf(nil, `{"event_id":"%016x%016x","ts":%d,"user_id":%d,"page":"/p/%d","action":"%s","referrer":"https://example.org/%d","country":"%s","device":"%s"}`,
			x, x*x, 1763600000000+int64(i)*7, 1+x>>44, x>>32%1000, []string{"view", "click", "cart", "buy"}[x>>20%4], x>>50%100,
			[]string{"DE", "US", "FR", "BR"}[x>>30%4], []string{"mobile", "desktop", "tablet"}[x>>40%3])
	}
	return docs
}

func benchmarkScanner(b *testing.B, scan func(*Scanner, []byte, []Value) error) {
	docs := clicks()
	s := newScanner(b, clickPaths...)
	vals := make([]Value, len(clickPaths))
	b.SetBytes(int64(len(docs[0])))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := scan(s, docs[i%len(docs)], vals); err != nil {
			b.Fatal(err)
		}
		if at, ok := vals[0].Time(Millis); !ok || at < 1763600000000 {
			b.Fatal(at)
		}
		i++
	}
}

func BenchmarkClick(b *testing.B)       { benchmarkScanner(b, (*Scanner).Scan) }
func BenchmarkClickNew(b *testing.B)    { benchmarkScanner(b, (*Scanner).scanNew) }
func BenchmarkClickReject(b *testing.B) { benchmarkReject(b) }

func benchmarkReject(b *testing.B) {
	docs := clicks()
	for i, doc := range docs {
		docs[i] = doc[:len(doc)-1]
	}
	s := newScanner(b, clickPaths...)
	vals := make([]Value, len(clickPaths))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := s.Scan(docs[i%len(docs)], vals); !errors.Is(err, ErrTruncated) {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkClickEncodingJSON(b *testing.B) {
	docs := clicks()
	b.SetBytes(int64(len(docs[0])))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		var e struct {
			TS      int64       `json:"ts"`
			UserID  json.Number `json:"user_id"`
			Page    string      `json:"page"`
			EventID string      `json:"event_id"`
			Country string      `json:"country"`
		}
		if err := json.Unmarshal(docs[i%len(docs)], &e); err != nil || e.TS < 1763600000000 {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkClickJSONText(b *testing.B) {
	docs := clicks()
	var r bytes.Reader
	dec := jsontext.NewDecoder(&r)
	b.SetBytes(int64(len(docs[0])))
	b.ReportAllocs()
	i, sum := 0, 0
	for b.Loop() {
		r.Reset(docs[i%len(docs)])
		dec.Reset(&r)
		if _, err := dec.ReadToken(); err != nil {
			b.Fatal(err)
		}
		for dec.PeekKind() != '}' {
			key, err := dec.ReadValue()
			if err != nil {
				b.Fatal(err)
			}
			switch string(key) {
			case `"ts"`, `"user_id"`, `"page"`, `"event_id"`, `"country"`:
				val, err := dec.ReadValue()
				if err != nil {
					b.Fatal(err)
				}
				sum += len(val)
			default:
				if err := dec.SkipValue(); err != nil {
					b.Fatal(err)
				}
			}
		}
		if _, err := dec.ReadToken(); err != nil {
			b.Fatal(err)
		}
		i++
	}
	if sum == 0 {
		b.Fatal("nothing read")
	}
}

// BenchmarkClickEach reads the same clicks from records that have 100 of them each.
func BenchmarkClickEach(b *testing.B) {
	docs := clicks()
	var records []Record
	for from := 0; from+100 <= len(docs); from += 100 {
		records = append(records, Record{Value: []byte(`{"batch":[` + string(bytes.Join(docs[from:from+100], []byte(","))) + `],"sentAt":1763600000000}`)})
	}
	r, err := NewReader(Form{Each: "batch"}, clickPaths)
	if err != nil {
		b.Fatal(err)
	}
	vals := make([]Value, len(clickPaths))
	b.SetBytes(int64(len(docs[0])))
	b.ReportAllocs()
	i, at, of := 0, 0, 0
	for b.Loop() {
		if at == of {
			if of, err = r.Open(&records[i%len(records)]); err != nil {
				b.Fatal(err)
			}
			at = 0
			i++
		}
		if err := r.ReadEvent(at, vals); err != nil {
			b.Fatal(err)
		}
		if at, ok := vals[0].Time(Millis); !ok || at < 1763600000000 {
			b.Fatal(at)
		}
		at++
	}
}
