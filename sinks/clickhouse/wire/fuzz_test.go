package wire

import (
	"strings"
	"testing"
)

// FuzzQuoted: no name and no text can end its own quotes. The test reads the quoted text as
// ClickHouse's lexer does: a backslash escapes the next byte, and an unescaped quote ends
// the text.
func FuzzQuoted(f *testing.F) {
	for _, s := range []string{"", "page", "a`b", `a\`, "a\\`", "a\\\\'", "'; DROP TABLE t; --", "\x00\xff", "''", "``"} {
		f.Add(s)
	}
	read := func(t *testing.T, quoted string, q byte) string {
		t.Helper()
		if len(quoted) < 2 || quoted[0] != q {
			t.Fatalf("%q does not begin with %c", quoted, q)
		}
		var b strings.Builder
		for i := 1; i < len(quoted); i++ {
			switch quoted[i] {
			case '\\':
				i++
				b.WriteByte(quoted[i])
			case q:
				if i != len(quoted)-1 {
					t.Fatalf("%q ends at byte %d", quoted, i)
				}
				return b.String()
			default:
				b.WriteByte(quoted[i])
			}
		}
		t.Fatalf("%q does not end", quoted)
		return ""
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := read(t, Quote(s), '`'); got != s {
			t.Errorf("the name %q is read as %q", s, got)
		}
		if got := read(t, Text(s), '\''); got != s {
			t.Errorf("the text %q is read as %q", s, got)
		}
	})
}
