package event

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"slices"
)

// AWS Glue's serializers write 3, then 0, or 5 if the rest is compressed with zlib, and then
// the UUID of a version of a schema, 16 bytes.

const (
	glueMagic      = 3
	glueZlib       = 5
	glueSize       = 2 + 16
	maxInflated    = 16 << 20 // bytes of a value, decompressed
	zlibHead       = 2
	zlibTail       = 4
	zlibMethod     = 8 // deflate
	zlibDictionary = 1 << 5
)

// Why the frame of AWS Glue was refused.
var (
	ErrNoGlue      = errors.New("event: the record names no schema: it does not begin with 3, 0 or 5, and a UUID, as AWS Glue's serializers write")
	ErrGlueZlib    = errors.New("event: the record is compressed, and cannot be decompressed")
	ErrGlueInflate = errors.New("event: the record is compressed, and has more than 16 MiB without")
)

// glueFrame splits the name of a schema from what follows it.
func glueFrame(b []byte) (id, rest []byte, err error) {
	if len(b) < glueSize || b[0] != glueMagic || b[1] != 0 && b[1] != glueZlib {
		return nil, nil, ErrNoGlue
	}
	return b[:glueSize], b[glueSize:], nil
}

// An inflater decompresses values.
type inflater struct {
	from bytes.Reader
	z    io.ReadCloser
}

// inflated returns what follows a frame of AWS Glue, decompressed if the frame says so.
func (r *Reader) inflated(id, rest []byte) ([]byte, error) {
	if id[1] != glueZlib {
		return rest, nil
	}
	// zlib is deflate between two bytes and a checksum (RFC 1950).
	if len(rest) < zlibHead+zlibTail || rest[0]&15 != zlibMethod || rest[1]&zlibDictionary != 0 || binary.BigEndian.Uint16(rest)%31 != 0 {
		return nil, ErrGlueZlib
	}
	f := &r.inflater
	f.from.Reset(rest[zlibHead:])
	if f.z == nil {
		f.z = flate.NewReader(&f.from)
	} else if err := f.z.(flate.Resetter).Reset(&f.from, nil); err != nil {
		return nil, ErrGlueZlib
	}
	for start := len(r.text); ; {
		r.text = slices.Grow(r.text, 1)
		n, err := f.z.Read(r.text[len(r.text):cap(r.text)])
		r.text = r.text[:len(r.text)+n]
		body := r.text[start:len(r.text):len(r.text)]
		switch {
		case len(body) > maxInflated:
			return nil, ErrGlueInflate
		case errors.Is(err, io.EOF):
			tail := rest[len(rest)-f.from.Len():]
			if len(tail) != zlibTail || binary.BigEndian.Uint32(tail) != adler32.Checksum(body) {
				return nil, ErrGlueZlib
			}
			return body, nil
		case err != nil:
			return nil, ErrGlueZlib
		}
	}
}
