package config

import (
	"fmt"
	"maps"
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

// broken reports whether the value at path, or a value in it, already has a
// problem. Such a value is not checked further.
func (v *validator) broken(path string) bool {
	return slices.ContainsFunc(v.problems, func(p Problem) bool {
		return p.Path == path || len(p.Path) > len(path) && p.Path[:len(path)] == path && (p.Path[len(path)] == '.' || p.Path[len(path)] == '[')
	})
}

func (v *validator) validate() {
	v.connections()
	v.registry()
	v.listeners()
	if v.origins.nearest("").Source == FromFile && v.brokenFile() {
		return
	}
	if len(v.cfg.Jobs) == 0 && !v.noJobs && !v.broken("jobs") {
		v.complain("jobs", "none; describe at least one, as in the example weir.yaml")
	}
	for i := range v.cfg.Jobs {
		path := fmt.Sprintf("jobs[%d]", i)
		if !v.broken(path) {
			v.job(path, &v.cfg.Jobs[i])
		}
	}
	v.tables()
}

// brokenFile reports whether the file could not be read as a whole: then no
// missing key is reported.
func (v *validator) brokenFile() bool {
	return slices.ContainsFunc(v.problems, func(p Problem) bool { return p.Path == "" && p.Origin.Source == FromFile })
}

func (v *validator) connections() {
	k, ch := &v.cfg.Kafka, &v.cfg.ClickHouse

	pair := func(path string, t TLS) {
		if (t.CertFile == "") != (t.KeyFile == "") {
			given, missing := "cert_file", "key_file"
			if t.CertFile == "" {
				given, missing = missing, given
			}
			v.complain(path+"."+given, "needs %s too: a certificate is of use only with its key", missing)
		}
	}
	pair("kafka.tls", k.TLS.TLS)
	pair("clickhouse.tls", ch.TLS)
	pair("registry.tls", v.cfg.Registry.TLS)

	if !v.broken("kafka.sasl") {
		v.sasl(&k.SASL)
	}

	if !v.broken("clickhouse") {
		v.servers(ch)
	}

	// When partitions move, the records read must be flushed within about two
	// thirds of the session. With an interval beyond half the session there would
	// be too many of them.
	if most := k.Session / 2; v.cfg.Flush.Interval > most && !v.broken("flush") {
		v.complain("flush.interval", "a flush every %s leaves too much to write when partitions move within a session of %s; flush at least every %s or lengthen kafka.session", v.cfg.Flush.Interval, k.Session, most)
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
	switch {
	case len(ch.Shards) > 0 && len(ch.URLs) > 0:
		v.complain("clickhouse.shards", "urls is given too; keep one: urls for one server or its replicas, shards where the database is spread")
		return
	case len(ch.Shards) == 1:
		v.complain("clickhouse.shards", "one shard only; write its addresses into urls")
		return
	}
	given := map[string]bool{}
	for i, list := range ch.Addresses() {
		path := "clickhouse.urls"
		if len(ch.Shards) > 0 {
			path = fmt.Sprintf("clickhouse.shards[%d].urls", i)
		}
		for _, u := range list {
			if ch.TLS != (TLS{}) && strings.HasPrefix(u, "http://") {
				v.complain("clickhouse.tls", "the URL says http, so nothing would be encrypted; write https:// (usually port 8443) or remove tls")
				return
			}
			if given[strings.TrimRight(u, "/")] {
				v.complain(path, "%s is given twice; keep one", u)
			}
			given[strings.TrimRight(u, "/")] = true
		}
	}
}

// ExtensionList returns the extensions one by one.
func (s *SASL) ExtensionList() []string {
	if s.Extensions == "" {
		return nil
	}
	return strings.Split(s.Extensions, ",")
}

// sasl checks that a mechanism has what it needs, and nothing of another one.
func (v *validator) sasl(s *SASL) {
	set := func(path string) bool { return v.origins.Of("kafka.sasl."+path).Source == FromEnv }
	given := map[string]bool{
		"user": s.User != "", "password_file": s.PasswordFile != "" || set("password"),
		"token_file": s.TokenFile != "", "token_url": s.TokenURL != "", "client_id": s.ClientID != "",
		"client_secret_file": s.ClientSecretFile != "" || set("client_secret"), "scope": s.Scope != "", "extensions": s.Extensions != "",
		"region": s.Region != "",
	}
	var uses []string
	switch s.Mechanism {
	case "plain", "scram-sha-256", "scram-sha-512":
		uses = []string{"user", "password_file"}
	case "oauthbearer":
		uses = []string{"token_file", "token_url", "client_id", "client_secret_file", "scope", "extensions"}
	case "aws-msk-iam":
		uses = []string{"region"}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		switch {
		case !given[key] || slices.Contains(uses, key):
		case s.Mechanism == "":
			v.complain("kafka.sasl", "%s without a mechanism; add mechanism: plain, scram-sha-256, scram-sha-512, oauthbearer or aws-msk-iam", key)
			return
		default:
			v.complain("kafka.sasl."+key, "%s does not use it; remove it, or choose another mechanism", s.Mechanism)
		}
	}
	missing := func(keys ...string) {
		for _, key := range keys {
			if env := "WEIR_KAFKA_SASL_" + strings.ToUpper(strings.TrimSuffix(key, "_file")); !given[key] {
				v.complain("kafka.sasl.mechanism", "%s needs %s too; in a file, or as %s", s.Mechanism, key, env)
			}
		}
	}
	switch s.Mechanism {
	case "plain", "scram-sha-256", "scram-sha-512":
		missing("user", "password_file")
	case "oauthbearer":
		switch {
		case s.TokenFile != "" && s.TokenURL != "":
			v.complain("kafka.sasl.token_url", "token_file is given too; keep one of them")
		case s.TokenFile != "":
		case s.TokenURL != "":
			missing("client_id", "client_secret_file")
		default:
			v.complain("kafka.sasl.mechanism", "oauthbearer needs token_file, or token_url with client_id and client_secret_file")
		}
		for _, e := range s.ExtensionList() {
			if name, value, ok := strings.Cut(e, "="); !ok || name == "" || name == "auth" || value == "" || strings.ContainsRune(e, 1) {
				v.complain("kafka.sasl.extensions", "%q is no extension; write name=value, such as logicalCluster=lkc-1", e)
			}
		}
	case "aws-msk-iam":
		missing("region")
	}
}

func (v *validator) listeners() {
	h, r := &v.cfg.HTTP, &v.cfg.RESP
	token := h.TokenFile != "" || v.origins.Of("http.token").Source == FromEnv
	if !v.broken("http") && !IsLoopback(h.Listen) && !token && !h.Public {
		v.complain("http.listen", "%s can be reached from other machines and there is no token; listen on 127.0.0.1, set http.token_file or WEIR_HTTP_TOKEN, or say http.public: true", h.Listen)
	}
	password := r.PasswordFile != "" || v.origins.Of("resp.password").Source == FromEnv
	if r.Listen != "" && !IsLoopback(r.Listen) && !password {
		v.complain("resp.listen", "%s can be reached from other machines and there is no password; listen on 127.0.0.1, or set resp.password_file or WEIR_RESP_PASSWORD", r.Listen)
	}
	if most := v.cfg.Memory / 2; r.Memory > most && !v.broken("resp") && !v.broken("memory") {
		v.complain("resp.memory", "%s of a memory of %s leaves too little to the jobs; give at most %s, or raise memory", r.Memory, v.cfg.Memory, most)
	}
	// Port 0 is any free port, a different one each time.
	if r.Listen != "" && r.Listen == h.Listen && !strings.HasSuffix(r.Listen, ":0") {
		v.complain("resp.listen", "%s is http.listen already; use another port", r.Listen)
	}
}

const day = Duration(24 * time.Hour)
