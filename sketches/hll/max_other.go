//go:build !amd64 || purego

package hll

func maxInto(d, s *registers) { maxWords(d, s) }

// maxAll raises d to every one of the sources.
func maxAll(d *registers, sources []*registers) {
	for _, s := range sources {
		maxWords(d, s)
	}
}

// maxString raises d to the registers of a dense string.
func maxString(d *registers, v String) { maxPacked(d, v[headerBytes:]) }

func searchLines(b *batch, n int) { searchPlain(b, n) }
