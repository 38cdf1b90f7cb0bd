package main

import (
	"testing"
)

// TestTruthDiffers: the comparison finds lost, doubled and invented hits and users, and a
// row too many or too few.
func TestTruthDiffers(t *testing.T) {
	known := truth{
		place(60_000, "/p/1"):  {Hits: 3, Users: map[uint32]int64{7: 1, 12: 2}},
		place(120_000, "/p/2"): {Hits: 1, Users: map[uint32]int64{7: 1}},
	}
	const right = "60\t/p/1\t3\t[7,12]\n120\t/p/2\t1\t[7]\n"
	if err := known.differs(right); err != nil {
		t.Errorf("the truth itself: %v", err)
	}
	for what, rows := range map[string]string{
		"a click lost":      "60\t/p/1\t2\t[7,12]\n120\t/p/2\t1\t[7]\n",
		"a click doubled":   "60\t/p/1\t3\t[7,12]\n120\t/p/2\t2\t[7]\n",
		"a person lost":     "60\t/p/1\t3\t[7]\n120\t/p/2\t1\t[7]\n",
		"another person":    "60\t/p/1\t3\t[7,13]\n120\t/p/2\t1\t[7]\n",
		"a minute lost":     "60\t/p/1\t3\t[7,12]\n",
		"a minute made up":  right + "180\t/p/2\t1\t[7]\n",
		"a page of another": "60\t/p/2\t3\t[7,12]\n120\t/p/2\t1\t[7]\n",
		"nothing":           "",
	} {
		if known.differs(rows) == nil {
			t.Errorf("%s is not seen", what)
		}
	}
}
