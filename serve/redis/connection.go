package redis

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

var connectionCommands = []command{
	{name: "ping", arity: -1, family: "connection", about: "PONG, or the argument", run: ping},
	{name: "echo", arity: 2, family: "connection", about: "the argument", run: func(c call, _ *keyspace) { c.w.Bulk(c.args[1]) }},
	{name: "select", arity: 2, family: "connection", about: "chooses database 0", differ: "There is only that one.", run: selectDB},
	{name: "quit", arity: -1, flags: flagNoAuth | flagNoQueue, family: "connection", about: "ends the connection", run: func(c call, _ *keyspace) {
		c.w.Status("OK")
		c.client.closing = true
	}},
	{name: "auth", arity: -2, flags: flagNoAuth, family: "connection", about: "[user] password", differ: "The only user is default.", run: auth},
	{name: "hello", arity: -1, flags: flagNoAuth, family: "connection", about: "chooses RESP2 or RESP3; AUTH, SETNAME", run: hello},
	{name: "client", arity: -2, family: "connection", about: "ID GETNAME SETNAME SETINFO", differ: "SETINFO is accepted and forgotten.", run: clientCommand},
}

func ping(c call, _ *keyspace) {
	switch {
	case len(c.args) > 2:
		c.w.Error(arityError(c.cmd.name))
	case len(c.args) == 2:
		c.w.Bulk(c.args[1])
	default:
		c.w.Status("PONG")
	}
}

func selectDB(c call, _ *keyspace) {
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

func auth(c call, _ *keyspace) {
	user, password := []byte("default"), c.args[1]
	switch len(c.args) {
	case 2:
		if c.client.server.config.Password == "" {
			c.w.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
			return
		}
	case 3:
		user, password = c.args[1], c.args[2]
	default:
		c.w.Error(errSyntax)
		return
	}
	if !c.client.login(user, password) {
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

func hello(c call, _ *keyspace) {
	cl := c.client
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
	name := cl.name
	for len(rest) > 0 {
		switch {
		case is(rest[0], "AUTH") && len(rest) >= 3:
			if !cl.login(rest[1], rest[2]) {
				c.w.Error(errPassword)
				return
			}
			rest = rest[3:]
		case is(rest[0], "SETNAME") && len(rest) >= 2:
			if name = string(rest[1]); !printable(name) {
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
	cl.name, cl.protocol = name, int(version)
	c.w.SetVersion(cl.protocol)
	c.w.Map(7)
	for _, field := range [][2]string{{"server", "redis"}, {"version", redisVersion}, {"proto"}, {"id"}, {"mode", "standalone"}, {"role", "master"}} {
		c.w.BulkString(field[0])
		switch field[0] {
		case "proto":
			c.w.Int(version)
		case "id":
			c.w.Int(cl.id)
		default:
			c.w.BulkString(field[1])
		}
	}
	c.w.BulkString("modules")
	c.w.Array(0)
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
	c.w.Error("ERR unknown subcommand or wrong number of arguments for '" + string(c.args[1]) + "'")
}

func clientCommand(c call, _ *keyspace) {
	n := len(c.args)
	switch sub := c.args[1]; {
	case is(sub, "ID") && n == 2:
		c.w.Int(c.client.id)
	case is(sub, "GETNAME") && n == 2 && c.client.name == "":
		c.w.Null()
	case is(sub, "GETNAME") && n == 2:
		c.w.BulkString(c.client.name)
	case is(sub, "SETNAME") && n == 3:
		name := string(c.args[2])
		if !printable(name) {
			c.w.Error(errName)
			return
		}
		c.client.name = name
		c.w.Status("OK")
	case is(sub, "SETINFO") && n == 4: // the name and the version of a client library
		c.w.Status("OK")
	default:
		c.badSubcommand()
	}
}
