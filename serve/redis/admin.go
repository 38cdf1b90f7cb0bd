package redis

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
)

// redisVersion is the version of Redis whose replies these are.
const redisVersion = "7.2.0"

var adminCommands = []command{
	{name: "config", arity: -2, family: "server", about: "GET of the limits, SET of hll-sparse-max-bytes", differ: "Only the parameters that mean something here.", run: configCommand},
	{name: "info", arity: -1, family: "server", about: "the state of the server", differ: "Fewer fields, and always all of them.", run: info},
	{name: "memory", arity: 3, keys: keySpec{2, 2, 1}, family: "server", about: "USAGE of a key, by reckoning", run: memoryUsage},
	{name: "function", arity: -2, flags: flagWrite, family: "server", about: "FLUSH", differ: "There are no functions; Redis's own tests flush them.", run: func(c call, _ *keyspace) {
		if is(c.args[1], "FLUSH") && flushOption(c.args[2:]) {
			c.w.Status("OK")
		} else {
			c.badSubcommand()
		}
	}},
}

// sparseParameter is the only parameter that CONFIG SET sets.
const sparseParameter = "hll-sparse-max-bytes"

func configCommand(c call, k *keyspace) {
	s := k.server
	switch n := len(c.args); {
	case is(c.args[1], "GET") && n >= 3:
		c.configGet([][2]string{
			{"appendonly", "no"}, {"databases", "1"}, {sparseParameter, strconv.Itoa(s.sparseMax)},
			{"maxclients", strconv.Itoa(s.config.Clients)}, {"maxmemory", strconv.Itoa(s.config.Memory)}, {"maxmemory-clients", strconv.Itoa(s.config.Buffers)},
			{"maxmemory-policy", "noeviction"}, {"proto-max-bulk-len", strconv.Itoa(s.config.Bulk)}, {"save", ""}, {"timeout", strconv.Itoa(int(s.config.Idle.Seconds()))},
		})
	case is(c.args[1], "SET") && s.config.ReadOnly:
		c.w.Error(errReadOnly)
	case is(c.args[1], "SET") && n == 4 && is(c.args[2], strings.ToUpper(sparseParameter)):
		n, ok := c.integer(c.args[3])
		switch {
		case !ok:
		case n < 0 || n > math.MaxInt32:
			c.w.Error("ERR CONFIG SET failed (possibly related to argument '" + sparseParameter + "') - argument must be between 0 and 2147483647 inclusive")
		default:
			s.sparseMax = int(n)
			c.w.Status("OK")
		}
	case is(c.args[1], "SET") && n >= 4:
		c.w.Error("ERR Unknown option or number of arguments for CONFIG SET - '" + string(c.args[2]) + "'")
	default:
		c.badSubcommand()
	}
}

// configGet sends the parameters that match one of the patterns.
func (c call) configGet(parameters [][2]string) {
	var found [][2]string
	for _, p := range parameters {
		wanted := false
		for _, pattern := range c.args[2:] {
			wanted = wanted || match(strings.ToLower(string(pattern)), p[0])
		}
		if wanted {
			found = append(found, p)
		}
	}
	c.w.Map(len(found))
	for _, p := range found {
		c.w.BulkString(p[0])
		c.w.BulkString(p[1])
	}
}

func info(c call, k *keyspace) {
	s := k.server
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c.w.Text(strings.ReplaceAll(fmt.Sprintf(infoText,
		redisVersion, int(s.config.Now().Sub(s.started).Seconds()), len(s.clients), s.config.Clients, m.HeapAlloc, s.store.used, s.config.Memory, s.store.dirty,
		s.accepted, s.calls, s.refused, s.store.expired, s.buffers.count(), s.wrong, len(s.store.index), len(s.store.volatile)), "\n", "\r\n"))
}

// infoText is the reply of INFO, with what redis-cli --stat reads.
const infoText = `# Server
redis_version:%s
redis_mode:standalone
server_name:weir
uptime_in_seconds:%d
# Clients
connected_clients:%d
maxclients:%d
blocked_clients:0
# Memory
used_memory:%d
used_memory_dataset:%d
maxmemory:%d
# Persistence
loading:0
rdb_changes_since_last_save:%d
rdb_bgsave_in_progress:0
aof_rewrite_in_progress:0
# Stats
total_connections_received:%d
total_commands_processed:%d
rejected_connections:%d
expired_keys:%d
evicted_clients:%d
acl_access_denied_auth:%d
# Replication
role:master
# Keyspace
db0:keys=%d,expires=%d,avg_ttl=0
`

func memoryUsage(c call, k *keyspace) {
	if !is(c.args[1], "USAGE") {
		c.badSubcommand()
		return
	}
	if it := k.read(c.args[2]); it != nil {
		c.w.Int(int64(it.memory()))
	} else {
		c.w.Null()
	}
}
