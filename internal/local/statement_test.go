package local

import (
	"strings"
	"testing"
)

func TestSplitInsert(t *testing.T) {
	for text, want := range map[string]struct {
		sql  string // with the path P, "" when it is not an INSERT with data
		data string
	}{
		"INSERT INTO t VALUES (1)":                                  {"INSERT INTO t  FROM INFILE 'P' FORMAT Values", " (1)"},
		"insert into t(a,b)values(1,2)":                             {"insert into t(a,b) FROM INFILE 'P' FORMAT Values", "(1,2)"},
		"INSERT INTO TABLE db.t (a) VALUES\n\n(1)":                  {"INSERT INTO TABLE db.t (a)  FROM INFILE 'P' FORMAT Values", "\n\n(1)"},
		"INSERT t FORMAT TSV\n1\n":                                  {"INSERT t  FROM INFILE 'P' FORMAT TSV", "1\n"},
		"INSERT INTO t FORMAT TSV\n\n1\n":                           {"INSERT INTO t  FROM INFILE 'P' FORMAT TSV", "\n1\n"},
		"INSERT INTO t FORMAT TSV \t\r\n\t1":                        {"INSERT INTO t  FROM INFILE 'P' FORMAT TSV", "\t1"},
		"INSERT INTO t FORMAT CSV;\n1":                              {"INSERT INTO t  FROM INFILE 'P' FORMAT CSV", "1"},
		"INSERT INTO t FORMAT JSONEachRow {\"a\":1}":                {"INSERT INTO t  FROM INFILE 'P' FORMAT JSONEachRow", "{\"a\":1}"},
		"INSERT INTO t FORMAT JSONEachRow{\"a\":1}":                 {"INSERT INTO t  FROM INFILE 'P' FORMAT JSONEachRow", "{\"a\":1}"},
		"INSERT INTO t SETTINGS a=1 FORMAT RowBinary\n\x00\n\n":     {"INSERT INTO t  FROM INFILE 'P' SETTINGS a=1 FORMAT RowBinary", "\x00\n\n"},
		"INSERT INTO t SETTINGS a=-1.5e-3, b = 'x,y' VALUES (1)":    {"INSERT INTO t  FROM INFILE 'P' SETTINGS a=-1.5e-3, b = 'x,y' FORMAT Values", " (1)"},
		"INSERT INTO t SETTINGS a={'k':'v'} VALUES (1)":             {"INSERT INTO t  FROM INFILE 'P' SETTINGS a={'k':'v'} FORMAT Values", " (1)"},
		"INSERT INTO t FORMAT CSV SETTINGS a = 1, b=2\n1,2":         {"INSERT INTO t  FROM INFILE 'P' SETTINGS a = 1, b=2 FORMAT CSV", "1,2"},
		"INSERT INTO t SETTINGS a=1 FORMAT CSV SETTINGS b=2 1,2":    {"INSERT INTO t  FROM INFILE 'P' SETTINGS a=1, b=2 FORMAT CSV", "1,2"},
		"INSERT INTO t FORMAT TSV\nSETTINGS\tx\n":                   {"INSERT INTO t  FROM INFILE 'P' FORMAT TSV", "SETTINGS\tx\n"},
		"INSERT INTO FUNCTION file('x', 'CSV') VALUES (1)":          {"INSERT INTO FUNCTION file('x', 'CSV')  FROM INFILE 'P' FORMAT Values", " (1)"},
		"INSERT INTO `values` (`format`) VALUES (1)":                {"INSERT INTO `values` (`format`)  FROM INFILE 'P' FORMAT Values", " (1)"},
		"INSERT INTO values VALUES (1)":                             {"INSERT INTO values  FROM INFILE 'P' FORMAT Values", " (1)"},
		"INSERT INTO {t:Identifier} (a) VALUES (1)":                 {"INSERT INTO {t:Identifier} (a)  FROM INFILE 'P' FORMAT Values", " (1)"},
		"/* VALUES */ INSERT -- FORMAT x\nINTO t VALUES (1)":        {"/* VALUES */ INSERT -- FORMAT x\nINTO t  FROM INFILE 'P' FORMAT Values", " (1)"},
		"INSERT INTO t SELECT a FROM input('a Int8') FORMAT CSV\n1": {"INSERT INTO t SELECT a FROM file('P', 'CSV', 'a Int8') ", "1"},
		"INSERT INTO t SELECT * FROM x":                             {},
		"INSERT INTO t SELECT 'VALUES (' FORMAT CSV":                {},
		"INSERT INTO t WITH 1 AS x SELECT x":                        {},
		"INSERT INTO t FROM INFILE 'x' FORMAT CSV":                  {},
		"INSERT INTO t (a)":                                         {},
		"INSERT INTO t (a":                                          {},
		"INSERT INTO t VALUE":                                       {},
		"SELECT 'INSERT INTO t VALUES (1)'":                         {},
		"EXPLAIN INSERT INTO t VALUES (1)":                          {},
		"":                                                          {},
		"-- nothing":                                                {},
	} {
		in, ok, _ := splitInsert(text)
		if ok != (want.sql != "") {
			t.Errorf("%q: ok %v", text, ok)
			continue
		}
		if !ok {
			continue
		}
		if got := in.sql("P"); got != want.sql {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want.sql)
		}
		if got := text[in.data:]; got != want.data {
			t.Errorf("%q: data %q, want %q", text, got, want.data)
		}
	}
}

// TestSplitInsertPrefix: the front reads the stream in growing prefixes. For a
// prefix splitInsert may answer "more"; it must not give another answer than
// for the whole.
func TestSplitInsertPrefix(t *testing.T) {
	for _, text := range []string{
		"INSERT /* a */ INTO t (a, `b`) SETTINGS a = 1, b = 'x' FORMAT CSV SETTINGS c = 2 \n1,2\n",
		"INSERT INTO t -- c\n VALUES (1), ('a;b')",
		"INSERT INTO t SELECT * FROM input('a UInt8, b String') WHERE a = ')' FORMAT RowBinary\n\x01\x02",
		"INSERT INTO t FORMAT TSV\nSETTINGS\tx\ty\n",
		"INSERT INTO t FORMAT TSV\n1\t2\n",
	} {
		whole, _, _ := splitInsert(text)
		decided := false
		for n := range len(text) + 1 {
			in, ok, more := splitInsert(text[:n])
			if more {
				continue
			}
			decided = true
			if !ok || in != whole {
				t.Errorf("%q:\n got %+v, %v\nwant %+v", text[:n], in, ok, whole)
			}
		}
		if !decided {
			t.Errorf("%q: not decided at its end", text)
		}
	}
}

func TestStatementClauses(t *testing.T) {
	for text, want := range map[string]struct {
		first, format string
		outfile       bool
	}{
		"SELECT 1 FORMAT CSV":                             {"SELECT", "CSV", false},
		"select 1 format CSV;":                            {"SELECT", "CSV", false},
		"SELECT 1 FORMAT JSON SETTINGS a = 1":             {"SELECT", "JSON", false},
		"SELECT format('{}', 1)":                          {"SELECT", "", false},
		"SELECT 'FORMAT CSV', \"FORMAT X\" -- FORMAT TSV": {"SELECT", "", false},
		"(SELECT 1) UNION ALL (SELECT 2) FORMAT TSV":      {"SELECT", "TSV", false},
		"WITH (SELECT 1 FORMAT x) AS a SELECT a":          {"WITH", "", false},
		"SELECT 1 INTO OUTFILE 'x' FORMAT CSV":            {"SELECT", "CSV", true},
		"SELECT 'INTO OUTFILE', into, outfile":            {"SELECT", "", false},
		"SELECT $x$ FORMAT CSV $x$, $ FORMAT TSV":         {"SELECT", "TSV", false},
		`SELECT '\' FORMAT CSV', 'it''s' FORMAT TSV`:      {"SELECT", "TSV", false},
		"# comment FORMAT x\nSHOW TABLES":                 {"SHOW", "", false},
		"#! comment\n/* FORMAT */ DESC t":                 {"DESC", "", false},
		"":                                                {"", "", false},
		"'open":                                           {"", "", false},
		"/* open":                                         {"", "", false},
	} {
		if got := firstWord(text); got != want.first {
			t.Errorf("%q: first word %q, want %q", text, got, want.first)
		}
		if got := outputFormat(text); got != want.format {
			t.Errorf("%q: format %q, want %q", text, got, want.format)
		}
		if got := intoOutfile(text); got != want.outfile {
			t.Errorf("%q: outfile %v", text, got)
		}
	}
}

func TestSplitTypes(t *testing.T) {
	got := splitTypes("UInt64, Array(Tuple(a, b)),Enum8('x,y' = 1)")
	if strings.Join(got, "|") != "UInt64|Array(Tuple(a, b))|Enum8('x,y' = 1)" {
		t.Errorf("%q", got)
	}
}

// FuzzStatement: for any bytes the lexer must end, and the parts of an INSERT
// must lie inside the text, in order.
func FuzzStatement(f *testing.F) {
	for _, s := range []string{
		"INSERT INTO t (a, b) SETTINGS x = 1 FORMAT CSV SETTINGS y = 2\n1,2\n\n", "INSERT INTO t VALUES (1, 'x')",
		"INSERT INTO t SELECT a FROM input('a Int8') FORMAT CSV\n1", "SELECT 1 /* ' */ FORMAT -- x\nTSV", "$a$ ' $a$", "'\\", "((((", "# x", "$",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, ok, _ := splitInsert(text)
		if ok {
			if in.data < len(in.head) || in.data > len(text) || !strings.HasPrefix(text, in.head) {
				t.Fatalf("head %q, data at %d", in.head, in.data)
			}
			if in.input.end > len(in.head) || in.input.start > in.input.end {
				t.Fatalf("input at %v in %q", in.input, in.head)
			}
			if !strings.Contains(in.sql("P"), "'P'") {
				t.Fatalf("no file in %q", in.sql("P"))
			}
		}
		firstWord(text)
		outputFormat(text)
		intoOutfile(text)
		splitTypes(text)
	})
}
