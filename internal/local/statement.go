package local

import "strings"

// An INSERT with inline data is one stream of bytes: SQL up to VALUES or FORMAT
// x, then rows in that format. The engine's own splitting cuts the rows at the
// first empty line (0x0A 0x0A), so the front splits the stream itself and gives
// the rows to the engine in a file; the engine parses the SQL only.
//
// This file is the lexer that finds the place where the rows begin. It knows
// ClickHouse's comments, quotes, heredocs and brackets and the order of an
// INSERT's clauses, but not expressions.

// insert is where the parts of an INSERT are, as offsets into its text.
type insert struct {
	head   string // "INSERT INTO t (a, b)", or up to the end of the SELECT when input is set
	custom string // "a = 1, b = 2" of the SETTINGS clauses, before and after FORMAT
	format string // input format, "Values" for VALUES
	data   int    // offset of the first byte of data
	input  span   // the call input('…') inside head, for INSERT … SELECT … FROM input(…)
}

type span struct{ start, end int }

// sql returns the statement that inserts the rows in the file at path.
func (in insert) sql(path string) string {
	var b strings.Builder
	if in.input.end > 0 {
		// input('a UInt64') becomes file('path', Format, 'a UInt64').
		call := in.head[in.input.start:in.input.end]
		args := strings.TrimSuffix(call[strings.IndexByte(call, '(')+1:], ")")
		b.WriteString(in.head[:in.input.start])
		b.WriteString("file('" + path + "', '" + in.format + "', " + args + ")")
		b.WriteString(in.head[in.input.end:])
		return b.String()
	}
	b.WriteString(in.head)
	b.WriteString(" FROM INFILE '" + path + "'")
	if in.custom != "" {
		b.WriteString(" SETTINGS " + in.custom)
	}
	b.WriteString(" FORMAT " + in.format)
	return b.String()
}

// splitInsert finds where the rows of an INSERT with inline data begin. ok is
// false when the text is another statement or an INSERT without data of its own
// (SELECT, FROM INFILE). more is true when the text ended before that could be
// decided, so that a longer prefix of the stream may give another answer.
func splitInsert(text string) (in insert, ok, more bool) {
	l := lexer{text: text}
	t := l.next()
	if !t.is("INSERT") {
		// The text has only comments so far, or ends inside a word.
		return insert{}, false, l.pos == len(text)
	}
	t = l.next()
	if t.is("INTO") {
		t = l.next()
	}
	if t.is("TABLE") {
		t = l.next()
	}
	if t.is("FUNCTION") {
		l.next()
	}
	// t is the table's name, even if it looks like a keyword; the next tokens
	// decide.
	headEnd := 0
	selecting := false
	for {
		t = l.next()
		switch {
		case t.kind == end:
			return insert{}, false, true
		case t.kind == open:
			if !l.skipBrackets() {
				return insert{}, false, true
			}
		case selecting && t.is("INPUT"):
			start := t.start
			if l.next().kind == open {
				if !l.skipBrackets() {
					return insert{}, false, true
				}
				in.input = span{start, l.pos}
			}
		case selecting && t.is("FORMAT"):
			if in.input.end == 0 {
				return insert{}, false, t.end == len(text)
			}
			in.head = text[:t.start]
			return l.format(in)
		case selecting:
		case t.is("SELECT"), t.is("WITH"), t.is("FROM"), t.is("WATCH"), t.is("EXPLAIN"):
			selecting = true
		case t.is("SETTINGS"):
			if headEnd == 0 {
				headEnd = t.start
			}
			in.custom = l.settings()
		case t.is("VALUES"):
			if headEnd == 0 {
				headEnd = t.start
			}
			in.head, in.format, in.data = text[:headEnd], "Values", t.end
			return in, true, t.end == len(text)
		case t.is("FORMAT"):
			if headEnd == 0 {
				headEnd = t.start
			}
			in.head = text[:headEnd]
			return l.format(in)
		}
	}
}

// format reads what follows the word FORMAT: the name, perhaps SETTINGS, and
// the separator before the data. As in ClickHouse the data starts after the
// first line end, or else after the blanks.
func (l *lexer) format(in insert) (insert, bool, bool) {
	t := l.next()
	if t.kind != word {
		return insert{}, false, t.kind == end
	}
	in.format = l.text[t.start:t.end]
	after := l.pos
	var more bool
	if t = l.next(); t.is("SETTINGS") {
		mark := l.pos
		isClause := l.next().kind == word && l.next().text(l.text) == "="
		more = l.pos == len(l.text)
		if isClause {
			l.pos = mark
			custom := l.settings()
			if in.custom != "" {
				custom = in.custom + ", " + custom
			}
			in.custom, after = custom, l.pos
			l.next()
			more = l.pos == len(l.text)
		}
	} else {
		// The name, the word after it or the line end may continue in the part that
		// is not read yet.
		more = l.pos == len(l.text)
	}
	rest := l.text[after:]
	trimmed := strings.TrimLeft(rest, " \t\f")
	if s, ok := strings.CutPrefix(trimmed, ";"); ok {
		trimmed = strings.TrimLeft(s, " \t\f")
	}
	trimmed = strings.TrimPrefix(trimmed, "\r")
	trimmed = strings.TrimPrefix(trimmed, "\n")
	in.data = len(l.text) - len(trimmed)
	return in, true, more
}

// settings reads "a = 1, b = 'x'" and leaves the lexer behind it.
func (l *lexer) settings() string {
	start := l.pos
	for {
		from := l.pos
		if l.next().kind != word {
			l.pos = from
			return strings.TrimSpace(l.text[start:from])
		}
		if l.next().text(l.text) != "=" {
			l.pos = from
			return strings.TrimSpace(l.text[start:from])
		}
		t := l.next()
		if t.text(l.text) == "-" || t.text(l.text) == "+" {
			t = l.next()
		}
		if t.kind == open && !l.skipBrackets() {
			return strings.TrimSpace(l.text[start:])
		}
		last := l.pos
		t = l.next()
		for t.kind == other && t.start == last && t.text(l.text) != "," {
			// 1.5 and 1e-3 are several tokens without a blank between them.
			l.next()
			last = l.pos
			t = l.next()
		}
		if t.text(l.text) != "," {
			l.pos = last
			return strings.TrimSpace(l.text[start:last])
		}
	}
}

// outputFormat returns the name in the FORMAT clause at the end of a query, or
// "" if it has none.
func outputFormat(text string) string {
	l := lexer{text: text}
	name := ""
	for {
		switch t := l.next(); {
		case t.kind == end:
			return name
		case t.kind == open:
			l.skipBrackets()
		case t.is("FORMAT"):
			if t = l.next(); t.kind == word {
				name = t.text(text)
			}
		}
	}
}

// intoOutfile says whether a query asks for INTO OUTFILE.
func intoOutfile(text string) bool {
	l := lexer{text: text}
	into := false
	for {
		t := l.next()
		switch {
		case t.kind == end:
			return false
		case t.kind == open:
			l.skipBrackets()
		case into && t.is("OUTFILE"):
			return true
		}
		into = t.is("INTO")
	}
}

// firstWord returns the statement's first word in upper case.
func firstWord(text string) string {
	l := lexer{text: text}
	for {
		t := l.next()
		switch t.kind {
		case open:
			continue // (SELECT …) UNION …
		case word:
			return strings.ToUpper(t.text(text))
		}
		return ""
	}
}

type kind uint8

const (
	end    kind = iota // of the text, also inside an unfinished quote
	word               // identifier, keyword or number
	quoted             // '…', "…", `…` or a heredoc
	open               // ( [ {
	shut               // ) ] }
	other              // any other single byte
)

// token is a piece of text[start:end].
type token struct {
	kind       kind
	start, end int
	upper      string // a short word in upper case, for is
}

func (t token) is(keyword string) bool { return t.kind == word && t.upper == keyword }

func (t token) text(src string) string { return src[t.start:t.end] }

// lexer walks over SQL text.
type lexer struct {
	text string
	pos  int
}

// next skips blanks and comments and returns the next token.
func (l *lexer) next() token {
	l.skip()
	t := token{start: l.pos}
	if l.pos >= len(l.text) {
		t.end = l.pos
		return t
	}
	switch c := l.text[l.pos]; {
	case isWord(c):
		for l.pos < len(l.text) && isWord(l.text[l.pos]) {
			l.pos++
		}
		t.kind = word
		if s := l.text[t.start:l.pos]; len(s) <= 8 {
			t.upper = strings.ToUpper(s)
		}
	case c == '\'' || c == '"' || c == '`':
		t.kind = l.quote(c)
	case c == '$':
		t.kind = l.heredoc()
	case c == '(' || c == '[' || c == '{':
		t.kind = open
		l.pos++
	case c == ')' || c == ']' || c == '}':
		t.kind = shut
		l.pos++
	default:
		t.kind = other
		l.pos++
	}
	t.end = l.pos
	return t
}

// skip passes blanks and the comments --, #!, "# " and /* */.
func (l *lexer) skip() {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch c := rest[0]; {
		case c == ' ' || c >= '\t' && c <= '\r' || c == 0:
			l.pos++
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "#!"), strings.HasPrefix(rest, "# "):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest) - 1
			}
			l.pos += n + 1
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				l.pos = len(l.text)
				return
			}
			l.pos += n + 4
		default:
			return
		}
	}
}

// quote passes a quoted piece; inside, a backslash escapes one byte and a
// doubled quote stands for itself.
func (l *lexer) quote(q byte) kind {
	for i := l.pos + 1; i < len(l.text); i++ {
		switch l.text[i] {
		case '\\':
			i++
		case q:
			if i+1 < len(l.text) && l.text[i+1] == q {
				i++
				continue
			}
			l.pos = i + 1
			return quoted
		}
	}
	l.pos = len(l.text)
	return end
}

// heredoc passes $tag$ … $tag$, or a single $ where there is none.
func (l *lexer) heredoc() kind {
	rest := l.text[l.pos:]
	n := 1
	for n < len(rest) && isWord(rest[n]) {
		n++
	}
	if n == len(rest) || rest[n] != '$' {
		l.pos++
		return other
	}
	tag := rest[:n+1]
	body := rest[n+1:]
	close := strings.Index(body, tag)
	if close < 0 {
		l.pos = len(l.text)
		return end
	}
	l.pos += len(tag) + close + len(tag)
	return quoted
}

// skipBrackets passes everything up to the bracket that closes the one just
// read; false means the text ended before.
func (l *lexer) skipBrackets() bool {
	for depth := 1; depth > 0; {
		switch l.next().kind {
		case end:
			return false
		case open:
			depth++
		case shut:
			depth--
		}
	}
	return true
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
