package event

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Function makes another value of a value. It is a pure function of the bytes, and
// its definition never changes, because stored groups and ids depend on it: nothing
// in it depends on a table of Unicode, or on a library that could change.
type Function uint8

// The functions.
const (
	// Lower makes the letters A to Z of a text lower-case. Other bytes stay, also
	// letters beyond ASCII. A value that is not text stays as it is.
	Lower Function = iota
	// Trim removes blanks, tabs, line feeds, vertical tabs, form feeds and carriage returns
	// (the bytes 9 to 13, and 32) from both ends of a text. A value that is not text stays
	// as it is.
	Trim
	// Host returns the host of a URL: of scheme://host…, or //host…. It is what lies
	// between the slashes and the next slash, question mark, number sign or the end,
	// without user and password (everything up to the last @), without the port (from
	// the first colon), an IPv6 address
	// without its brackets (one that is not closed is none), and with A to Z in lower case.
	// Percent signs are not decoded. A text without // in front of a host, or with an empty
	// host, and a value that is not text, have none: the result is Missing.
	Host
	// Path returns the path of a URL: of scheme://host/path…, //host/path…, or of a text
	// without a host, which is all path. It ends at the first question mark or number
	// sign. With a host, an empty path is "/". Nothing is decoded, and no dots and slashes are
	// removed. An empty path without a host, and a value that is not text, have none: the
	// result is Missing.
	Path
	// Unquote returns the contents of a text that is a string of JSON, in quotes from its first byte to
	// its last, with its escapes resolved. Serializers of JSON write keys and headers so. Any other value stays as
	// it is.
	Unquote
)

var functionNames = [...]string{"lower", "trim", "host", "path", "unquote"}

// Functions returns the names of all functions.
func Functions() []string { return functionNames[:] }

// String returns the function's name in a configuration.
func (fn Function) String() string { return functionNames[fn] }

// ParseFunction returns the function of that name.
func ParseFunction(name string) (Function, error) {
	for i, n := range functionNames {
		if n == name {
			return Function(i), nil
		}
	}
	return 0, fmt.Errorf("event: unknown function %q: want %s", name, strings.Join(functionNames[:], ", "))
}

// apply returns the function's value. A result that is no part of v is appended to text.
func (fn Function) apply(v Value, text []byte) (Value, []byte) {
	if v.Type != String {
		if fn == Host || fn == Path {
			v = Value{}
		}
		return v, text
	}
	switch fn {
	case Lower:
		v.Bytes, text = lower(v.Bytes, text)
	case Trim:
		v.Bytes = trim(v.Bytes)
	case Unquote:
		v.Bytes, text = unquote(v.Bytes, text)
	case Host:
		host, _, ok := authority(v.Bytes)
		if host = hostname(host); !ok || len(host) == 0 {
			return Value{}, text
		}
		v.Bytes, text = lower(host, text)
	case Path:
		_, path, hosted := authority(v.Bytes)
		if end := bytes.IndexAny(path, "?#"); end >= 0 {
			path = path[:end]
		}
		if len(path) == 0 {
			if !hosted {
				return Value{}, text
			}
			path = slash
		}
		v.Bytes = path
	}
	return v, text
}

var slash = []byte("/")

// lower returns b itself if there is nothing to change.
func lower(b, text []byte) (result, grown []byte) {
	for i, c := range b {
		if c-'A' < 26 {
			from := len(text)
			text = append(text, b...)
			result = text[from:len(text):len(text)]
			for ; i < len(result); i++ {
				if result[i]-'A' < 26 {
					result[i] |= 0x20
				}
			}
			return result, text
		}
	}
	return b, text
}

func unquote(b, text []byte) (result, grown []byte) {
	if len(b) < 2 || b[0] != '"' {
		return b, text
	}
	end, escaped := len(b)-1, false
	for i := plain(b, 1); i < end; i = plain(b, i) {
		n, err := 1, error(nil)
		if c := b[i]; c == '\\' {
			n, err = escape(b[i:end])
			escaped = true
		} else if c < utf8.RuneSelf { // a quote, or a control character
			err = ErrSyntax
		}
		if err != nil {
			return b, text
		}
		i += n
	}
	if b[end] != '"' {
		return b, text
	}
	if !escaped {
		return b[1:end:end], text
	}
	from := len(text)
	text = unescape(text, b[1:end])
	return text[from:len(text):len(text)], text
}

func trim(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func blank(c byte) bool { return c == ' ' || c-'\t' < 5 }

// authority splits a URL into what lies between // and the path, and what follows. ok is
// false if it has no authority; then all of it follows.
func authority(url []byte) (authority, after []byte, ok bool) {
	i := 0
	for i < len(url) && (url[i]|0x20-'a' < 26 || i > 0 && (url[i]-'0' < 10 || url[i] == '+' || url[i] == '-' || url[i] == '.')) {
		i++
	}
	if i > 0 { // a scheme, if a colon follows
		if i == len(url) || url[i] != ':' {
			return nil, url, false
		}
		i++
	}
	if len(url) < i+2 || url[i] != '/' || url[i+1] != '/' {
		return nil, url, false
	}
	rest := url[i+2:]
	if end := bytes.IndexAny(rest, "/?#"); end >= 0 {
		return rest[:end], rest[end:], true
	}
	return rest, nil, true
}

// hostname removes user, password and port.
func hostname(authority []byte) []byte {
	if at := bytes.LastIndexByte(authority, '@'); at >= 0 {
		authority = authority[at+1:]
	}
	if len(authority) > 0 && authority[0] == '[' {
		return authority[1:max(1, bytes.IndexByte(authority, ']'))]
	}
	if colon := bytes.IndexByte(authority, ':'); colon >= 0 {
		return authority[:colon]
	}
	return authority
}
