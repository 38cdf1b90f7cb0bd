package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An account is a user with its password and rights.
type account struct {
	Digest string   // of password and salt, in hexadecimal
	Salt   string   // as in CREATE USER
	Rights []string // SELECT, INSERT, ALTER DELETE
	Owner  bool     `json:"-"` // may do everything
}

// A proxy passes statements on to the engine if their account may run them.
type proxy struct {
	engine *httputil.ReverseProxy
	file   string // the file with the accounts that were made

	mu       sync.Mutex
	accounts map[string]account
}

// ClickHouse's error codes, for what the proxy refuses.
const (
	authenticationFailed = 516
	accessDenied         = 497
	syntaxError          = 62
)

func newProxy(engine, owner, password, file string) (*proxy, error) {
	if owner == "" || password == "" {
		return nil, errors.New("set CLICKHOUSE_USER and CLICKHOUSE_PASSWORD: without a password, the image refuses connections from outside")
	}
	to, err := url.Parse(engine)
	if err != nil {
		return nil, err
	}
	p := &proxy{file: file, accounts: map[string]account{}, engine: &httputil.ReverseProxy{
		FlushInterval: -1, // pass answers on at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = to.Host // the engine wants its own name
		},
	}}
	kept, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(kept, &p.accounts)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	p.accounts[owner] = account{Digest: digest(password, ""), Owner: true}
	return p, nil
}

func digest(password, salt string) string {
	sum := sha256.Sum256([]byte(password + salt))
	return hex.EncodeToString(sum[:])
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ping" {
		p.engine.ServeHTTP(w, r)
		return
	}
	name, a, ok := p.account(r)
	if !ok {
		refuse(w, http.StatusForbidden, authenticationFailed, name+": Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)")
		return
	}
	// The statement is the parameter query, followed by the body.
	body := bufio.NewReaderSize(r.Body, 16<<10)
	head, err := body.Peek(body.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		refuse(w, http.StatusBadRequest, syntaxError, "the body broke off: "+err.Error())
		return
	}
	statement := r.URL.Query().Get("query") + string(head)
	word := firstWord(statement)
	if m := checkGrant.FindStringSubmatch(statement); m != nil && !a.Owner {
		granted := 1
		for _, right := range rights(m[1]) {
			if !slices.Contains(a.Rights, right) {
				granted = 0
			}
		}
		word, head = "SELECT", fmt.Appendf(nil, "SELECT toUInt8(%d) AS result", granted)
		q := r.URL.Query()
		q.Del("query")
		r.URL.RawQuery = q.Encode()
		body, r.ContentLength = bufio.NewReader(bytes.NewReader(head)), int64(len(head))
	}
	right := map[string]string{"SELECT": "SELECT", "WITH": "SELECT", "SHOW": "SELECT", "DESCRIBE": "SELECT", "DESC": "SELECT", "EXISTS": "SELECT", "INSERT": "INSERT", "": "SELECT"}[word]
	if deletes.MatchString(statement) {
		right = "ALTER DELETE"
	}
	if !a.Owner && (right == "" || !slices.Contains(a.Rights, right)) {
		refuse(w, http.StatusForbidden, accessDenied, fmt.Sprintf("%s: Not enough privileges to %s. (ACCESS_DENIED)", name, word))
		return
	}
	if word == "CREATE" || word == "ALTER" || word == "GRANT" {
		switch made, err := p.administer(statement); {
		case err != nil:
			refuse(w, http.StatusInternalServerError, 0, err.Error())
			return
		case made:
			w.Header().Set("X-ClickHouse-Query-Id", "proxy")
			return
		}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	for _, name := range []string{"Authorization", "X-ClickHouse-User", "X-ClickHouse-Key"} {
		r.Header.Del(name)
	}
	p.engine.ServeHTTP(w, r)
}

// account returns the account of a request, given by Basic authentication, ClickHouse's
// headers or its parameters.
func (p *proxy) account(r *http.Request) (string, account, bool) {
	name, password, ok := r.BasicAuth()
	if h := r.Header.Get("X-ClickHouse-User"); !ok && h != "" {
		name, password, ok = h, r.Header.Get("X-ClickHouse-Key"), true
	}
	if q := r.URL.Query(); !ok && q.Has("user") {
		name, password = q.Get("user"), q.Get("password")
	}
	if name == "" {
		name = "default"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a, known := p.accounts[name]
	return name, a, known && subtle.ConstantTimeCompare([]byte(digest(password, a.Salt)), []byte(a.Digest)) == 1
}

var (
	firstWords = regexp.MustCompile(`^(?:\s|\(|--[^\n]*\n|/\*(?s:.*?)\*/)*([A-Za-z]*)`)
	user       = regexp.MustCompile("^(CREATE USER IF NOT EXISTS|ALTER USER) `([^`]+)` IDENTIFIED WITH sha256_hash BY '([0-9a-f]{64})' SALT '([^']*)'")
	deletes    = regexp.MustCompile("^ALTER TABLE `[^`]+`\\.`weir_ledger` DELETE ")
	checkGrant = regexp.MustCompile("^CHECK GRANT ([A-Z, ]+) ON ")
	grant      = regexp.MustCompile("^GRANT ([A-Z, ]+) ON `[^`]+`\\.\\*((?:, ALTER DELETE ON `[^`]+`\\.`weir_ledger`)?) TO `([^`]+)`$")
)

func firstWord(statement string) string {
	return strings.ToUpper(firstWords.FindStringSubmatch(statement)[1])
}

// rights returns the rights in a list such as "SELECT, INSERT".
func rights(list string) []string {
	all := strings.Split(list, ",")
	for i, right := range all {
		all[i] = strings.TrimSpace(right)
	}
	return all
}

// administer runs a statement about accounts, and reports whether it is one.
func (p *proxy) administer(statement string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := user.FindStringSubmatch(statement); m != nil {
		a, there := p.accounts[m[2]]
		switch create := strings.HasPrefix(m[1], "CREATE"); {
		case a.Owner:
			return true, fmt.Errorf("user %s is the first account and stays", m[2])
		case !create && !there:
			return true, fmt.Errorf("there is no user %s", m[2])
		case !create || !there:
			a.Digest, a.Salt = m[3], m[4]
			p.accounts[m[2]] = a
		}
		return true, p.keep()
	}
	if m := grant.FindStringSubmatch(statement); m != nil {
		a, ok := p.accounts[m[3]]
		if !ok {
			return true, fmt.Errorf("there is no user %s", m[3])
		}
		list := rights(m[1])
		if m[2] != "" {
			list = append(list, "ALTER DELETE")
		}
		for _, right := range list {
			if !slices.Contains(a.Rights, right) {
				a.Rights = append(a.Rights, right)
			}
		}
		p.accounts[m[3]] = a
		return true, p.keep()
	}
	if strings.HasPrefix(statement, "CREATE USER") || strings.HasPrefix(statement, "ALTER USER") || strings.HasPrefix(statement, "GRANT") {
		return true, fmt.Errorf("this stand-in for ClickHouse does not understand: %.100s", statement)
	}
	return false, nil
}

// keep writes the accounts to the file.
func (p *proxy) keep() error {
	made := map[string]account{}
	for name, a := range p.accounts {
		if !a.Owner {
			made[name] = a
		}
	}
	text, err := json.Marshal(made)
	if err == nil {
		err = os.WriteFile(p.file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(p.file+".new", p.file)
	}
	return err
}

// refuse answers as ClickHouse does.
func refuse(w http.ResponseWriter, status, code int, why string) {
	w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(code))
	w.Header().Set("X-ClickHouse-Query-Id", "proxy")
	w.WriteHeader(status)
	fmt.Fprintf(w, "Code: %d. DB::Exception: %s", code, why)
}
