package wire

import (
	"testing"
)

// TestQuorumSetting: on a cluster, an insert waits for a quorum of the replicas.
func TestQuorumSetting(t *testing.T) {
	for cluster, want := range map[string]any{"main": "auto", "": nil} {
		db := &DB{Config: Config{Cluster: cluster}}
		if got := db.writeSettings()["insert_quorum"]; got != want {
			t.Errorf("cluster %q: insert_quorum %v, want %v", cluster, got, want)
		}
	}
}
