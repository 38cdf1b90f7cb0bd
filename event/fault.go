package event

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Place begins the part of a reason that says where in a record a fault is. It differs in each record.
const Place = "; at "

// Explain returns the reason why a value, or an event of it, cannot be read: the text of err and, where that is a fault
// of JSON, its kind and its place. It reads the document once more, so that Read notes neither.
func (r *Reader) Explain(value []byte, err error) string {
	doc, framed := r.document(value)
	if r.json == nil || framed != nil {
		return err.Error()
	}
	if r.faults == nil {
		r.faults, _ = NewScanner(nil) // no path is wrong
	}
	again := r.faults.Scan(doc, nil)
	if again == nil || !errors.Is(err, again) || errors.Is(again, ErrEmpty) || errors.Is(again, ErrNotObject) {
		return err.Error()
	}
	return fmt.Sprintf("%v%s%sbyte %d", err, faultOf(doc, r.faults.ErrOffset(), err), Place, r.faults.ErrOffset())
}

// faults are the beginnings of texts that are no JSON, and what they are.
var faults = []struct{ begins, is string }{
	{"NaN", "NaN is no number of JSON"},
	{"nan", "nan is no number of JSON"},
	{"Infinity", "Infinity is no number of JSON"},
	{"inf", "inf is no number of JSON"},
	{"True", "True is true in JSON"},
	{"False", "False is false in JSON"},
	{"None", "None is null in JSON"},
	{"undefined", "undefined is no value of JSON"},
	{"'", "a text in single quotes"},
	{"/", "a comment"},
	{".", "a number that begins with a point"},
	{"+", "a number that begins with a plus"},
	{"<", "markup, as in XML"},
	{"\xef\xbb\xbf", "a byte order mark"},
	{"\x1f\x8b", "bytes of gzip: the producer compresses values itself"},
	{"\x28\xb5\x2f\xfd", "bytes of zstd: the producer compresses values itself"},
	{"\x04\x22\x4d\x18", "bytes of lz4: the producer compresses values itself"},
	{"\xff\x06\x00\x00sNaPpY", "bytes of snappy: the producer compresses values itself"},
	{"x\x9c", "bytes of zlib: the producer compresses values itself"},
}

// faultOf returns what is at the place of a fault, in words; nothing if it has no name. It repeats no bytes of the document.
func faultOf(doc []byte, at int, err error) string {
	rest := string(doc[at:min(len(doc), at+10)])
	switch {
	case errors.Is(err, ErrTrailing) && rest != "" && strings.Contains(`{["`, rest[:1]):
		return ": another document"
	case !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrNumber):
		return ""
	case rest != "" && strings.Contains("}]", rest[:1]) && bytes.HasSuffix(bytes.TrimRight(doc[:at], " \t\r\n"), []byte(",")):
		return ": a comma with nothing behind it"
	}
	from := at // a word that begins as null does fails behind its beginning
	for from > 0 && doc[from-1]|0x20-'a' < 26 {
		from--
	}
	if from > 0 && doc[from-1]-'0' < 10 { // a number goes on as none does
		return ""
	}
	word := string(doc[from:min(len(doc), from+10)])
	for _, f := range faults {
		if strings.HasPrefix(word, f.begins) {
			return ": " + f.is
		}
	}
	if from < at || word != "" && word[0]|0x20-'a' < 26 {
		return ": a word without quotes"
	}
	return ""
}
