package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/event"
	"weir/internal/zones"
)

// check checks the text of one value from any source, and returns it in the
// form that viper gets: durations and sizes in their canonical form, everything
// else unchanged. The error is the message for the user, with the remedy.
func (k *key) check(value string) (string, error) {
	switch k.typ {
	case duration, size, integer, fraction:
		n, shown, err := k.number(value)
		if err != nil {
			return "", err
		}
		least, _, _ := k.number(k.min)
		most, _, _ := k.number(k.max)
		if k.min != "" && (n < least || n > most) {
			return "", fmt.Errorf("%s is out of range%s", shown, k.span())
		}
		return shown, nil
	case boolean:
		if small := strings.ToLower(value); small == "true" || small == "false" {
			return small, nil
		}
		return "", fmt.Errorf("%q is neither true nor false", value)
	}
	switch judge := formats[k.format]; {
	case k.enum != nil && !slices.Contains(k.enum, value):
		if near := nearest(value, k.enum); near != "" {
			return "", fmt.Errorf("%q is not known; did you mean %s?", value, near)
		}
		return "", fmt.Errorf("%q is not known; write %s", value, either(k.enum))
	case value == "":
		return "", fmt.Errorf("empty; give it %s or leave the key out", example(k))
	case judge != nil:
		return value, judge(value)
	}
	return value, nil
}

// number reads the text of a number, and returns how it is written.
func (k *key) number(text string) (n float64, shown string, err error) {
	switch k.typ {
	case duration:
		d, err := ParseDuration(text)
		return float64(d), d.String(), err
	case size:
		s, err := ParseSize(text)
		return float64(s), s.String(), err
	case integer:
		i, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
		if err != nil {
			return 0, "", fmt.Errorf("%q is no whole number%s", text, k.span())
		}
		return float64(i), strconv.FormatInt(i, 10), nil
	}
	if n, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(n) {
		return 0, "", fmt.Errorf("%q is no number%s", text, k.span())
	}
	return n, text, nil
}

// span returns the accepted range as the tail of a message.
func (k *key) span() string {
	if k.min == "" {
		return ""
	}
	return fmt.Sprintf("; give it %s to %s", k.min, k.max)
}

// example describes a value that could replace an empty one.
func example(k *key) string {
	if such := cmp.Or(k.def, map[valueType]string{duration: "30s", size: "64MiB"}[k.typ]); such != "" {
		return "a value such as " + such
	}
	return "a value"
}

// formats check the form of a text; the message says what to write instead.
var formats = map[string]func(string) error{
	"name":     checkName,
	"path":     checkPath,
	"each":     checkEach,
	"column":   checkColumn,
	"topic":    matches(`^[A-Za-z0-9._-]{1,249}$`, "is no Kafka name; write letters, digits, dot, _ and -, at most 249"),
	"cluster":  matches(`^[A-Za-z0-9_.{}-]+$`, "is no cluster name; write letters, digits, dot, _ and -, or a macro such as {cluster}"),
	"database": matches(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`, "is no identifier; write letters, digits and _, no digit first, at most 63"),
	"address":  addressAt("9092"),
	"redis":    addressAt("6379"),
	"listen":   addressAt("8686"),
	"url":      checkURL,
	"http":     checkURL,
	"zone":     func(s string) error { _, err := zones.Load(s); return err },
	"member":   func(s string) error { _, _, err := parseMember(s); return err },
}

// matches checks a text by a pattern.
func matches(pattern, wrong string) func(string) error {
	compiled := regexp.MustCompile(pattern)
	return func(s string) error {
		if !compiled.MatchString(s) {
			return fmt.Errorf("%q %s", s, wrong)
		}
		return nil
	}
}

// Names become parts of table, column and metric names; some of these are case-sensitive
// and some are not, so only one spelling is allowed.
const namePattern = `^[a-z][a-z0-9_]{0,62}$`

var checkName = matches(namePattern, "is no name; write lower-case letters, digits and _, a letter first, at most 63")

// IsPath reports whether a configuration can name the value at a path, which is written as there.
func IsPath(s string) bool { return checkPath(s) == nil }

// foreign matches paths of other notations ($.a.b, /a/b, a['b']) that would name a key of that
// spelling, which no event has, so that all events would be malformed.
var foreign = regexp.MustCompile(`^\$(\.|\[|$)|^#?/|\\|\[['"*\]]|(^|\.)\*?(\.|$)|^key\[|^(headers|key):`)

// quoted matches a key in quotes, as package event has it.
var quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// checkPath checks a path: names of nested keys with dots between them, in quotes if need be, and
// array elements in brackets; key or key.path for the record's key, and header:name.
func checkPath(s string) error {
	plain := quoted.ReplaceAllString(s, "q")
	text, inside, inText := strings.Cut(plain, "[json]")
	header, isHeader := strings.CutPrefix(text, "header:")
	wrong := !isHeader && foreign.MatchString(text) || isHeader && (header == "" || strings.ContainsAny(header, "[]"))
	if inText {
		wrong = wrong || !strings.HasPrefix(inside, ".") || checkPath(inside[1:]) != nil
	}
	if n := strings.Count(plain, ".") + 1 + strings.Count(plain, "["); n > event.MaxDepth-1 {
		return fmt.Errorf("path of %d keys; at most %d", n, event.MaxDepth-1)
	}
	if strings.Contains(plain, "[]") {
		return fmt.Errorf("%q has [], which each alone can have; paths begin in the events that it names, or behind record: beside the outermost array; let the producer copy what lies between into the events", s)
	}
	if wrong || event.CheckPath(event.ParsePathText(s)) != nil {
		return fmt.Errorf("%q is no path; write keys with a dot between them, such as geo.country, items[0].sku, params[key=page].value, labels.\"log.level\", properties[json].plan, key.id or header:name", s)
	}
	return nil
}

// checkEach checks where the array of the events of a record is.
func checkEach(s string) error {
	plain := strings.ReplaceAll(strings.TrimPrefix(s, event.Whole+"[]."), "[]", "")
	if s != event.Whole && (checkPath(plain) != nil || event.CheckEach(event.JSON, event.ParsePathText(s)) != nil) {
		return fmt.Errorf("%q is no array in the value itself; write its path, such as data.events, with [] behind each array that it leads through, or $ for a value that is the array", s)
	}
	return nil
}

// checkColumn checks the name of a column of a record of TSV or CSV.
func checkColumn(s string) error {
	if event.CheckColumn(s) != nil {
		return fmt.Errorf("%q cannot be named by a path, which has an index in its brackets; write a name without them and without key: or header:", s)
	}
	return nil
}

// parseMember reads "3/8": number 3 of 8 members.
func parseMember(s string) (number, members int, err error) {
	const most = 1024
	if _, err = fmt.Sscanf(s, "%d/%d", &number, &members); err != nil || number < 0 || number >= members || members > most || fmt.Sprintf("%d/%d", number, members) != s {
		return 0, 0, fmt.Errorf("%q is no member; write its number from 0 and how many there are, at most %d, such as 0/3", s, most)
	}
	return number, members, nil
}

// Fixed returns what kafka.member says: the number of this process and how many there
// are. Without the key both are 0.
func (k *Kafka) Fixed() (number, members int) {
	number, members, _ = parseMember(k.Member) // checked when it was loaded
	return number, members
}

// addressAt checks an address. Only one to listen on, whose usual port is 8686, may have no host: all
// interfaces then. A message repeats nothing with an @, before which a password may be.
func addressAt(port string) func(string) error {
	return func(s string) error {
		host, given, err := net.SplitHostPort(s)
		n, errPort := strconv.ParseUint(given, 10, 16)
		switch {
		case strings.Contains(s, "@"):
			return errors.New("an address has no user and no password in it; write host:port, and a password into the file that a key ending in password_file names")
		case err != nil || host == "" && port != "8686" || strings.ContainsAny(s, "$ /,") || errPort != nil || strconv.FormatUint(n, 10) != given:
			if _, err := strconv.ParseUint(s, 10, 16); err == nil {
				port = s
			}
			return fmt.Errorf("%q is no address; write host:port, such as 127.0.0.1:%s", s, port)
		}
		return nil
	}
}

// checkURL checks a URL. Its messages do not repeat a URL that may contain a
// password.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case strings.Contains(s, "@"): // whatever it is parsed as
		return errors.New("the URL names a user; put the name into user and the password into a file named by password_file")
	case err == nil && (u.RawQuery != "" || u.Fragment != ""):
		return errors.New("the URL ends in parameters; leave them out, there are keys for what they say")
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return fmt.Errorf("%q is no URL of HTTP; write http://host:port or https://host:port (ClickHouse's HTTP ports are usually 8123 and 8443)", s)
	case u.Port() == "9000" || u.Port() == "9440":
		return fmt.Errorf("port %s is ClickHouse's native protocol; weir uses the HTTP port, usually 8123, or 8443 with https", u.Port())
	}
	return nil
}

// IsLoopback reports whether only this machine can reach a listen address.
func IsLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
