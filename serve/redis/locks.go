package redis

import (
	"bytes"
	"crypto/sha1" // names scripts, as in Redis; no security depends on it
	"encoding/hex"
	"strings"
)

var lockCommands = []command{
	{name: "delex", arity: 4, flags: flagWrite, keys: firstKey, family: "locks", about: "deletes a key if its value is this one: IFEQ",
		differ: "With IFEQ only.", run: delex},
	{name: "eval", arity: -3, flags: flagWrite, keys: noKeys, family: "locks", about: "runs one of the scripts that locks are released and extended with",
		differ: "There is no Lua: only the scripts below are known, by their text; blanks, quotes and case aside.", run: eval},
	{name: "evalsha", arity: -3, flags: flagWrite, keys: noKeys, family: "locks", about: "EVAL of a script that has been loaded", run: evalsha},
	{name: "script", arity: 3, flags: flagWrite, keys: noKeys, family: "locks", about: "LOAD", run: scriptLoad},
}

// holds reports whether a key is a string with this value.
func (c call) holds(k *keyspace, key, value []byte) (it *item, same, ok bool) {
	it, ok = k.typed(c, key, typeString)
	return it, it != nil && bytes.Equal(it.str, value), ok
}

func delex(c call, k *keyspace) {
	if !is(c.args[2], "IFEQ") {
		c.w.Error(errSyntax)
		return
	}
	it, same, ok := c.holds(k, c.args[1], c.args[3])
	if !ok {
		return
	}
	if same {
		k.drop(it)
	}
	c.w.Int(int64(btoi(same)))
}

// A script is one of the Lua scripts that the server knows by their text.
type script uint8

const (
	unknownScript script = iota
	compareAndDelete
	compareAndExtend
	redispyReacquire
)

// scripts has the scripts with which clients release and extend locks, by their
// text without blanks, with one kind of quotes, in lower case.
var scripts = map[string]script{}

// scriptTexts are the scripts that EVAL knows, as the document prints them.
var scriptTexts = []struct {
	text   string
	script script
	about  string
}{
	{`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`, compareAndDelete,
		"releases a lock (Redis's documentation of SET)"},
	{`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end`, compareAndExtend,
		"extends a lock"},
	{"local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end redis.call('del', KEYS[1]) return 1", compareAndDelete,
		"releases a lock (redis-py's Lock)"},
	{"local token = redis.call('get', KEYS[1]) if not token or token ~= ARGV[1] then return 0 end redis.call('pexpire', KEYS[1], ARGV[2]) return 1", redispyReacquire,
		"extends a lock to its full time (redis-py's Lock.reacquire)"},
}

func init() {
	for _, s := range scriptTexts {
		scripts[plainScript(s.text)] = s.script
	}
}

// scriptMost is the length of the longest text that EVAL compares with the scripts: each
// of them is shorter.
const scriptMost = 4 << 10

// scriptOf finds a script by its text; if there is none, it sends the error.
func (c call) scriptOf(text []byte) (s script, ok bool) {
	if len(text) <= scriptMost {
		s = scripts[plainScript(string(text))]
	}
	if s == unknownScript {
		c.w.Error(noScript)
	}
	return s, s != unknownScript
}

func plainScript(text string) string {
	text = strings.Join(strings.Fields(text), "")
	return strings.ToLower(strings.NewReplacer(`'`, `"`, ";", "").Replace(text))
}

const noScript = "ERR there is no Lua here: only the scripts that release and extend a lock are known, see docs/commands-redis.md; or use DELEX key IFEQ token"

func eval(c call, k *keyspace) {
	if s, ok := c.scriptOf(c.args[1]); ok {
		k.server.remember(c.args[1], s)
		c.runScript(k, s)
	}
}

func evalsha(c call, k *keyspace) {
	if s, ok := k.server.scripts[strings.ToLower(string(c.args[1]))]; ok {
		c.runScript(k, s)
	} else {
		c.w.Error("NOSCRIPT No matching script. Please use EVAL.")
	}
}

func digest(text []byte) string {
	sum := sha1.Sum(text)
	return hex.EncodeToString(sum[:])
}

// scriptsMost bounds how many spellings of the scripts are remembered.
const scriptsMost = 1024

// remember adds a spelling of a script.
func (s *Server) remember(text []byte, is script) {
	if len(s.scripts) >= scriptsMost {
		clear(s.scripts)
	}
	s.scripts[digest(text)] = is
}

func scriptLoad(c call, k *keyspace) {
	if !is(c.args[1], "LOAD") {
		c.badSubcommand()
		return
	}
	if s, ok := c.scriptOf(c.args[2]); ok {
		k.server.remember(c.args[2], s)
		c.w.BulkString(digest(c.args[2]))
	}
}

// runScript does what the script would do. Every script takes one key.
func (c call) runScript(k *keyspace, s script) {
	args := c.args[3:]
	need := 2
	if s != compareAndDelete {
		need = 3
	}
	if string(c.args[2]) != "1" || len(args) < need {
		c.w.Error("ERR this script takes one key and then " + [...]string{2: "a token", 3: "a token and milliseconds"}[need])
		return
	}
	if k.isWindow(args[0]) {
		c.w.Error(errReadOnlyWindow)
		return
	}
	it, same, ok := c.holds(k, args[0], args[1])
	if !ok {
		return
	}
	if !same {
		c.w.Int(0)
		return
	}
	if s == compareAndDelete {
		k.drop(it)
		c.w.Int(1)
		return
	}
	n, ok := c.integer(args[2])
	if !ok {
		return
	}
	switch at, ok := addTime(k.now, n); {
	case !ok:
		c.w.Error("ERR invalid expire time in 'pexpire' command")
		return
	case at <= k.now:
		k.drop(it)
	default:
		k.expire(it, at)
	}
	c.w.Int(1)
}

func addTime(now, n int64) (int64, bool) {
	at := now + n
	return at, n < 0 || at >= now
}
