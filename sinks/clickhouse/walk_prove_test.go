//go:build prove

package clickhouse

import "testing"

// TestWalks takes longer walks.
// In make test: TestWalk.
func TestWalks(t *testing.T) {
	for seed := range uint64(20) {
		walk(t, 100+seed, 20)
	}
}
