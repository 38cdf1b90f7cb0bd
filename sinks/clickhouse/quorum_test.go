package clickhouse

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A cluster is a model of replicas of two tables, rows and ledger, of which ClickHouse
// replicates each on its own. An insert is there on one replica at first, and is acknowledged
// when a quorum has it.
type cluster struct {
	r      *rand.Rand
	has    [][2]map[int]bool // by replica and table, the inserts that it has
	alive  []bool            // its disk is not lost
	quorum int
}

const rowsTable, ledgerTable = 0, 1

const modelFlushes = 8

func newCluster(r *rand.Rand, replicas, quorum int) *cluster {
	c := &cluster{r: r, quorum: quorum}
	for range replicas {
		c.has = append(c.has, [2]map[int]bool{{}, {}})
		c.alive = append(c.alive, true)
	}
	return c
}

// replicate lets one replica get one insert of one table from another, if it lacks any.
func (c *cluster) replicate() {
	to, table := c.r.IntN(len(c.has)), c.r.IntN(2)
	for from := range c.has {
		for n := range modelFlushes {
			if c.has[from][table][n] && c.alive[from] && c.alive[to] && !c.has[to][table][n] {
				c.has[to][table][n] = true
				return
			}
		}
	}
}

// insert returns whether an insert is acknowledged. One that is not may be there all the same.
func (c *cluster) insert(table, n int) bool {
	at := c.r.IntN(len(c.has))
	if !c.alive[at] {
		return false
	}
	c.has[at][table][n] = true
	for range 20 * len(c.has) { // as long as a client waits
		if c.count(table, n) >= c.quorum {
			return true
		}
		c.replicate()
	}
	return false
}

func (c *cluster) count(table, n int) (replicas int) {
	for i := range c.has {
		if c.alive[i] && c.has[i][table][n] {
			replicas++
		}
	}
	return replicas
}

// ahead returns an insert whose line is on a replica and whose rows are on none, so that they
// will never be there: the position is ahead of the rows for ever.
func (c *cluster) ahead(inserts int) error {
	for n := range inserts {
		if lines := c.count(ledgerTable, n); lines > 0 && c.count(rowsTable, n) == 0 {
			return fmt.Errorf("flush %d: %d replicas have its line, and none its rows", n, lines)
		}
	}
	return nil
}

// flushes writes as Sink.Write does, in any order with replication and the loss of a minority of
// the disks. mistake is planted.
func (c *cluster) flushes(mistake string) error {
	lost := 0
	for i := range modelFlushes {
		first, second := rowsTable, ledgerTable
		if mistake == "ledger first" {
			first, second = second, first
		}
		for !c.insert(first, i) { // as flow does, until it is acknowledged
		}
		c.insert(second, i)
		for range c.r.IntN(4) {
			c.replicate()
		}
		if lost < (len(c.has)-1)/2 && c.r.IntN(4) == 0 {
			c.alive[c.r.IntN(len(c.has))] = false
			lost++
		}
		if err := c.ahead(i + 1); err != nil {
			return err
		}
	}
	return nil
}

// TestQuorum: with the quorum that weir asks for on a cluster, no position is ahead of its rows
// for ever, whichever minority of the disks is lost. With a quorum of one, or with the ledger
// before the rows, the model finds one: so it can fail.
func TestQuorum(t *testing.T) {
	majority := func(replicas int) int { return replicas/2 + 1 }
	const schedules = 2000
	for _, c := range []struct {
		mistake string
		quorum  func(int) int
	}{
		{"", majority},
		{"a quorum of one", func(int) int { return 1 }},
		{"ledger first", majority},
	} {
		found := 0
		for seed := range uint64(schedules) {
			r := rand.New(rand.NewPCG(seed, 20))
			replicas := 3 + 2*r.IntN(2)
			err := newCluster(r, replicas, c.quorum(replicas)).flushes(c.mistake)
			if err != nil && c.mistake == "" {
				t.Fatalf("schedule %d: %v", seed, err)
			}
			if err != nil {
				found++
			}
		}
		if c.mistake != "" && found == 0 {
			t.Errorf("%s: not found in %d schedules", c.mistake, schedules)
		}
		t.Logf("%q: found in %d of %d schedules", c.mistake, found, schedules)
	}
}
