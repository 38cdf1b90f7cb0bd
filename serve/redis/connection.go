package redis

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strconv"
	"strings"
	"time"
)

var connectionCommands = []command{
	{name: "ping", arity: -1, since: "1.0.0", family: "connection", about: "PONG, or the argument", run: onNothing(ping)},
	{name: "echo", arity: 2, since: "1.0.0", family: "connection", about: "the argument", run: onNothing(func(c call) { c.w.Bulk(c.args[1]) })},
	{name: "select", arity: 2, since: "1.0.0", family: "connection", about: "chooses database 0", differ: "There is only that one.", run: onNothing(selectDB)},
	{name: "quit", arity: -1, flags: flagNoAuth | flagNoQueue, since: "1.0.0", family: "connection", about: "ends the connection", run: onClient(func(c call, cl *client) {
		c.w.Status("OK")
		cl.closing = true
	})},
	{name: "auth", arity: -2, flags: flagNoAuth, since: "1.0.0", family: "connection", about: "[user] password", differ: "The only user is default.", run: onClient(auth)},
	{name: "hello", arity: -1, each: 400 * nanosecond, flags: flagNoAuth, since: "6.0.0", family: "connection", about: "chooses RESP2 or RESP3; AUTH, SETNAME", run: onClient(hello)},
	{name: "reset", arity: 1, flags: flagNoAuth | flagNoQueue, since: "6.2.0", family: "connection", about: "makes the connection as if new", run: onClient(reset)},
	{name: "client", arity: -2, subs: map[string]int{"id": 2, "getname": 2, "setname": 3, "setinfo": 4, "list": -2, "info": 2, "no-evict": 3, "no-touch": 3}, help: []string{"ID", "GETNAME", "SETNAME <name>", "SETINFO (LIB-NAME|LIB-VER) <text>", "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] [ID <id>...]", "INFO", "NO-EVICT (ON|OFF)", "NO-TOUCH (ON|OFF)"}, since: "2.4.0", family: "connection", about: "ID SETNAME GETNAME SETINFO LIST INFO NO-EVICT NO-TOUCH", differ: "LIST and INFO are without laddr, fd and cmd; idle times and memory are 0.", run: onClient(clientCommand)},
}

func ping(c call) {
	switch {
	case len(c.args) > 2:
		c.w.Error(arityError(c.cmd.name))
	case len(c.args) == 2:
		c.w.Bulk(c.args[1])
	default:
		c.w.Status("PONG")
	}
}

func selectDB(c call) {
	n, ok := c.integer(c.args[1])
	switch {
	case !ok:
	case n != 0:
		c.w.Error("ERR DB index is out of range")
	default:
		c.w.Status("OK")
	}
}

// allowed reports whether user and password are right. The time that it takes does not
// depend on how much of the password is right.
func (c *client) allowed(user, password []byte) bool {
	want, got := sha256.Sum256([]byte(c.server.config.Password)), sha256.Sum256(password)
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && string(user) == "default"
}

const errPassword = "WRONGPASS invalid username-password pair or user is disabled."

func auth(c call, cl *client) {
	user, password := []byte("default"), c.args[1]
	switch len(c.args) {
	case 2:
		if cl.server.config.Password == "" {
			c.w.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
			return
		}
	case 3:
		user, password = c.args[1], c.args[2]
	default:
		c.w.Error(errSyntax)
		return
	}
	if !cl.login(user, password) {
		c.w.Error(errPassword)
		return
	}
	c.w.Status("OK")
}

func (c *client) login(user, password []byte) bool {
	if c.server.config.Password == "" {
		return string(user) == "default" // any password will do, as in Redis
	}
	if !c.allowed(user, password) {
		c.guessed()
		return false
	}
	c.authed = true
	delete(c.server.unauthenticated, c)
	c.r.SetLimits(c.server.limits())
	return true
}

func hello(c call, cl *client) {
	version := int64(cl.protocol)
	rest := c.args[1:]
	if len(rest) > 0 {
		n, ok := parseInt(rest[0])
		if !ok {
			c.w.Error("ERR Protocol version is not an integer or out of range")
			return
		}
		if n < 2 || n > 3 {
			c.w.Error("NOPROTO unsupported protocol version")
			return
		}
		version, rest = n, rest[1:]
	}
	name, named := "", false
	for len(rest) > 0 {
		switch {
		case is(rest[0], "AUTH") && len(rest) >= 3:
			if !cl.login(rest[1], rest[2]) {
				c.w.Error(errPassword)
				return
			}
			rest = rest[3:]
		case is(rest[0], "SETNAME") && len(rest) >= 2:
			if name, named = string(rest[1]), true; !printable(name) {
				c.w.Error(errName)
				return
			}
			rest = rest[2:]
		default:
			c.w.Error("ERR Syntax error in HELLO option '" + string(rest[0]) + "'")
			return
		}
	}
	if !cl.authed {
		c.w.Error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	if named {
		cl.name = name
	}
	cl.protocol = int(version)
	c.w.SetVersion(cl.protocol)
	c.w.Map(7)
	c.w.BulkString("server")
	c.w.BulkString("redis")
	c.w.BulkString("version")
	c.w.BulkString(redisVersion)
	c.w.BulkString("proto")
	c.w.Int(version)
	c.w.BulkString("id")
	c.w.Int(cl.id)
	c.w.BulkString("mode")
	c.w.BulkString("standalone")
	c.w.BulkString("role")
	c.w.BulkString("master")
	c.w.BulkString("modules")
	c.w.Array(0)
}

func reset(c call, cl *client) {
	cl.transaction.end(&cl.keys)
	cl.name = ""
	cl.protocol = 2
	c.w.SetVersion(2)
	if cl.server.config.Password != "" {
		if displaced := cl.server.awaitAuth(cl); displaced != nil {
			go displaced.evict() // evict takes the lock, which is held here
		}
	}
	c.w.Status("RESET")
}

const errName = "ERR Client names cannot contain spaces, newlines or special characters."

// nameMost bounds the length of the names that a client gives itself, because the
// server keeps them.
const nameMost = 256

func printable(s string) bool {
	return len(s) <= nameMost && !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
}

// badSubcommand sends the error for a subcommand that does not exist or has the
// wrong number of arguments.
func (c call) badSubcommand() {
	c.w.Error("ERR unknown subcommand or wrong number of arguments for '" + string(c.args[1]) + "'. Try " + strings.ToUpper(c.cmd.name) + " HELP.")
}

func clientCommand(c call, cl *client) {
	n := len(c.args)
	switch sub := c.args[1]; {
	case is(sub, "ID") && n == 2:
		c.w.Int(cl.id)
	case is(sub, "GETNAME") && n == 2:
		if cl.name == "" {
			c.w.Null()
		} else {
			c.w.BulkString(cl.name)
		}
	case is(sub, "SETNAME") && n == 3:
		if !printable(string(c.args[2])) {
			c.w.Error(errName)
			return
		}
		cl.name = string(c.args[2])
		c.w.Status("OK")
	case is(sub, "SETINFO") && n == 4:
		c.setInfo(cl, c.args[2], string(c.args[3]))
	case is(sub, "LIST"):
		c.clientList(cl.server)
	case is(sub, "INFO") && n == 2:
		if !c.afford(1, perClient) {
			return
		}
		var b strings.Builder
		cl.describe(&b, cl.server.config.Now())
		c.w.Text(b.String())
	case (is(sub, "NO-EVICT") || is(sub, "NO-TOUCH")) && n == 3:
		if !is(c.args[2], "ON") && !is(c.args[2], "OFF") {
			c.w.Error(errSyntax)
			return
		}
		c.w.Status("OK")
	default:
		c.badSubcommand()
	}
}

// clientList sends the lines of all clients, of those of a TYPE, or of those with an ID.
func (c call) clientList(s *Server) {
	if !c.afford(len(s.clients), perClient) {
		return
	}
	list := make([]*client, 0, len(s.clients))
	for other := range s.clients {
		list = append(list, other)
	}
	slices.SortFunc(list, func(a, b *client) int { return int(a.id - b.id) })
	switch n := len(c.args); {
	case n == 2:
	case n == 4 && is(c.args[2], "TYPE"):
		switch kind := c.args[3]; {
		case is(kind, "NORMAL"):
		case is(kind, "MASTER"), is(kind, "REPLICA"), is(kind, "SLAVE"), is(kind, "PUBSUB"):
			list = nil // there are none of these
		default:
			c.w.Error("ERR Unknown client type '" + string(kind) + "'")
			return
		}
	case n > 3 && is(c.args[2], "ID"):
		var ok bool
		if list, ok = c.withIDs(list, c.args[3:]); !ok {
			return
		}
	default:
		c.w.Error(errSyntax)
		return
	}
	names := 0
	for _, other := range list {
		names += len(other.name) + len(other.library) + len(other.version)
	}
	if !c.afford(names, 2*perByte) { // into the text, and from there into the reply
		return
	}
	var b strings.Builder
	b.Grow(lineLength*len(list) + names)
	now := s.config.Now()
	for _, other := range list {
		other.describe(&b, now)
	}
	c.w.Text(b.String())
}

// withIDs returns the clients with these ids, in their order; list is in the order of its ids.
func (c call) withIDs(list []*client, ids [][]byte) (named []*client, ok bool) {
	if !c.afford(len(ids), perClient) {
		return nil, false
	}
	for _, arg := range ids {
		id, ok := parseInt(arg)
		if !ok {
			c.w.Error("ERR Invalid client ID")
			return nil, false
		}
		if i, ok := slices.BinarySearchFunc(list, id, func(cl *client, id int64) int { return cmp.Compare(cl.id, id) }); ok {
			named = append(named, list[i])
		}
	}
	return named, true
}

func (c call) help(lines ...string) {
	c.w.Array(len(lines) + 1)
	c.w.Status(strings.ToUpper(c.cmd.name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, l := range lines {
		c.w.Status(l)
	}
}

func (c call) setInfo(cl *client, name []byte, value string) {
	if !printable(value) {
		c.w.Error("ERR " + strings.ToLower(string(name)) + " cannot contain spaces, newlines or special characters.")
		return
	}
	switch {
	case is(name, "LIB-NAME"):
		cl.library = value
	case is(name, "LIB-VER"):
		cl.version = value
	default:
		c.w.Error("ERR Unrecognized option '" + string(name) + "'")
		return
	}
	c.w.Status("OK")
}

// lineLength is about how long the client's line of CLIENT LIST is, without names.
const lineLength = 320

// describe writes the client's line of CLIENT LIST. It has the fields that clients read as numbers,
// redis-py among them, also where there is nothing to say.
func (c *client) describe(b *strings.Builder, now time.Time) {
	queued, flags := "-1", "N"
	if c.transaction.open {
		queued, flags = strconv.Itoa(len(c.transaction.queue)), "x"
	}
	for _, s := range [...]string{
		"id=", strconv.FormatInt(c.id, 10), " addr=", c.addr, " name=", c.name, " age=", strconv.Itoa(int(now.Sub(c.since).Seconds())),
		" idle=0 flags=", flags, " db=0 sub=0 psub=0 ssub=0 multi=", queued, " watch=", strconv.Itoa(len(c.transaction.watching)),
		" qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r user=default redir=-1 resp=", strconv.Itoa(c.protocol),
		" lib-name=", c.library, " lib-ver=", c.version, "\n",
	} {
		b.WriteString(s)
	}
}
