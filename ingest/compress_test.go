package ingest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
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

// A compressor of a stream declares its window before it knows the size: that of level 22 is 128 MiB, and
// others are greater. The window takes no memory and makes no batch unreadable.
func TestZstdWindows(t *testing.T) {
	// for i in 1 2 3 4 5 6 7 8 9; do printf 'event %d of nine; ' $i; done | zstd -22 --ultra --no-check | base64
	frame, err := base64.StdEncoding.DecodeString("KLUv/QCIZQEAyGV2ZW50IDEgb2YgbmluZTsgMjM0NTY3ODkJqBDo/XfQ8xAsYYn7cVwCKQU=")
	if err != nil {
		t.Fatal(err)
	}
	var want string
	for i := range 9 {
		want += fmt.Sprintf("event %d of nine; ", i+1)
	}
	for window := 10; window <= 41; window++ {
		frame[5] = byte(window-10) << 3
		d := decompressor{limit: 1 << 20}
		got, err := d.decompress(codecZstd, frame)
		if err != nil || string(got) != want {
			t.Errorf("window 2^%d: %q, %v", window, got, err)
		}
		if cap(d.out) > zstdBlock {
			t.Errorf("window 2^%d: a buffer of %d bytes", window, cap(d.out))
		}
	}
}

// What other readers read: several members or frames, and what pads them.
func TestJoinedFrames(t *testing.T) {
	d := decompressor{limit: 1 << 20}
	framed := func(b []byte) []byte {
		block := snappy.Encode(nil, b)
		return slices.Concat(xerial, []byte{0, 0, 0, 1, 0, 0, 0, 1}, be.AppendUint32(nil, uint32(len(block))), block)
	}
	a, b := []byte(strings.Repeat("one ", 100)), []byte(strings.Repeat("two ", 100))
	with := func(codec uint16, tail ...byte) []byte { return append(compress(t, codec, a), tail...) }
	skipped := []byte("\x50\x2a\x4d\x18\x05\x00\x00\x00hello")
	for name, test := range map[string]struct {
		codec  int
		packed []byte
		want   string // empty: it is malformed
	}{
		"gzip, zeros":           {codecGzip, with(codecGzip, make([]byte, 16)...), string(a)},
		"gzip, a zero":          {codecGzip, with(codecGzip, 0), string(a)},
		"gzip, text":            {codecGzip, with(codecGzip, []byte("what is no member")...), string(a)},
		"gzip, gzip":            {codecGzip, with(codecGzip, compress(t, codecGzip, b)...), string(a) + string(b)},
		"gzip, gzip, zeros":     {codecGzip, with(codecGzip, append(compress(t, codecGzip, b), 0, 0, 0)...), string(a) + string(b)},
		"gzip, half a gzip":     {codecGzip, with(codecGzip, compress(t, codecGzip, b)[:12]...), ""},
		"snappy, snappy":        {codecSnappy, append(framed(a), framed(b)...), string(a) + string(b)},
		"snappy, half a header": {codecSnappy, append(framed(a), xerial...), ""},
		"zstd, zstd":            {codecZstd, with(codecZstd, compress(t, codecZstd, b)...), string(a) + string(b)},
		"skipped, zstd":         {codecZstd, append(slices.Clone(skipped), compress(t, codecZstd, a)...), string(a)},
		"zstd, skipped":         {codecZstd, with(codecZstd, skipped...), string(a)},
		"zstd, half a skipped":  {codecZstd, with(codecZstd, skipped[:10]...), ""},
		"zstd, zeros":           {codecZstd, with(codecZstd, 0, 0, 0, 0, 0), ""},
		"zstd, a zero":          {codecZstd, with(codecZstd, 0), ""},
	} {
		got, err := d.decompress(test.codec, test.packed)
		if string(got) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Small inputs that are, or claim to be, large once decompressed give an error
// and use little memory.
func TestDecompressionBombs(t *testing.T) {
	zeros := make([]byte, 16<<20)
	const limit = 1 << 20
	d := decompressor{limit: limit}
	const tooLarge = "the batch is larger than 1 MiB once decompressed, which is the most that is read"
	for codec := uint16(codecGzip); codec <= codecZstd; codec++ {
		packed := compress(t, codec, zeros)
		_, err := d.decompress(int(codec), packed)
		if err == nil || err.Error() != tooLarge {
			t.Errorf("codec %d: %d bytes of 16 MB of zeros: %v", codec, len(packed), err)
		}
		if cap(d.out) > 4<<20+limit { // lz4 makes room for a block
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
