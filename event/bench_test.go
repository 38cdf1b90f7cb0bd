package event

import (
	"fmt"
	"testing"
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

func BenchmarkClick(b *testing.B)    { benchmarkScanner(b, (*Scanner).Scan) }
func BenchmarkClickNew(b *testing.B) { benchmarkScanner(b, (*Scanner).scanNew) }
