package event

import (
	"strings"
	"testing"
)

// layoutPairs are pairs of documents whose literals begin alike. The scanner
// must not take the second for the first.
var layoutPairs = [][2]string{
	{`{"ts":1,"page":"x"}`, `{"ts":"1","page":null}`},
	{`{"ts":1}`, `{"ts": 1}`},
	{`{"ts": 1}`, `{"ts":1}`},
	{`{"ts":1}`, "{\"ts\":1}\n"},
	{`{"ts":1}`, `{"ts":1,"a":2}`},
	{`{"ts":1,"a":2}`, `{"ts":1}`},
	{`{"ts":1}`, `{"ts":1}}`},
	{`{"ts":1}`, `{"ts":12.5e3}`},
	{`{"ts":1}`, `{"ts":012}`},
	{`{"ts":1}`, `{"ts":1`},
	{`{"ts":"a"}`, `{"ts":"a`},
	{`{"ts":"a"}`, `{"ts":"\n"}`},
	{`{"ts":"a"}`, "{\"ts\":\"\xff\"}"},
	{`{"ts":1,"a":2}`, `{"a":1,"ts":2}`},
	{`{"geo":null,"ts":1}`, `{"geo":{"country":"DE"},"ts":1}`},
	{`{"geo":{"country":"DE"},"ts":1}`, `{"geo":null,"ts":1}`},
	{`{"geo":{"country":"DE"}}`, `{"geo":{"country":{"x":1,"x":2}}}`},
	{`{"geo":{"country":"DE"}}`, `{"geo":{"country":"DE","country":"DE"}}`},
	{`{"geo":{},"ts":1}`, `{"geo":{"country":"DE"},"ts":1}`},
	{`{"geo":1}`, `{"geo": {"country":"DE"}}`},
	{`{"x":{},"ts":1}`, `{"x":{"y":1,"y":2},"ts":1}`},
	{`{"x":[],"ts":1}`, `{"x":[[1]],"ts":1}`},
	{`{"x":1,"ts":1}`, `{"x":tru,"ts":1}`},
	{`{}`, ` {}`},
	{`{"tags":[1,2,3,4]}`, `{"tags":[1,2,3]}`},
	{`{"tags":[1,2,"c"]}`, `{"tags":[1,2,"c","d",{"x":[]}]}`},
	{`{"tags":[1,2,"c"]}`, `{"tags":[1,2,"c""d"]}`},
	{`{"tags":[1,2,"c"]}`, `{"tags":[1,2,"c",]}`},
	{`{"tags":[1,2,"c"]}`, `{"tags":[1,2,"c"5]}`},
	{`{"tags":[1,2,"c"]}`, `{"tags":[1,2,"c"}`},
	{`{"tags":[1,2,"c"]}`, `{"tags":[1,2,"c"`},
	{`{"tags":[1,2,"c",4]}`, `{"tags":[1,2,"c" , 4 ] }`},
	{`{"tags":[1,2,"c",{"x":1}]}`, `{"tags":[1,2,"c",{"x":1,"x":1}]}`},
	{`{"tags":[1,2]}`, `{"tags":[1]}`},
	{`{"tags":[1]}`, `{"tags":[]}`},
	{`{"tags":[]}`, `{"tags":[1,2,3]}`},
	{`{"tags":null}`, `{"tags":[1,2,3]}`},
	{`{"tags":[1,2,3]}`, `{"tags":{"a":1}}`},
	{`{"tags":[1,2,3]}`, `{"tags":{"a":1,"a":1}}`},
	{`{"tags[2]":1}`, `{"tags":[1,2,3]}`},
	{`{"items":[5]}`, `{"items":[{"sku":1}]}`},
	{`{"items":[{"sku":1}]}`, `{"items":[5]}`},
	{`{"items":[{"sku":1}]}`, `{"items":[{"sku":1,"sku":1}]}`},
	{`{"items":[{"sku":1},{"sku":2},{"sku":3}]}`, `{"items":[{"sku":1},{"sku":2},{"sku":3,"sku":3}]}`},
	{`{"items":[{"sku":1},{"sku":2}]}`, `{"items":[{"sku":1},{"sku":2},{"sku":3}]}`},
	{`{"items":[{"sku":1},{"sku":2}]}`, `{"items":[{},{"x":[],"sku":2}],"ts":1}`},
	{`{"items":[[],{"sku":2}]}`, `{"items":[{"sku":1},{"sku":2}]}`},
	{`{"grid":[[1],[2]]}`, `{"grid":[1,[2,3],4],"ts":5}`},
	{`{"grid":[[1],[2]]}`, `{"grid":[[1],2]}`},
	{`{"either":{"a":1}}`, `{"either":[1]}`},
	{`{"either":[1]}`, `{"either":{"a":1}}`},
	{`{"either":1}`, `{"either":[1]}`},
	{`{"either":1}`, `{"either":{"a":1}}`},
	{`{"tags":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`,
		`{"tags":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`},
	{`{"tags":[1,2,3,` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `]}`,
		`{"tags":[1,2,3,` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `]}`},
	{`{"ts":1,"page":"` + strings.Repeat("p", 30) + `"}`, `{"ts":1,"page":""}`},
	{`{"` + strings.Repeat("k", 40) + `":1,"ts":2}`, `{"` + strings.Repeat("k", 39) + `x":1,"ts":2}`},
	{`{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`,
		`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`},
}

func TestLayoutPairs(t *testing.T) {
	for _, p := range layoutPairs {
		s := newScanner(t, refPaths...)
		for _, doc := range []string{p[0], p[1], p[0], p[1]} {
			checkScan(t, s, []byte(doc), refPaths)
		}
	}
}

// hits counts the documents that the scanner reads without the grammar.
func hits(s *Scanner, docs []string) (n int) {
	vals := make([]Value, s.paths)
	for _, doc := range docs {
		if s.scanKnown([]byte(doc), vals) {
			n++
		}
	}
	return n
}

func teach(t *testing.T, s *Scanner, docs []string) {
	t.Helper()
	vals := make([]Value, s.paths)
	for _, doc := range docs {
		if err := s.Scan([]byte(doc), vals); err != nil {
			t.Fatalf("Scan(%q) = %v", doc, err)
		}
	}
}

// Values may change length, kind and content within a layout.
func TestLayoutHolds(t *testing.T) {
	s := newScanner(t, refPaths...)
	teach(t, s, []string{click, location})
	docs := []string{
		click,
		location,
		strings.Replace(click, "81234", "null", 1),
		strings.Replace(click, "81234", `"a\tb"`, 1),
		strings.Replace(click, "81234", `"é"`, 1),
		strings.Replace(click, "81234", "[1,{\"x\":2}]", 1),
		strings.Replace(click, `"DE"`, "false", 1),
		strings.Replace(click, `"DE"`, "-1.5e-3", 1),
		strings.Replace(location, "13.361389", "0", 1),
	}
	if n := hits(s, docs); n != len(docs) {
		t.Errorf("%d of %d documents have a known layout, want all", n, len(docs))
	}
	for _, doc := range docs {
		checkScan(t, s, []byte(doc), refPaths)
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	s := newScanner(t, clickPaths...)
	vals := make([]Value, len(clickPaths))
	docs := [][]byte{
		[]byte(click),
		[]byte(location),
		[]byte(strings.Replace(click, "/p/17", `\/p\/17\ud83d\ude00`, 1)),
		[]byte(strings.Replace(click, "81234", `{"a":[1,2,3]}`, 1)),
		[]byte(click[:100]),
		[]byte(`{"ts":1,"ts":2}`),
		[]byte(manyKeys(40, `"ts":1`)),
		nil,
	}
	round := 0
	n := testing.AllocsPerRun(1000, func() {
		for _, doc := range docs {
			_ = s.Scan(doc, vals)
			_ = s.scanNew(doc, vals)
		}
		if round++; round%100 == 0 {
			s.known.clear() // and learn again
		}
	})
	if n != 0 {
		t.Errorf("%.2f allocations per round of %d documents, want 0", n, len(docs))
	}
}
