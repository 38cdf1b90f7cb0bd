package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A validator checks whether the values fit together. It runs on the merged configuration, when each
// value has the right form, so the same rules hold for a value from a flag and for one from the file.
type validator struct {
	cfg      *Config
	origins  *Origins
	problems problems
}

// complain reports a problem at the place where the value at path was written,
// or at the place of its section.
func (v *validator) complain(path, format string, args ...any) {
	v.problems.add(v.origins.nearest(path), path, format, args...)
}

// must is complain for a rule that does not hold; it returns whether it holds.
func (v *validator) must(holds bool, path, format string, args ...any) bool {
	if !holds {
		v.complain(path, format, args...)
	}
	return holds
}

// given reports whether one of some keys is given, anywhere.
func (v *validator) given(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return v.origins.Of(path).Source != FromDefault })
}

func (v *validator) validate(noJobs bool) {
	v.connections()
	v.listeners()
	v.must(len(v.cfg.Jobs) > 0 || noJobs, "jobs", "none; describe at least one, as in the example weir.yaml")
	for i := range v.cfg.Jobs {
		v.job(fmt.Sprintf("jobs[%d]", i), &v.cfg.Jobs[i])
	}
	if len(v.problems) == 0 { // names of tables are made of windows and measures
		v.tables()
	}
}

// keys checks in every section that the keys that it needs are given, and none of another kind of section.
func (v *validator) keys() {
	table().walk(reflect.ValueOf(v.cfg).Elem(), "", func(k *key, section reflect.Value, at string) {
		for _, c := range k.keys {
			chosen, of, remedy := "", "", "add "+c.when.sibling
			if sibling := k.child(c.when.sibling); sibling != nil {
				if chosen = section.FieldByIndex(sibling.index).String(); chosen != "" {
					of, remedy = sibling.name+" "+chosen+" ", chosen+" has none"
				} else if sibling.required { // and missing
					continue
				}
			}
			path := join(at, c.name)
			given := v.given(path) || slices.ContainsFunc(k.keys, func(s *key) bool { return s.secret == c.name && v.given(join(at, s.name)) })
			switch holds := c.when.holds(chosen); {
			case given && !holds:
				v.complain(path, "belongs to %s %s; %s", c.when.sibling, either(c.when.values), remedy)
			case c.required && !given && holds:
				v.complain(at, "%sneeds %s (%s)", of, c.name, firstSentence(c.doc))
			}
		}
	})
}

func (v *validator) connections() {
	k, ch, r := &v.cfg.Kafka, &v.cfg.ClickHouse, &v.cfg.Registry
	for path, t := range map[string]TLS{"kafka.tls": k.TLS.TLS, "clickhouse.tls": ch.TLS, "registry.tls": r.TLS} {
		v.must((t.CertFile == "") == (t.KeyFile == ""), path, "a certificate is of use only with its key; give cert_file and key_file")
	}
	v.sasl(&k.SASL)
	v.servers(ch)
	password := v.given("registry.password", "registry.password_file")
	v.must(r.URL != "" || r.User == "" && !password && r.TLS == TLS{}, "registry", "needs url (where the registry answers)")
	v.must(password == (r.User != ""), "registry.user", "a user and a password go together; give user, and name a file in password_file or set WEIR_REGISTRY_PASSWORD")
	v.must(r.TLS == TLS{} || !strings.HasPrefix(r.URL, "http://"), "registry.tls", "the URL says http, so nothing would be encrypted; write https:// or remove tls")
	v.local()

	// When partitions move, the records read must be flushed within about two
	// thirds of the session. With an interval beyond half the session there would
	// be too many of them.
	most := k.Session / 2
	v.must(v.cfg.Flush.Interval <= most, "flush.interval", "a flush every %s leaves too much to write when partitions move within a session of %s; flush at least every %s or lengthen kafka.session", v.cfg.Flush.Interval, k.Session, most)
}

// Addresses returns the addresses of ClickHouse: for each shard those of its replicas.
func (c *ClickHouse) Addresses() [][]string {
	if len(c.Shards) == 0 {
		return [][]string{c.URLs}
	}
	var all [][]string
	for _, s := range c.Shards {
		all = append(all, s.URLs)
	}
	return all
}

// Where returns the addresses for a message.
func (c *ClickHouse) Where() string {
	return strings.Join(slices.Concat(c.Addresses()...), ", ")
}

func (v *validator) servers(ch *ClickHouse) {
	if !v.must(len(ch.Shards) == 0 || len(ch.URLs) == 0, "clickhouse.shards", "urls is given too; keep one: urls for one server or its replicas, shards where the database is spread") ||
		!v.must(len(ch.Shards) != 1, "clickhouse.shards", "one shard only; write its addresses into urls") {
		return
	}
	seen := map[string]bool{}
	for _, u := range slices.Concat(ch.Addresses()...) {
		path := "clickhouse.urls"
		if len(ch.Shards) > 0 {
			path = "clickhouse.shards"
		}
		v.must(ch.TLS == TLS{} || !strings.HasPrefix(u, "http://"), "clickhouse.tls", "the URL says http, so nothing would be encrypted; write https:// (usually port 8443) or remove tls")
		v.must(!seen[strings.TrimRight(u, "/")], path, "%s is given twice; keep one", u)
		seen[strings.TrimRight(u, "/")] = true
	}
}

// ExtensionList returns the extensions one by one.
func (s *SASL) ExtensionList() []string {
	if s.Extensions == "" {
		return nil
	}
	return strings.Split(s.Extensions, ",")
}

// sasl checks what a mechanism needs beside single keys.
func (v *validator) sasl(s *SASL) {
	const at = "kafka.sasl."
	if s.Mechanism == "oauthbearer" {
		client := s.TokenURL != "" && s.ClientID != "" && v.given(at+"client_secret", at+"client_secret_file")
		v.must(s.TokenFile != "" || client, at+"mechanism", "oauthbearer needs token_file, or token_url with client_id and client_secret_file")
		v.must(s.TokenFile == "" || s.TokenURL == "", at+"token_url", "token_file is given too; keep one of them")
	}
	for _, e := range s.ExtensionList() {
		name, value, _ := strings.Cut(e, "=")
		v.must(name != "" && name != "auth" && value != "" && !strings.ContainsRune(e, 1), at+"extensions", "%q is no extension; write name=value, such as logicalCluster=lkc-1", e)
	}
}

func (v *validator) listeners() {
	h, r := &v.cfg.HTTP, &v.cfg.RESP
	v.must(IsLoopback(h.Listen) || h.Public || v.given("http.token_file", "http.token"),
		"http.listen", "%s can be reached from other machines and there is no token; listen on 127.0.0.1, set http.token_file or WEIR_HTTP_TOKEN, or say http.public: true", h.Listen)
	v.must(r.Listen == "" || IsLoopback(r.Listen) || v.given("resp.password_file", "resp.password"),
		"resp.listen", "%s can be reached from other machines and there is no password; listen on 127.0.0.1, or set resp.password_file or WEIR_RESP_PASSWORD", r.Listen)
	most := v.cfg.Memory / 2
	v.must(r.Memory <= most, "resp.memory", "%s of a memory of %s leaves too little to the jobs; give at most %s, or raise memory", r.Memory, v.cfg.Memory, most)
	// Port 0 is any free port, a different one each time.
	v.must(r.Listen == "" || r.Listen != h.Listen || strings.HasSuffix(r.Listen, ":0"), "resp.listen", "%s is http.listen already; use another port", r.Listen)
}

const day = Duration(24 * time.Hour)
