package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/event"
	"weir/internal/spelling"
)

// check checks the text of one value from any source, and returns it in the
// form that viper gets: durations and sizes in their canonical form, everything
// else unchanged. The error is the message for the user, with the remedy.
func (k *key) check(value string) (string, error) {
	switch k.kind {
	case duration:
		d, err := ParseDuration(value)
		if err != nil {
			return "", err
		}
		return d.String(), k.inRange(float64(d), d.String(), parsed(ParseDuration))
	case size:
		s, err := ParseSize(value)
		if err != nil {
			return "", err
		}
		return s.String(), k.inRange(float64(s), s.String(), parsed(ParseSize))
	case integer:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return "", fmt.Errorf("%q is no whole number%s", value, k.span())
		}
		return value, k.inRange(float64(n), value, parsed(strconv.Atoi))
	case fraction:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(f) {
			return "", fmt.Errorf("%q is no number%s", value, k.span())
		}
		return value, k.inRange(f, value, func(s string) float64 { f, _ := strconv.ParseFloat(s, 64); return f })
	case boolean:
		switch strings.ToLower(value) {
		case "true", "false":
			return strings.ToLower(value), nil
		}
		return "", fmt.Errorf("%q is neither true nor false", value)
	}
	if k.enum != nil && !slices.Contains(k.enum, value) {
		if right := k.others[value]; right != "" {
			return "", fmt.Errorf("%q is not known; write %s", value, right)
		}
		if instead := insteadOf[value]; instead != "" && k.others != nil {
			return "", fmt.Errorf("%q is not known; %s", value, instead)
		}
		if near := spelling.Nearest(value, k.enum); near != "" {
			return "", fmt.Errorf("%q is not known; did you mean %s?", value, near)
		}
		return "", fmt.Errorf("%q is not known; write %s", value, either(k.enum))
	}
	if value == "" {
		if k.required || k.def != "" {
			return "", fmt.Errorf("empty; give it %s or leave the key out", example(k))
		}
		return "", nil
	}
	if judge := formats[k.format]; judge != nil {
		return value, judge(value)
	}
	return value, nil
}

func parsed[T ~int | ~int64](parse func(string) (T, error)) func(string) float64 {
	return func(s string) float64 {
		n, err := parse(s)
		if err != nil {
			panic("config: bad bound in a tag: " + s)
		}
		return float64(n)
	}
}

func (k *key) inRange(n float64, shown string, bound func(string) float64) error {
	if (k.min != "" && n < bound(k.min)) || (k.max != "" && n > bound(k.max)) {
		return fmt.Errorf("%s is out of range%s", shown, k.span())
	}
	return nil
}

// span returns the accepted range as the tail of a message.
func (k *key) span() string {
	switch {
	case k.bounds != "":
		return "; give it " + k.bounds
	case k.min == "":
		return ""
	}
	return fmt.Sprintf("; give it %s to %s", k.min, k.max)
}

// example describes a value that could replace an empty one.
func example(k *key) string {
	switch {
	case k.kind == duration:
		return "a duration such as 30s"
	case k.kind == size:
		return "a size such as 64MiB"
	case k.def != "":
		return "a value such as " + k.def
	}
	return "a value"
}

// formats check the form of a text; the message says what to write instead.
var formats = map[string]func(string) error{
	"name":     checkName,
	"path":     checkPath,
	"each":     checkEach,
	"column":   checkColumn,
	"topic":    checkTopic,
	"database": checkDatabase,
	"cluster":  checkCluster,
	"address":  checkAddress,
	"redis":    checkRedis,
	"member":   checkMember,
	"listen":   checkListen,
	"url":      checkURL,
	"http":     checkHTTP,
}

var (
	namePattern       = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	topicPattern      = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	identifierPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	clusterPattern    = regexp.MustCompile(`^[A-Za-z0-9_.{}-]+$`)
)

// longestName is how many letters a name may have.
const longestName = 63

// checkName checks a name. Names become parts of table, column and metric
// names; some of these are case-sensitive and some are not, so only one
// spelling is allowed.
func checkName(s string) error {
	if namePattern.MatchString(s) && len(s) <= longestName {
		return nil
	}
	if len(s) > longestName {
		return fmt.Errorf("name of %d letters; at most %d", len(s), longestName)
	}
	if near := nameLike(s); near != "" && near != s {
		return fmt.Errorf("%q is no name: a name has lower-case letters, digits and _, a letter first; try %s", s, near)
	}
	return fmt.Errorf("%q is no name; write lower-case letters, digits and _, a letter first", s)
}

// nameLike turns pageUrl, page-url and Page URL into page_url; "" when nothing
// is left.
func nameLike(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(r - 'A' + 'a')
			lower = false
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
			lower = true
		default:
			b.WriteByte('_')
			lower = false
		}
	}
	return strings.TrimRight(strings.TrimLeft(b.String(), "_0123456789"), "_")
}

// IsPath reports whether a configuration can name the value at a path, which is written as there.
func IsPath(s string) bool { return checkPath(s) == nil }

// checkPath checks a path: names of nested keys with dots between them, and indexes of
// array elements in brackets; key or key.path for the record's key, and header:name. It
// refuses other notations ($.a.b, /a/b, a['b']), because they would name
// a key of that spelling, which no event has, and all events would be
// malformed.
func checkPath(s string) error {
	const deepest = event.MaxDepth - 1
	if text, rest, ok := strings.Cut(s, "[json]"); ok {
		if !strings.HasPrefix(rest, ".") {
			return fmt.Errorf("%q names nothing in the JSON object that the text is; write %s[json].name", s, text)
		}
		if err := checkPath(text); err != nil {
			return err
		}
		if err := checkPath(rest[1:]); err != nil {
			return err
		}
		return event.CheckPath(event.ParsePathText(s))
	}
	if scheme, name, ok := strings.Cut(s, ":"); ok {
		switch {
		case scheme == "header" && name == "":
			return fmt.Errorf("%q names no header; write header:name", s)
		case scheme == "header" && strings.ContainsAny(name, "[]"):
			return fmt.Errorf("%q has a bracket, which the name of a header cannot have here", s)
		case scheme == "header":
			return nil
		case scheme == "headers":
			return fmt.Errorf("%q is no path; write header:%s", s, name)
		case scheme == "key":
			return fmt.Errorf("%q is no path; write %s", s, strings.TrimSuffix("key."+name, "."))
		}
	}
	if strings.HasPrefix(s, "key[") {
		return fmt.Errorf("%q is no path: a record's key is a text, or an object whose fields are key.name; write value.%[1]s for the field key of the event", s)
	}
	if why := foreignPath(s); why != "" {
		if plain := plainPath(s); plain != "" {
			return fmt.Errorf("%q is no path: %s; write %s", s, why, plain)
		}
		return fmt.Errorf("%q is no path: %s; write the key, or nested keys with a dot between them, such as geo.country or items[0].sku", s, why)
	}
	if n := strings.Count(s, ".") + 1 + strings.Count(s, "["); n > deepest {
		return fmt.Errorf("path of %d keys; at most %d", n, deepest)
	}
	return event.CheckPath(event.ParsePathText(s))
}

// checkEach checks where the array of the events of a record is.
func checkEach(s string) error {
	whole := strings.TrimSuffix(strings.TrimSuffix(s, "[]"), "[*]")
	switch {
	case s == event.Whole:
		return nil
	case whole == "" && s != "", whole == event.Whole:
		return fmt.Errorf("%q is no path; write $ for a value that is the array", s)
	case whole != s && checkPath(whole) == nil:
		return fmt.Errorf("%q is no path; write %s, the array whose elements are the events", s, whole)
	}
	if err := checkPath(s); err != nil {
		return err
	}
	if err := event.CheckEach(event.JSON, event.ParsePathText(s)); err != nil {
		return fmt.Errorf("%q is not in the value itself; events can be elements of an array there, and not in a key, a header or a text", s)
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

// foreignPath says which part of s belongs to another notation; "" if none
// does.
func foreignPath(s string) string {
	parts := strings.Split(s, ".")
	switch {
	case parts[0] == "$" || strings.HasPrefix(s, "$["):
		return "it begins at the event by itself, without $"
	case strings.HasPrefix(s, "/"), strings.HasPrefix(s, "#/"):
		return "nested keys have a dot between them, not a slash before them"
	case strings.Contains(s, `\`):
		return "there are no escapes, and a key that contains a dot cannot be named"
	case quotedKey.MatchString(s):
		return "it names keys of objects without brackets"
	case strings.Contains(s, "[*]"), strings.Contains(s, "[]"):
		return "it names one element of an array by its index, and all elements are the events of a job with each"
	case strings.Count(s, "[") < event.MaxDepth-1 && strings.ContainsAny(s, "[]") && !slices.Contains(parts, "") && event.CheckPath(s) != nil:
		return fmt.Sprintf("brackets follow a key and hold the index of an array's element, 0 to %d", event.MaxIndex)
	case slices.Contains(parts, "*"):
		return "it names one key of each object, not all"
	case slices.Contains(parts, ""):
		return "a key is empty"
	}
	return ""
}

var quotedKey = regexp.MustCompile(`\[(?:'([^'\].]+)'|"([^"\].]+)")\]`)

// plainPath returns the path that was probably meant by one of another notation; ""
// if weir has no such path.
func plainPath(s string) string {
	s = quotedKey.ReplaceAllString(strings.TrimPrefix(s, "$"), ".$1$2")
	if pointer, ok := strings.CutPrefix(strings.TrimPrefix(s, "#"), "/"); ok {
		if strings.ContainsAny(pointer, ".~") {
			return ""
		}
		s = strings.ReplaceAll(pointer, "/", ".")
	}
	keys := slices.DeleteFunc(strings.Split(s, "."), func(key string) bool { return key == "" })
	if plain := strings.Join(keys, "."); foreignPath(plain) == "" {
		return plain
	}
	return ""
}

// checkTopic checks the name of a topic by Kafka's rules, and that of a group
// by the same.
func checkTopic(s string) error {
	if err := checkVariable(s); err != nil {
		return err
	}
	if !topicPattern.MatchString(s) || len(s) > 249 || s == "." || s == ".." {
		return fmt.Errorf("%q is no Kafka name; write letters, digits, dot, _ and -, at most 249", s)
	}
	return nil
}

func checkMember(s string) error {
	_, _, err := parseMember(s)
	return err
}

// parseMember reads "3/8": number 3 of 8 members.
func parseMember(s string) (number, members int, err error) {
	const most = 1024
	before, after, ok := strings.Cut(s, "/")
	i, errNumber := strconv.ParseUint(before, 10, 16)
	n, errMembers := strconv.ParseUint(after, 10, 16)
	switch {
	case !ok || errNumber != nil || errMembers != nil:
		return 0, 0, fmt.Errorf("%q is no member; write its number and how many there are, such as 0/3", s)
	case n < 1 || n > most:
		return 0, 0, fmt.Errorf("%q has %d members; at least 1, at most %d", s, n, most)
	case i >= n:
		return 0, 0, fmt.Errorf("%q has no member %d: %d members have the numbers 0 to %d", s, i, n, n-1)
	}
	return int(i), int(n), nil
}

// Fixed returns what kafka.member says: the number of this process and how many there
// are. Without the key both are 0.
func (k *Kafka) Fixed() (number, members int) {
	number, members, _ = parseMember(k.Member) // checked when it was loaded
	return number, members
}

// checkDatabase checks the name of the database. It is bounded as other names are: ClickHouse makes
// a file's name of it and of a table's.
func checkDatabase(s string) error {
	switch {
	case !identifierPattern.MatchString(s):
		return fmt.Errorf("%q is no identifier; write letters, digits and _, no digit first", s)
	case len(s) > longestName:
		return fmt.Errorf("name of %d letters; at most %d", len(s), longestName)
	case strings.EqualFold(s, "system"), strings.EqualFold(s, "information_schema"):
		return fmt.Errorf("%s is a database of ClickHouse's own; choose another name", s)
	}
	return nil
}

func checkCluster(s string) error {
	if !clusterPattern.MatchString(s) {
		return fmt.Errorf("%q is no cluster name; write letters, digits, dot, _ and -, or a macro such as {cluster}", s)
	}
	return nil
}

// checkVariable refuses a value in which another program would put a variable.
func checkVariable(s string) error {
	if strings.Contains(s, "$") {
		return fmt.Errorf("%q has a $, and weir puts no variables into its configuration; write the value itself", s)
	}
	return nil
}

func checkAddress(s string) error {
	if all := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }); len(all) > 1 && !strings.Contains(s, "@") {
		return fmt.Errorf("%q has several addresses; write them as a list, [%s]", s, strings.Join(all, ", "))
	}
	return addressCheck(s, "9092")
}

// checkRedis checks the address of a server that speaks the Redis protocol.
func checkRedis(s string) error { return addressCheck(s, "6379") }

// addressCheck checks an address; its messages propose the port.
func addressCheck(s, usual string) error {
	if strings.Contains(s, "@") { // the message does not repeat s, which may contain a password
		return fmt.Errorf("an address has no user and no password in it; write host:port, and a password into the file that a key ending in password_file names")
	}
	if err := checkVariable(s); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil && !strings.Contains(s, ":") {
		return fmt.Errorf("%q has no port; try %[1]s:%s", s, usual)
	}
	if _, rest, scheme := strings.Cut(s, "://"); scheme && addressCheck(rest, usual) == nil {
		return fmt.Errorf("%q begins with a scheme, which an address has none of; try %s", s, rest)
	}
	if err != nil || host == "" || strings.ContainsAny(s, " /") || !isPort(port) {
		return fmt.Errorf("%q is no address; write host:port, such as 127.0.0.1:%s", s, usual)
	}
	return nil
}

// checkListen checks an address to listen on: the host may be empty, for all
// interfaces.
func checkListen(s string) error {
	if strings.Contains(s, "@") {
		return fmt.Errorf("an address to listen on has no user and no password in it; write host:port, such as 127.0.0.1:8686")
	}
	if isPort(s) {
		return fmt.Errorf("%q has no host; try 127.0.0.1:%[1]s", s)
	}
	_, port, err := net.SplitHostPort(s)
	if err != nil || strings.ContainsAny(s, " /") || !isPort(port) {
		return fmt.Errorf("%q is no address to listen on; write host:port, such as 127.0.0.1:8686", s)
	}
	return nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == s
}

// checkURL checks a URL. Its messages do not repeat a URL that may contain a
// password.
func checkURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case strings.Contains(s, "@"): // whatever it is parsed as
		return fmt.Errorf("the URL names a user; put the name into user and the password into a file named by password_file")
	case err == nil && (u.RawQuery != "" || u.Fragment != ""):
		return fmt.Errorf("the URL ends in parameters; leave them out, there are keys for database and user")
	case err == nil && (u.Scheme == "clickhouse" || u.Scheme == "tcp" || u.Scheme == "native"):
		return fmt.Errorf("weir talks to ClickHouse over HTTP; try http://%s:8123", u.Hostname())
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return fmt.Errorf("%q is no URL; write http://host:8123 or https://host:8443", s)
	case u.Port() == "9000" || u.Port() == "9440":
		return fmt.Errorf("port %s is ClickHouse's native protocol; weir uses the HTTP port, usually 8123, or 8443 with https", u.Port())
	}
	return nil
}

// checkHTTP checks the URL of a server other than ClickHouse. Its messages do not repeat a URL
// that may contain a password.
func checkHTTP(s string) error {
	u, err := url.Parse(s)
	switch {
	case strings.Contains(s, "@"):
		return fmt.Errorf("the URL names a user; put the name into user and the password into a file named by password_file")
	case err == nil && (u.RawQuery != "" || u.Fragment != ""):
		return fmt.Errorf("the URL ends in parameters; leave them out")
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return fmt.Errorf("%q is no URL; write http://host:8081 or https://host", s)
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
