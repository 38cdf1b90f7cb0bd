package local

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// TestFramesCut cuts a stream of frames at every byte. Only a cut between two
// frames may look like an end.
func TestFramesCut(t *testing.T) {
	for _, method := range []compress.Method{compress.None, compress.LZ4, compress.ZSTD} {
		var stream []byte
		seams := map[int]string{0: ""}
		plain := ""
		for _, piece := range []string{"one\n\n", "two", "three and more"} {
			w := compress.NewWriter(compress.LevelZero, method)
			if err := w.Compress([]byte(piece)); err != nil {
				t.Fatal(err)
			}
			stream = append(stream, w.Data...)
			plain += piece
			seams[len(stream)] = plain
		}
		for n := range len(stream) + 1 {
			r := newFrames(iotest.OneByteReader(bytes.NewReader(stream[:n])))
			got, err := io.ReadAll(r)
			want, seam := seams[n]
			if seam && (err != nil || string(got) != want) {
				t.Errorf("%v: first %d bytes: %q, %v, want %q", method, n, got, err, want)
			}
			if !seam && err == nil {
				t.Errorf("%v: first %d of %d bytes pass for whole: %q", method, n, len(stream), got)
			}
			if _, again := r.Read(make([]byte, 9)); again == nil {
				t.Errorf("%v: a read after the end gives data", method)
			}
		}
		bad := bytes.Clone(stream)
		bad[len(bad)-1] ^= 1
		var corrupt *compress.CorruptedDataErr
		if _, err := io.ReadAll(newFrames(bytes.NewReader(bad))); !errors.As(err, &corrupt) {
			t.Errorf("%v: a flipped bit: %v", method, err)
		}
	}
}

func TestAcceptedCoding(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "gzip": "gzip", "GZIP": "gzip", "gzip;q=0": "", "gzip; q=0.5, deflate": "gzip",
		"deflate": "deflate", "br": "", "lz4, zstd": "zstd", "*": "", "identity": "",
	} {
		if got := accepted(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// FuzzFrames: no stream crashes the reader, and one that ends in the middle of
// a frame gives an error.
func FuzzFrames(f *testing.F) {
	for _, method := range []compress.Method{compress.None, compress.LZ4, compress.ZSTD} {
		w := compress.NewWriter(compress.LevelZero, method)
		if err := w.Compress([]byte("some rows\n\n")); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(w.Data))
		f.Add(w.Data[:len(w.Data)-1])
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, stream []byte) {
		got, err := io.ReadAll(io.LimitReader(newFrames(bytes.NewReader(stream)), 1<<20))
		if err == nil && len(got) == 0 && len(stream) > 0 && len(stream) < frameHeader {
			t.Fatalf("%d bytes pass for no frame at all", len(stream))
		}
	})
}

// TestCodingsCut cuts a body in each Content-Encoding at every byte. A cut that
// loses rows must be an error; one after the last row, in a trailer, may pass.
func TestCodingsCut(t *testing.T) {
	plain := strings.Repeat("some rows\n\n", 50)
	for coding, open := range map[string]func(w io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"lz4":     func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	} {
		var packed bytes.Buffer
		w := open(&packed)
		if _, err := io.WriteString(w, plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for n := range packed.Len() + 1 {
			r, err := decode(bytes.NewReader(packed.Bytes()[:n]), coding)
			var got []byte
			if err == nil {
				got, err = io.ReadAll(r)
			}
			if n == packed.Len() && (err != nil || string(got) != plain) {
				t.Errorf("%s: %d bytes, %v", coding, len(got), err)
			}
			if n > 0 && err == nil && string(got) != plain {
				t.Errorf("%s: the first %d of %d bytes pass for %q", coding, n, packed.Len(), got)
			}
		}
	}
}
