package local

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// body is a request's body with a deadline for every read.
type body struct {
	r  io.Reader
	rc *http.ResponseController
}

func (b *body) Read(p []byte) (int, error) {
	// SetReadDeadline fails on a closed connection, and so does Read.
	_ = b.rc.SetReadDeadline(time.Now().Add(ioTimeout))
	n, err := b.r.Read(p)
	if err != nil {
		// After the body the server waits until the client closes the connection or
		// sends its next request; it waits as long as the query runs.
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// limit is an io.LimitReader that returns errTooLarge at its end.
type limit struct {
	r    io.Reader
	left int64
}

var errTooLarge = errors.New("the body is too large")

func (l *limit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// explain turns an error of reading the body into one for the client.
func explain(err error) error {
	var ex *Exception
	var corrupt *compress.CorruptedDataErr
	switch {
	case errors.As(err, &ex):
		return err
	case errors.Is(err, errTooLarge):
		return exceptionf(tooLarge, "TOO_LARGE", "The request's body is larger than the engine accepts")
	case errors.As(err, &corrupt):
		return exceptionf(40, "CHECKSUM_DOESNT_MATCH", "Checksum doesn't match: corrupted data")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return exceptionf(209, "SOCKET_TIMEOUT", "Timeout while reading the request's body")
	default:
		return exceptionf(33, "CANNOT_READ_ALL_DATA", "Cannot read the request's body: %v", err)
	}
}

// decode undoes a Content-Encoding.
func decode(r io.Reader, encoding string) (io.Reader, error) {
	switch strings.ToLower(encoding) {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "deflate":
		return zlib.NewReader(r)
	case "br":
		return brotli.NewReader(r), nil
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, err
		}
		return d, nil
	case "lz4":
		return lz4.NewReader(r), nil
	}
	return nil, exceptionf(89, "UNKNOWN_COMPRESSION_METHOD", "Unknown compression method '%s'", encoding)
}

// fill reads until b holds size bytes or r ends (io.EOF).
func fill(b []byte, r io.Reader, size int) ([]byte, error) {
	if cap(b) < size {
		b = slices.Grow(b, size-len(b))
	}
	for len(b) < size {
		n, err := r.Read(b[len(b):size])
		b = b[:len(b)+n]
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// frames undoes ClickHouse's own compression, the frames of ?decompress=1:
// CityHash128 checksum, method, two lengths, then LZ4, ZSTD or plain bytes.
//
// ch-go's reader answers io.EOF also when the stream ends between the header of
// a frame and its contents. Rows would be missing without an error, so frames
// counts the bytes of each frame itself and reports a truncated one.
type frames struct {
	src  *bufio.Reader
	left int // bytes of the current frame not read yet
	out  *compress.Reader
	err  error // of the last read; ch-go's reader would start over after it
}

const (
	frameHeader = 25 // 16 checksum, 1 method, 4 length with this header's last 9, 4 length unpacked
	frameLength = 17 // where the first length is
)

func newFrames(r io.Reader) io.Reader {
	f := &frames{src: bufio.NewReader(r)}
	f.out = compress.NewReader(frameSource{f})
	return f
}

func (f *frames) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.out.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.EOF // ch-go wraps it
	}
	f.err = err
	return n, err
}

type frameSource struct{ *frames }

func (f frameSource) Read(p []byte) (int, error) {
	if f.left == 0 {
		head, err := f.src.Peek(frameHeader)
		if len(head) == 0 {
			return 0, err
		}
		if err == io.EOF {
			return 0, io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		f.left = 16 + int(binary.LittleEndian.Uint32(head[frameLength:]))
	}
	n, err := f.src.Read(p[:min(len(p), f.left)])
	f.left -= n
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
