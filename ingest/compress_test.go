package ingest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compressed returns the batch with its payload compressed.
func compressed(t testing.TB, codec uint16, s batchSpec) batchSpec {
	t.Helper()
	s.attributes |= codec
	s.payload = compress(t, codec, s.payload)
	return s
}

func compress(t testing.TB, codec uint16, b []byte, options ...lz4.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch codec {
	case codecNone:
		return b
	case codecGzip:
		w = gzip.NewWriter(&out)
	case codecSnappy:
		return snappy.Encode(nil, b)
	case codecLZ4:
		z := lz4.NewWriter(&out)
		err = z.Apply(options...)
		w = z
	case codecZstd:
		w, err = zstd.NewWriter(&out)
	}
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// samples are payloads from empty to several LZ4 blocks, repetitive and random.
func samples() [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	var s [][]byte
	for _, n := range []int{0, 1, 100, 65535, 65536, 65537, 300000} {
		random := make([]byte, n)
		for i := range random {
			random[i] = byte(r.Uint32())
		}
		text := make([]byte, 0, n+200)
		for i := 0; len(text) < n; i++ {
			text = append(text, click(i)...)
		}
		s = append(s, random, text[:n], bytes.Repeat([]byte{7}, n))
	}
	return s
}

// One decompressor, like that of a worker, decompresses all samples in turn.
func TestDecompress(t *testing.T) {
	d := decompressor{limit: 8 << 20}
	check := func(what string, codec int, packed, want []byte) {
		t.Helper()
		got, err := d.decompress(codec, packed)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of %d bytes: %d bytes, %v", what, len(want), len(got), err)
		}
	}
	for _, b := range samples() {
		for codec := uint16(codecGzip); codec <= codecZstd; codec++ {
			check([]string{"", "gzip", "snappy", "lz4", "zstd"}[codec], int(codec), compress(t, codec, b), b)
		}
		for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
			check(fmt.Sprint("lz4 blocks of ", size), codecLZ4, compress(t, codecLZ4, b, lz4.BlockSizeOption(size),
				lz4.BlockChecksumOption(true), lz4.ChecksumOption(false), lz4.SizeOption(uint64(len(b)))), b)
		}
		// Java's framing.
		framed := append(slices.Clone(xerial), 0, 0, 0, 1, 0, 0, 0, 1)
		for rest := b; len(rest) > 0; {
			n := min(len(rest), 32<<10)
			block := snappy.Encode(nil, rest[:n])
			framed = append(be.AppendUint32(framed, uint32(len(block))), block...)
			rest = rest[n:]
		}
		check("framed snappy", codecSnappy, framed, b)
	}
}

// Blocks may refer to the ones before them: the reference implementation makes
// such blocks, but no library here does. So this frame is made by hand: a
// literal block of 16 bytes, then a match that refers to it.
func TestLZ4LinkedBlocks(t *testing.T) {
	frame := []byte{0x04, 0x22, 0x4D, 0x18, 0x40, 0x40, 0xC0}
	first := append([]byte{0xF0, 1}, "0123456789abcdef"...) // token: 16 literals
	// token: no literals, match of 4+4; offset 16; then the last 5 literals
	second := []byte{0x04, 16, 0, 0x50, 'v', 'w', 'x', 'y', 'z'}
	for _, block := range [][]byte{first, second} {
		frame = append(frame, byte(len(block)), 0, 0, 0)
		frame = append(frame, block...)
	}
	frame = append(frame, 0, 0, 0, 0)
	d := decompressor{limit: 1 << 20}
	got, err := d.decompress(codecLZ4, frame)
	if want := "0123456789abcdef01234567vwxyz"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// Writers declare blocks of up to 4 MB. The buffer is as large as a batch needs and not as
// they declare, also that of a batch that expands more than most.
func TestLZ4Room(t *testing.T) {
	for _, b := range append(samples(), bytes.Repeat([]byte{7}, 5<<20)) {
		d := decompressor{limit: 8 << 20}
		packed := compress(t, codecLZ4, b, lz4.BlockSizeOption(lz4.Block4Mb))
		got, err := d.decompress(codecLZ4, packed)
		if err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d bytes: %d bytes, %v", len(b), len(got), err)
		}
		if most := max(64<<10, 8*len(packed)); len(packed) > len(b)/8 && cap(got) > most {
			t.Errorf("%d bytes from %d: a buffer of %d, want at most %d", len(b), len(packed), cap(got), most)
		}
	}
}

// Small inputs that are, or claim to be, large once decompressed give an error
// and use little memory.
func TestDecompressionBombs(t *testing.T) {
	zeros := make([]byte, 16<<20)
	d := decompressor{limit: 1 << 20}
	const tooLarge = "the batch is larger than 1 MiB once decompressed"
	for codec := uint16(codecGzip); codec <= codecZstd; codec++ {
		packed := compress(t, codec, zeros)
		_, err := d.decompress(int(codec), packed)
		if err == nil || err.Error() != tooLarge {
			t.Errorf("codec %d: %d bytes of 16 MB of zeros: %v", codec, len(packed), err)
		}
		if cap(d.out) > leastWindow+leastWindow/2 {
			t.Errorf("codec %d: it kept %d bytes", codec, cap(d.out))
		}
		// A payload of exactly the limit is accepted, one byte more is not.
		if _, err := d.decompress(int(codec), compress(t, codec, zeros[:1<<20])); err != nil {
			t.Errorf("codec %d: exactly the limit: %v", codec, err)
		}
		if _, err := d.decompress(int(codec), compress(t, codec, zeros[:1<<20+1])); err == nil || err.Error() != tooLarge {
			t.Errorf("codec %d: one byte more than the limit: %v", codec, err)
		}
	}
	d = decompressor{limit: 1 << 30}
	for name, lie := range map[string]struct {
		codec  int
		packed string
	}{
		"snappy of 512 MB": {codecSnappy, "\x80\x80\x80\x80\x02nothing of the kind"},
		"zstd of 512 MB":   {codecZstd, "\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x20nothing of the kind"},
		"lz4 of 4 MB":      {codecLZ4, "\x04\x22\x4d\x18\x60\x70\x00\x04\x00\x00\x00none"},
	} {
		_, err := d.decompress(lie.codec, []byte(lie.packed))
		if err == nil || !strings.Contains(err.Error(), "cannot be decompressed") {
			t.Errorf("%s: %v", name, err)
		}
		if cap(d.out) > 1<<20 {
			t.Errorf("%s: it allocated %d bytes", name, cap(d.out))
		}
	}
}
