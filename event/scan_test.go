package event

import "testing"

const click = `{"event_id":"9f2c5a7be0134d6f8a9b0c1d2e3f4a5b","ts":1763600000123,"user_id":81234,"page":"/p/17","action":"view","referrer":"https://example.org/","country":"DE","device":"mobile"}`

func BenchmarkScan(b *testing.B) {
	s, _ := NewScanner([]string{"ts", "user_id", "page", "event_id", "country"})
	vals := make([]Value, 5)
	doc := []byte(click)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if s.Scan(doc, vals) != nil {
			b.Fatal()
		}
	}
}

func BenchmarkScanNew(b *testing.B) {
	s, _ := NewScanner([]string{"ts", "user_id", "page", "event_id", "country"})
	vals := make([]Value, 5)
	doc := []byte(click)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if s.scanNew(doc, vals) != nil {
			b.Fatal()
		}
	}
}
