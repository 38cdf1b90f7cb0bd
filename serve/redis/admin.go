package redis

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// redisVersion is the version of Redis whose replies these are.
const redisVersion = "7.2.0"

var adminCommands = []command{
	{name: "command", each: 1000 * nanosecond, arity: -1, subs: map[string]int{"count": 2, "docs": -2, "info": -2, "list": -2}, help: []string{"COUNT", "DOCS [<name>...]", "INFO [<name>...]", "LIST [FILTERBY (MODULE|ACLCAT|PATTERN) <value>]"}, since: "2.8.13", family: "server", about: "the table: COUNT DOCS INFO LIST", differ: "Less is said of each: no command is in an ACL category, and LIST is without subcommands.", run: onNothing(commandCommand)},
	{name: "config", each: 1000 * nanosecond, arity: -2, subs: map[string]int{"get": -3, "set": -4, "resetstat": 2}, help: []string{"GET <pattern> [<pattern>...]", "SET <name> <value> [<name> <value>...]", "RESETSTAT"}, since: "2.0.0", family: "server", about: "GET, SET of what exists; RESETSTAT", differ: "Only the parameters that mean something here.", run: onServer(configCommand)},
	{name: "info", each: 1000 * nanosecond, arity: -1, since: "1.0.0", family: "server", about: "the state of the server", differ: "Fewer fields.", run: onServer(info)},
	{name: "memory", arity: -2, subs: map[string]int{"usage": -3}, keys: keySpec{2, 2, 1}, help: []string{"USAGE <key> [SAMPLES <count>]"}, since: "4.0.0", family: "server", about: "USAGE of a key, by reckoning", run: onKeys(memoryCommand)},
	{name: "object", arity: -2, subs: map[string]int{"encoding": 3, "refcount": 3, "idletime": 3, "freq": 3}, keys: keySpec{2, 2, 1}, help: []string{"ENCODING <key>", "FREQ <key>", "IDLETIME <key>", "REFCOUNT <key>"}, since: "2.2.3", family: "generic", about: "ENCODING REFCOUNT IDLETIME FREQ", differ: "Reference counts are 1 and idle times 0. The encoding is that of a new key with such a value, also after APPEND or SREM.", run: onKeys(objectCommand)},
	{name: "debug", arity: -2, help: []string{"SET-ACTIVE-EXPIRE (0|1)", "PROTOCOL <type>"}, since: "1.0.0", family: "server", about: "SET-ACTIVE-EXPIRE, PROTOCOL", differ: "The harmless parts only.", run: onServer(debug)},
	{name: "function", arity: -2, subs: map[string]int{"flush": -2, "list": -2}, flags: flagWrite, help: []string{"FLUSH [ASYNC|SYNC]", "LIST [LIBRARYNAME <pattern>] [WITHCODE]"}, since: "7.0.0", family: "server", about: "FLUSH, LIST", differ: "There are no functions.", run: onNothing(functionCommand)},
	{name: "time", arity: 1, since: "2.6.0", family: "server", about: "the clock, in seconds and microseconds", run: onKeys(func(c call, k *keyspace) {
		c.w.Array(2)
		c.w.BulkString(strconv.FormatInt(k.nano/1e9, 10))
		c.w.BulkString(strconv.FormatInt(k.nano%1e9/1e3, 10))
	})},
}

func commandCommand(c call) {
	n := len(c.args)
	switch {
	case n == 1 || is(c.args[1], "INFO"):
		var names []string
		for _, a := range c.args[min(2, n):] {
			names = append(names, strings.ToLower(string(a)))
		}
		if n <= 2 {
			if !c.afford(len(table), c.cmd.each) {
				return
			}
			names = commandNames()
		}
		c.w.Array(len(names))
		for _, name := range names {
			c.commandInfo(table[name])
		}
	case is(c.args[1], "COUNT") && n == 2:
		c.w.Int(int64(len(table)))
	case is(c.args[1], "LIST"):
		c.commandList()
	case is(c.args[1], "DOCS"):
		var list []*command
		if n == 2 {
			if !c.afford(len(table), c.cmd.each) {
				return
			}
			for _, name := range commandNames() {
				list = append(list, table[name])
			}
		}
		for _, a := range c.args[2:] {
			if cmd := lookup(a); cmd != nil {
				list = append(list, cmd)
			}
		}
		size := 0
		for _, cmd := range list {
			size += len(cmd.name) + len(cmd.about) + len(cmd.since) + len(cmd.family) + 100
		}
		c.w.Grow(size)
		c.w.Map(len(list))
		for _, cmd := range list {
			c.w.BulkString(cmd.name)
			c.w.Map(3)
			c.w.BulkString("summary")
			c.w.BulkString(cmd.about)
			c.w.BulkString("since")
			c.w.BulkString(cmd.since)
			c.w.BulkString("group")
			c.w.BulkString(cmd.family)
		}
	default:
		c.badSubcommand()
	}
}

func (c call) commandList() {
	pattern := "*"
	if by := c.args[2:]; len(by) > 0 {
		switch {
		case len(by) != 3 || !is(by[0], "FILTERBY"):
			c.w.Error(errSyntax)
			return
		case is(by[1], "MODULE"), is(by[1], "ACLCAT"): // no command is in one, as COMMAND INFO says
			c.w.Array(0)
			return
		case is(by[1], "PATTERN"):
			text, ok := c.pattern(by[2])
			if !ok {
				return
			}
			pattern = strings.ToLower(text)
		default:
			c.w.Error(errSyntax)
			return
		}
	}
	if c.afford(len(table), c.cmd.each+perMatch*patternMost) {
		c.strings(slices.DeleteFunc(commandNames(), func(name string) bool { return !match(pattern, name) }))
	}
}

func (c call) commandInfo(cmd *command) {
	if cmd == nil {
		c.w.Null()
		return
	}
	var names []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"write", cmd.flags&flagWrite != 0},
		{"readonly", cmd.flags&flagWrite == 0 && cmd.keys.first > 0},
		{"denyoom", cmd.flags&flagGrow != 0},
		{"no_auth", cmd.flags&flagNoAuth != 0},
		{"movablekeys", cmd.keys == countedKeys},
	} {
		if f.set {
			names = append(names, f.name)
		}
	}
	c.w.Array(10)
	c.w.BulkString(cmd.name)
	c.w.Int(int64(cmd.arity))
	c.w.Set(len(names))
	for _, name := range names {
		c.w.Status(name)
	}
	keys := cmd.keys
	if keys == countedKeys {
		keys = noKeys // clients find them by COMMAND GETKEYS or know them
	}
	c.w.Int(int64(keys.first))
	c.w.Int(int64(keys.last))
	c.w.Int(int64(keys.step))
	c.w.Set(0) // ACL categories
	c.w.Array(0)
	c.w.Array(0)
	c.w.Array(0)
}

// A parameter is what CONFIG GET and CONFIG SET know by a name.
type parameter struct {
	name  string
	get   func(*Server) string
	set   func(*Server, int64) // nil: fixed
	least int64                // the least value it may be set to
	most  func(*Server) int64  // the greatest one
}

// sparseMost is the largest hll-sparse-max-bytes: the longer a sparse sketch may
// get, the longer adding to it takes. Redis's documentation advises 16,000.
const sparseMost = 16_000

func fixed(text string) func(*Server) string { return func(*Server) string { return text } }

// leastMemory is the least maxmemory: in Redis 0 is no limit at all, and no client may lift
// the operator's.
const leastMemory = 1

var parameters = []parameter{
	{"appendonly", fixed("no"), nil, 0, nil},
	{"databases", fixed("1"), nil, 0, nil},
	{"hll-sparse-max-bytes", func(s *Server) string { return strconv.Itoa(s.settings.sparseMax) }, func(s *Server, n int64) { s.settings.sparseMax = int(n) }, 0, func(*Server) int64 { return sparseMost }},
	{"maxclients", func(s *Server) string { return strconv.Itoa(s.config.Clients) }, nil, 0, nil},
	{"maxmemory", func(s *Server) string { return strconv.Itoa(s.settings.memory) }, func(s *Server, n int64) { s.settings.memory = int(n) }, leastMemory, func(s *Server) int64 { return int64(s.config.Memory) }},
	{"maxmemory-clients", func(s *Server) string { return strconv.Itoa(s.config.Buffers) }, nil, 0, nil},
	{"maxmemory-policy", fixed("noeviction"), nil, 0, nil},
	{"proto-max-bulk-len", func(s *Server) string { return strconv.Itoa(s.settings.bulk) }, nil, 0, nil},
	{"save", fixed(""), nil, 0, nil},
	{"timeout", func(s *Server) string { return strconv.Itoa(int(s.config.Idle.Seconds())) }, nil, 0, nil},
}

func configCommand(c call, s *Server) {
	n := len(c.args)
	switch {
	case is(c.args[1], "GET") && n >= 3:
		var patterns []string
		for _, a := range c.args[2:] {
			pattern, ok := c.pattern(a)
			if !ok {
				return
			}
			patterns = append(patterns, strings.ToLower(pattern))
		}
		if !c.afford(len(patterns)*len(parameters), perMatch*patternMost) {
			return
		}
		var found []parameter
		for _, p := range parameters {
			for _, pattern := range patterns {
				if match(pattern, p.name) {
					found = append(found, p)
					break
				}
			}
		}
		c.w.Map(len(found))
		for _, p := range found {
			c.w.BulkString(p.name)
			c.w.BulkString(p.get(s))
		}
	case s.settings.readOnly && (is(c.args[1], "SET") || is(c.args[1], "RESETSTAT")):
		c.w.Error(errReadOnly)
	case is(c.args[1], "SET") && n%2 != 0:
		c.w.Error(errSyntax)
	case is(c.args[1], "SET"):
		c.configSet(s, c.args[2:])
	case is(c.args[1], "RESETSTAT") && n == 2:
		s.calls, s.store.expired = 0, 0
		c.w.Status("OK")
	default:
		c.badSubcommand()
	}
}

// configSet sets all of the parameters or none.
func (c call) configSet(s *Server, args [][]byte) {
	for _, do := range []bool{false, true} {
		for i := 0; i < len(args); i += 2 {
			p, ok := settable(args[i])
			if !ok {
				c.w.Error("ERR Unknown option or number of arguments for CONFIG SET - '" + string(args[i]) + "'")
				return
			}
			for j := range i / 2 {
				if bytes.EqualFold(args[2*j], args[i]) {
					c.w.Error("ERR CONFIG SET failed (possibly related to argument '" + string(args[i]) + "') - duplicate parameter")
					return
				}
			}
			n, ok := parseSize(args[i+1])
			if !ok {
				c.w.Error("ERR CONFIG SET failed (possibly related to argument '" + p.name + "') - argument must be a memory value")
				return
			}
			if most := p.most(s); n < p.least || n > most {
				c.w.Error("ERR CONFIG SET failed (possibly related to argument '" + p.name + "') - argument must be between " + strconv.FormatInt(p.least, 10) + " and " + strconv.FormatInt(most, 10) + " inclusive; the bound was set when the server was started")
				return
			}
			if do {
				p.set(s, n)
			}
		}
	}
	c.w.Status("OK")
}

// parseSize reads a size as Redis does: a number, and a unit in any case.
func parseSize(b []byte) (n int64, ok bool) {
	digits := bytes.TrimRight(b, "bBkKmMgG")
	unit, ok := sizeUnits[strings.ToLower(string(b[len(digits):]))]
	if !ok || len(digits) == 0 || digits[0] < '0' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return n * unit, err == nil && n <= math.MaxInt64/unit
}

var sizeUnits = map[string]int64{"": 1, "b": 1, "k": 1e3, "kb": 1 << 10, "m": 1e6, "mb": 1 << 20, "g": 1e9, "gb": 1 << 30}

func settable(name []byte) (parameter, bool) {
	for _, p := range parameters {
		if p.set != nil && is(name, strings.ToUpper(p.name)) {
			return p, true
		}
	}
	return parameter{}, false
}

func info(c call, s *Server) {
	if !c.afford(1, perStats) {
		return
	}
	var m runtime.MemStats
	sections := []struct {
		name string
		text func() string
	}{
		{"Server", func() string {
			return fmt.Sprintf("redis_version:%s\r\nredis_mode:standalone\r\nserver_name:weir\r\ngo_version:%s\r\nuptime_in_seconds:%d\r\n",
				redisVersion, runtime.Version(), int(s.config.Now().Sub(s.started).Seconds()))
		}},
		{"Clients", func() string {
			return fmt.Sprintf("connected_clients:%d\r\nmaxclients:%d\r\nblocked_clients:0\r\n", len(s.clients), s.config.Clients)
		}},
		{"Memory", func() string {
			runtime.ReadMemStats(&m)
			return fmt.Sprintf("used_memory:%d\r\nused_memory_dataset:%d\r\nmaxmemory:%d\r\nmaxmemory_policy:noeviction\r\n", m.HeapAlloc, s.store.used, s.settings.memory)
		}},
		{"Persistence", func() string {
			return fmt.Sprintf("loading:0\r\nrdb_changes_since_last_save:%d\r\nrdb_bgsave_in_progress:0\r\naof_enabled:0\r\naof_rewrite_in_progress:0\r\n", s.store.dirty)
		}},
		{"Stats", func() string {
			return fmt.Sprintf("total_connections_received:%d\r\ntotal_commands_processed:%d\r\nrejected_connections:%d\r\nexpired_keys:%d\r\nevicted_clients:%d\r\nacl_access_denied_auth:%d\r\n",
				s.accepted, s.calls, s.refused, s.store.expired, s.buffers.count(), s.wrong)
		}},
		{"Replication", func() string { return "role:master\r\nconnected_slaves:0\r\n" }},
		{"Keyspace", func() string {
			if s.store.index.count == 0 {
				return ""
			}
			return fmt.Sprintf("db0:keys=%d,expires=%d,avg_ttl=0\r\n", s.store.index.count, len(s.store.volatile))
		}},
	}
	var b strings.Builder
	for _, section := range sections {
		wanted := len(c.args) == 1
		for _, a := range c.args[1:] {
			wanted = wanted || is(a, strings.ToUpper(section.name)) || is(a, "ALL") || is(a, "DEFAULT") || is(a, "EVERYTHING")
		}
		if !wanted {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "# %s\r\n%s", section.name, section.text())
	}
	c.w.Text(b.String())
}

func memoryCommand(c call, k *keyspace) {
	for rest := c.args[3:]; len(rest) > 0; rest = rest[2:] {
		if len(rest) < 2 || !is(rest[0], "SAMPLES") {
			c.w.Error(errSyntax)
			return
		}
		switch samples, ok := c.integer(rest[1]); {
		case !ok:
			return
		case samples < 0:
			c.w.Error(errSyntax)
			return
		}
	}
	it := k.read(c.args[2])
	if it == nil {
		c.w.Null()
		return
	}
	c.w.Int(int64(it.memory()))
}

// errFreq is the reply to OBJECT FREQ of a server that does not count how often keys are used.
const errFreq = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."

func objectCommand(c call, k *keyspace) {
	it := k.read(c.args[2])
	switch {
	case it == nil:
		c.w.Null()
	case is(c.args[1], "FREQ"):
		c.w.Error(errFreq)
	case is(c.args[1], "REFCOUNT"):
		c.w.Int(1)
	case is(c.args[1], "IDLETIME"):
		c.w.Int(0)
	case c.afford(it.looked(), perElement):
		c.w.BulkString(it.encoding())
	}
}

// looked returns at most how many members encoding looks at.
func (it *item) looked() int {
	switch {
	case it.zset() != nil:
		return min(it.zset().Len(), listMost)
	case it.set() != nil:
		return min(it.set().n, intsMost)
	}
	return 0
}

// The bounds of Redis for the encodings of small values: the length of a set of integers,
// the length of other sets, and that of their members.
const intsMost, listMost, lengthMost = 512, 128, 64

// encoding returns the name of the encoding that Redis would have for such a value.
// The server has other ones.
func (it *item) encoding() string {
	switch it.kind {
	case kindZset:
		if it.zset().Len() > listMost {
			return "skiplist"
		}
		for member := range it.zset().Slice(0, it.zset().Len()) {
			if len(member) > lengthMost {
				return "skiplist"
			}
		}
		return "listpack"
	case kindSet:
		if it.set() == nil { // of a window key
			return "hashtable"
		}
		return it.set().encoding()
	case kindBloom, kindTopK, kindDigest:
		return "raw"
	case kindList:
		return "quicklist"
	}
	if len(it.str) <= 20 {
		if _, ok := parseInt(it.str); ok {
			return "int"
		}
	}
	if len(it.str) <= 44 && it.str != nil {
		return "embstr"
	}
	return "raw"
}

// encoding returns the name of the encoding in which Redis 7.2 would make such a set.
func (s *hashset) encoding() string {
	if s.n > intsMost {
		return "hashtable"
	}
	ints, list := true, s.n <= listMost
	for member := range s.all {
		_, ok := parseInt(member)
		ints, list = ints && ok, list && len(member) <= lengthMost
	}
	switch {
	case ints:
		return "intset"
	case list:
		return "listpack"
	}
	return "hashtable"
}

func debug(c call, s *Server) {
	n := len(c.args)
	switch {
	case is(c.args[1], "SET-ACTIVE-EXPIRE") && s.settings.readOnly:
		c.w.Error(errReadOnly)
	case is(c.args[1], "SET-ACTIVE-EXPIRE") && n == 3:
		s.sweepOff = string(c.args[2]) == "0"
		c.w.Status("OK")
	case is(c.args[1], "PROTOCOL") && n == 3:
		c.debugProtocol(strings.ToLower(string(c.args[2])))
	default:
		c.badSubcommand()
	}
}

// debugProtocol sends a reply of the type asked for: tests of clients need that.
func (c call) debugProtocol(kind string) {
	switch kind {
	case "string":
		c.w.BulkString("Hello World")
	case "integer":
		c.w.Int(12345)
	case "double":
		c.w.Double(3.141)
	case "null":
		c.w.Null()
	case "array":
		c.w.Array(3)
		for i := range int64(3) {
			c.w.Int(i)
		}
	case "set":
		c.w.Set(3)
		for i := range int64(3) {
			c.w.Int(i)
		}
	case "map":
		c.w.Map(3)
		for i := range int64(3) {
			c.w.Int(i)
			c.w.Bool(i == 1)
		}
	case "verbatim":
		c.w.Text("This is a verbatim\nstring")
	case "true":
		c.w.Bool(true)
	case "false":
		c.w.Bool(false)
	default:
		c.w.Error("ERR Wrong protocol type name. Please use one of the following: string|integer|double|null|array|set|map|verbatim|true|false")
	}
}

func functionCommand(c call) {
	switch {
	case is(c.args[1], "FLUSH") && len(c.args) == 3 && !flushOption(c.args[2:]):
		c.w.Error("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	case is(c.args[1], "FLUSH") && len(c.args) <= 3:
		c.w.Status("OK")
	case is(c.args[1], "LIST"):
		c.functionList(c.args[2:])
	default:
		c.badSubcommand()
	}
}

// functionList reads the options of FUNCTION LIST, each at most once, and lists nothing.
func (c call) functionList(options [][]byte) {
	library, code := false, false
	for i := 0; i < len(options); i++ {
		switch {
		case is(options[i], "WITHCODE") && !code:
			code = true
		case is(options[i], "LIBRARYNAME") && !library && i+1 == len(options):
			c.w.Error("ERR library name argument was not given")
			return
		case is(options[i], "LIBRARYNAME") && !library:
			library = true
			i++
		default:
			c.w.Error("ERR Unknown argument " + string(options[i]))
			return
		}
	}
	c.w.Array(0)
}
