package live

import (
	"encoding/json"
	"testing"

	"weir/measures"
)

// TestNothing: what HTTP says where nothing was counted, as docs/http.md has it. A sum is 0 as in the views,
// so that a series has a line at 0 and no gap, over rows as over rollups.
func TestNothing(t *testing.T) {
	all := []Kind{hitsKind, partialKind}
	for _, k := range measures.All {
		all = append(all, Kind{k.Name, k.Live})
	}
	special := map[string]string{
		"min": "null", "max": "null", "first": "null", "last": "null", "avg": "null", "topk": "[]",
		"quantile": `{"count":0,"min":null,"p50":null,"p90":null,"p95":null,"p99":null,"p999":null,"max":null}`,
	}
	for _, k := range all {
		want, ok := special[k.Name]
		if !ok {
			want = "0"
		}
		if got, err := json.Marshal(k.Number(nil)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", k.Name, got, err, want)
		}
	}
}
