package local_test

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/demo/local"
	"weir/demo/local/localtest"
)

// freePorts returns ports on which nothing listens.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// TestNative: two servers read a Distributed table from each other, and what one has acknowledged
// is there after a kill. docs/clickhouse.md says why replication cannot be tested: each
// statement of it ends with this error.
func TestNative(t *testing.T) {
	localtest.Wanted(t)
	ports := freePorts(t, 4)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.xml")
	config := fmt.Sprintf(`<clickhouse>
	<remote_servers><main>
		<shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard>
		<shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard>
	</main></remote_servers>
	<macros><shard>1</shard><replica>1</replica></macros>
</clickhouse>`, ports[0], ports[1])
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var servers [2]*local.Native
	zones := [2]string{"", "Asia/Kathmandu"}
	start := func(i int) {
		t.Helper()
		var err error
		if servers[i], err = local.StartNative(t.Context(), local.NativeConfig{Data: filepath.Join(dir, fmt.Sprint(i)), TCP: ports[i], HTTP: ports[2+i], Config: file, Settings: map[string]string{"max_threads": "1"}, Zone: zones[i]}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range servers {
		start(i)
		t.Cleanup(func() { servers[i].Kill() })
	}
	ask := func(i int, sql string) string {
		t.Helper()
		out, err := localtest.Query(servers[i].URL(), "", sql)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for i := range servers {
		if got, want := ask(i, "SELECT timezone()"), cmp.Or(zones[i], "UTC"); got != want {
			t.Errorf("server %d is in time zone %s, want %s", i, got, want)
		}
		ask(i, "CREATE DATABASE d")
		ask(i, "CREATE TABLE d.t (a UInt64) ENGINE = MergeTree ORDER BY a")
		ask(i, "CREATE TABLE d.t_all (a UInt64) ENGINE = Distributed('main', 'd', 't')")
		ask(i, "CREATE FUNCTION IF NOT EXISTS twice AS x -> 2 * x")
		ask(i, fmt.Sprintf("INSERT INTO d.t SELECT number FROM numbers(%d)", 10+i))
	}
	for i := range servers {
		servers[i].Kill()
		start(i)
		if got := ask(i, "SELECT count(), twice(sum(a)), uniqExact(shardNum()) FROM d.t_all"); got != "21\t200\t2" {
			t.Errorf("server %d has %q", i, got)
		}
	}
	for sql, words := range map[string]string{
		"CREATE DATABASE x ON CLUSTER 'main'": "Replicated DDL queries are disabled",
		"CREATE TABLE d.r (a UInt64) ENGINE = ReplicatedMergeTree('/r/{shard}', '{replica}') ORDER BY a": "Can't create replicated table without ZooKeeper",
	} {
		if _, err := localtest.Query(servers[0].URL(), "", sql); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
