package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A validator checks whether the values fit together. It runs on the merged
// configuration, so the same rules hold for a value from a flag and for one
// from the file.
type validator struct {
	cfg      *Config
	origins  *Origins
	problems problems
	noJobs   bool
}

// complain reports a problem at the place where the value at path was written,
// or at the place of its section.
func (v *validator) complain(path, format string, args ...any) {
	v.problems.add(v.origins.nearest(path), path, format, args...)
}

// warn is complain for what is suspicious but harmless.
func (v *validator) warn(path, format string, args ...any) {
	(*problems)(&v.origins.Warnings).add(v.origins.nearest(path), path, format, args...)
}

// must is complain for a rule that does not hold; it returns whether it holds.
func (v *validator) must(holds bool, path, format string, args ...any) bool {
	if !holds {
		v.complain(path, format, args...)
	}
	return holds
}

// broken reports whether the value at path, or a value in it, already has a
// problem. Such a value is not checked further.
func (v *validator) broken(path string) bool {
	return slices.ContainsFunc(v.problems, func(p Problem) bool {
		rest, ok := strings.CutPrefix(p.Path, path)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// given reports whether one of some keys is given, anywhere.
func (v *validator) given(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return v.origins.Of(path).Source != FromDefault })
}

func (v *validator) validate() {
	v.connections()
	v.listeners()
	if slices.ContainsFunc(v.problems, func(p Problem) bool { return p.Path == "" && p.Origin.Source == FromFile }) {
		return // the file could not be read as a whole, so no key is missing in it
	}
	v.must(len(v.cfg.Jobs) > 0 || v.noJobs || v.broken("jobs"), "jobs", "none; describe at least one, as in the example weir.yaml")
	for i := range v.cfg.Jobs {
		path := fmt.Sprintf("jobs[%d]", i)
		if !v.broken(path) {
			v.job(path, &v.cfg.Jobs[i])
		}
	}
	v.tables()
}

func (v *validator) connections() {
	k, ch, r := &v.cfg.Kafka, &v.cfg.ClickHouse, &v.cfg.Registry
	for path, t := range map[string]TLS{"kafka": k.TLS.TLS, "clickhouse": ch.TLS, "registry": r.TLS} {
		v.must(t.CertFile == "" || t.KeyFile != "", path+".tls.cert_file", "needs key_file too: a certificate is of use only with its key")
		v.must(t.KeyFile == "" || t.CertFile != "", path+".tls.key_file", "needs cert_file too: a key is of use only with its certificate")
	}
	if !v.broken("kafka.sasl") {
		v.sasl(&k.SASL)
	}
	if !v.broken("clickhouse") {
		v.servers(ch)
	}
	if !v.broken("registry") {
		password := v.given("registry.password", "registry.password_file")
		v.must(r.URL != "" || r.User == "" && !password && r.TLS == TLS{}, "registry", "needs url (where the registry answers)")
		v.must(!password || r.User != "", "registry", "a password without a user; add user")
		v.must(r.User == "" || password, "registry.user", "needs a password too; name its file in password_file or set WEIR_REGISTRY_PASSWORD")
		v.must(r.TLS == TLS{} || !strings.HasPrefix(r.URL, "http://"), "registry.tls", "the URL says http, so nothing would be encrypted; write https:// or remove tls")
	}
	v.local()

	// When partitions move, the records read must be flushed within about two
	// thirds of the session. With an interval beyond half the session there would
	// be too many of them.
	if most := k.Session / 2; !v.broken("flush") {
		v.must(v.cfg.Flush.Interval <= most, "flush.interval", "a flush every %s leaves too much to write when partitions move within a session of %s; flush at least every %s or lengthen kafka.session", v.cfg.Flush.Interval, k.Session, most)
	}
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

// servers checks the addresses of ClickHouse.
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

// saslKeys are the keys that a mechanism uses.
var saslKeys = map[string][]string{
	"":              nil,
	"plain":         {"user", "password_file"},
	"scram-sha-256": {"user", "password_file"},
	"scram-sha-512": {"user", "password_file"},
	"oauthbearer":   {"token_file", "token_url", "client_id", "client_secret_file", "scope", "extensions"},
	"aws-msk-iam":   {"region"},
}

// sasl checks that a mechanism has what it needs, and nothing of another one.
func (v *validator) sasl(s *SASL) {
	given := func(key string) bool { // a secret perhaps as a variable
		return v.given("kafka.sasl."+key, "kafka.sasl."+strings.TrimSuffix(key, "_file"))
	}
	uses := saslKeys[s.Mechanism]
	for _, k := range table().child("kafka").child("sasl").keys {
		if k.name == "mechanism" || k.secret != "" || slices.Contains(uses, k.name) || !given(k.name) {
			continue
		}
		if !v.must(s.Mechanism != "", "kafka.sasl", "%s without a mechanism; add mechanism: %s", k.name, either(table().child("kafka").child("sasl").child("mechanism").enum)) {
			return
		}
		v.complain("kafka.sasl."+k.name, "%s does not use it; remove it, or choose another mechanism", s.Mechanism)
	}
	needs := uses
	if s.Mechanism == "oauthbearer" {
		v.must(s.TokenFile == "" || s.TokenURL == "", "kafka.sasl.token_url", "token_file is given too; keep one of them")
		needs = nil
		switch {
		case s.TokenFile == "" && s.TokenURL == "":
			v.complain("kafka.sasl.mechanism", "oauthbearer needs token_file, or token_url with client_id and client_secret_file")
		case s.TokenURL != "" && s.TokenFile == "":
			needs = []string{"client_id", "client_secret_file"}
		}
	}
	for _, key := range needs {
		v.must(given(key), "kafka.sasl.mechanism", "%s needs %s too; in a file, or as WEIR_KAFKA_SASL_%s", s.Mechanism, key, strings.ToUpper(strings.TrimSuffix(key, "_file")))
	}
	for _, e := range s.ExtensionList() {
		name, value, _ := strings.Cut(e, "=")
		v.must(name != "" && name != "auth" && value != "" && !strings.ContainsRune(e, 1), "kafka.sasl.extensions", "%q is no extension; write name=value, such as logicalCluster=lkc-1", e)
	}
}

func (v *validator) listeners() {
	h, r := &v.cfg.HTTP, &v.cfg.RESP
	if !v.broken("http") {
		v.must(IsLoopback(h.Listen) || h.Public || v.given("http.token_file", "http.token"),
			"http.listen", "%s can be reached from other machines and there is no token; listen on 127.0.0.1, set http.token_file or WEIR_HTTP_TOKEN, or say http.public: true", h.Listen)
	}
	v.must(r.Listen == "" || IsLoopback(r.Listen) || v.given("resp.password_file", "resp.password"),
		"resp.listen", "%s can be reached from other machines and there is no password; listen on 127.0.0.1, or set resp.password_file or WEIR_RESP_PASSWORD", r.Listen)
	if most := v.cfg.Memory / 2; !v.broken("resp") && !v.broken("memory") {
		v.must(r.Memory <= most, "resp.memory", "%s of a memory of %s leaves too little to the jobs; give at most %s, or raise memory", r.Memory, v.cfg.Memory, most)
	}
	// Port 0 is any free port, a different one each time.
	v.must(r.Listen == "" || r.Listen != h.Listen || strings.HasSuffix(r.Listen, ":0"), "resp.listen", "%s is http.listen already; use another port", r.Listen)
}

const day = Duration(24 * time.Hour)
