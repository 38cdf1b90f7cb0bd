package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"weir/internal/await"
)

// TestGoRedis calls commands of all families with the go-redis client.
func TestGoRedis(t *testing.T) {
	_, addr := start(t, Config{Password: "secret"})
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			ctx := t.Context()
			r := goredis.NewClient(&goredis.Options{Addr: addr, Password: "secret", Protocol: protocol, ClientName: "tester"})
			defer r.Close()
			check := func(name string, got any, err error, want any) {
				t.Helper()
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s = %v, %v; want %v", name, got, err, want)
				}
			}
			r.FlushAll(ctx)
			set, err := r.Set(ctx, "k", "v", time.Minute).Result()
			check("SET", set, err, "OK")
			_, err = r.Get(ctx, "none").Result()
			if !errors.Is(err, goredis.Nil) {
				t.Errorf("GET of nothing: %v", err)
			}
			name, err := r.ClientGetName(ctx).Result()
			check("CLIENT GETNAME", name, err, "tester")
			n, err := r.PFAdd(ctx, "h", "a", "b").Result()
			check("PFADD", n, err, int64(1))
			n, err = r.PFCount(ctx, "h", "none").Result()
			check("PFCOUNT", n, err, int64(2))
			n, err = r.SetBit(ctx, "b", 100, 1).Result()
			check("SETBIT", n, err, int64(0))
			n, err = r.BitCount(ctx, "b", nil).Result()
			check("BITCOUNT", n, err, int64(1))
			n, err = r.GeoAdd(ctx, "g", &goredis.GeoLocation{Name: "Palermo", Longitude: 13.361389, Latitude: 38.115556},
				&goredis.GeoLocation{Name: "Catania", Longitude: 15.087269, Latitude: 37.502669}).Result()
			check("GEOADD", n, err, int64(2))
			near, err := r.GeoSearchLocation(ctx, "g", &goredis.GeoSearchLocationQuery{WithCoord: true, WithDist: true, WithHash: true,
				GeoSearchQuery: goredis.GeoSearchQuery{Longitude: 15, Latitude: 37, Radius: 100, RadiusUnit: "km"}}).Result()
			check("GEOSEARCH", near, err, []goredis.GeoLocation{{Name: "Catania", Longitude: 15.087267458438873, Latitude: 37.50266842333162, Dist: 56.4413, GeoHash: 3479447370796909}})
			members, err := r.ZRangeWithScores(ctx, "g", 0, -1).Result()
			check("ZRANGE", members, err, []goredis.Z{{Score: 3479099956230698, Member: "Palermo"}, {Score: 3479447370796909, Member: "Catania"}})
			n, err = r.SAdd(ctx, "u", "anna", "boris").Result()
			check("SADD", n, err, int64(2))
			is, err := r.SMIsMember(ctx, "u", "anna", "carla").Result()
			check("SMISMEMBER", is, err, []bool{true, false})
			here, err := r.SInter(ctx, "u", "u").Result()
			slices.Sort(here)
			check("SINTER", here, err, []string{"anna", "boris"})
			n, err = r.SInterCard(ctx, 1, "u", "u").Result()
			check("SINTERCARD", n, err, int64(1))
			picked, err := r.SRandMemberN(ctx, "u", -3).Result()
			check("SRANDMEMBER", len(picked), err, 3)
			picked, err = r.SPopN(ctx, "u", 2).Result()
			check("SPOP", len(picked), err, 2)
			b, err := r.BFAdd(ctx, "seen", "x").Result()
			check("BF.ADD", b, err, true)
			bs, err := r.BFMExists(ctx, "seen", "x", "y").Result()
			check("BF.MEXISTS", bs, err, []bool{true, false})
			info, err := r.BFInfo(ctx, "seen").Result()
			check("BF.INFO", info, err, goredis.BFInfo{Capacity: 100, Size: 240, Filters: 1, ItemsInserted: 1, ExpansionRate: 2})
			script := goredis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)
			for _, want := range []int64{1, 0} { // go-redis sends EVALSHA, and EVAL if the server does not know the script
				got, err := script.Run(ctx, r, []string{"k"}, "v").Int64()
				check("EVALSHA", got, err, want)
			}
			both, err := r.TxPipelined(ctx, func(p goredis.Pipeliner) error {
				p.Set(ctx, "a", "1", 0)
				p.StrLen(ctx, "a")
				return nil
			})
			check("a transaction", len(both), err, 2)
			var scanned []string
			for it := r.Scan(ctx, 0, "*", 2).Iterator(); it.Next(ctx); {
				scanned = append(scanned, it.Val())
			}
			slices.Sort(scanned)
			check("SCAN", scanned, nil, []string{"a", "b", "g", "h", "seen"})
			cmds, err := r.Pipelined(ctx, func(p goredis.Pipeliner) error {
				for i := range 1000 {
					p.Echo(ctx, i)
				}
				return nil
			})
			check("a pipeline", len(cmds), err, 1000)
			if got := cmds[999].(*goredis.StringCmd).Val(); got != "999" {
				t.Errorf("the last of the pipeline: %q", got)
			}
		})
	}
}

// TestRedisCLI: redis-cli works with lines, in pipe mode, and with a scan.
func TestRedisCLI(t *testing.T) {
	cli, err := osexec.LookPath("redis-cli")
	if err != nil {
		t.Fatalf("redis-cli is not installed: run `make redis`: %v", err)
	}
	_, addr := start(t, Config{})
	_, port, _ := net.SplitHostPort(addr)
	run := func(input string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), await.Never)
		defer cancel()
		cmd := osexec.CommandContext(ctx, cli, append([]string{"-p", port}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("redis-cli %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if got := run("PFADD h a b c\nPFCOUNT h\nHELLO 3\nNOSUCH x\n"); !strings.Contains(got, "1\n3\n") || !strings.Contains(got, "unknown command 'NOSUCH'") {
		t.Errorf("lines: %s", got)
	}
	var mass strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&mass, "*3\r\n$3\r\nSET\r\n$%d\r\nk%d\r\n$1\r\nx\r\n", len(fmt.Sprint(i))+1, i)
	}
	if got := run(mass.String(), "--pipe"); !strings.Contains(got, "errors: 0, replies: 10000") {
		t.Errorf("--pipe: %s", got)
	}
	if got := run("", "-3", "--scan", "--pattern", "k99*"); strings.Count(got, "\n") != 111 {
		t.Errorf("--scan: %d keys, want 111", strings.Count(got, "\n"))
	}
}

// TestRedisPy runs testdata/client.py.
func TestRedisPy(t *testing.T) {
	python, err := filepath.Abs("../../.cache/redispy/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("redis-py is not here; `make tools` installs it once: %v", err)
	}
	_, addr := start(t, Config{})
	host, port, _ := net.SplitHostPort(addr)
	out, err := osexec.CommandContext(t.Context(), python, "testdata/client.py", host, port).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("%v\n%s", err, out)
	}
}
