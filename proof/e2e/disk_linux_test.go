//go:build prove

package e2e

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"weir/demo/local/localtest"
)

// A full disk under the embedded parts stops nothing for good: it is said, and
// when there is room again everything goes on and adds up. The broker's files
// may not grow (a limit of its process stands for the disk), and then the
// engine refuses inserts for want of space. In make test: TestEngineDown.
func TestDiskFull(t *testing.T) {
	parallel(t)
	p := startUp(t, t.TempDir(), "--rate", "200")
	counted := p.hits(0)

	var limit unix.Rlimit
	full := unix.Rlimit{Cur: 1 << 10, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	full.Max = limit.Max
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &full, nil); err != nil {
		t.Fatal(err)
	}
	p.says("the broker refuses records")
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	counted = p.hits(counted)
	counted = p.hits(counted)

	alter := func(to string) {
		t.Helper()
		for _, table := range []string{"clicks_state", "weir_ledger"} {
			if _, err := localtest.Query(p.url, "weir", "ALTER TABLE "+table+" "+to); err != nil {
				t.Fatal(err)
			}
		}
	}
	alter("MODIFY SETTING min_free_disk_bytes_to_perform_insert = 1000000000000000000")
	p.says(`clickhouse: (the )?outage.*NOT_ENOUGH_SPACE`) // it may have begun with a question that took too long
	alter("RESET SETTING min_free_disk_bytes_to_perform_insert")
	p.hits(counted)

	p.signal(syscall.SIGTERM)
	p.exits(0)
	again := startUp(t, p.cmd.Dir, "--no-gen")
	again.drained()
	again.rested()
	again.adds()
	again.signal(syscall.SIGTERM)
	again.exits(0)
}
