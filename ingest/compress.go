package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The codecs, as a batch's attributes number them.
const (
	codecNone = iota
	codecGzip
	codecSnappy
	codecLZ4
	codecZstd
)

// A decompressor decompresses a batch's records into one buffer that it keeps. Its
// allocations are bounded by limit, and by the size that the input can have once
// decompressed.
type decompressor struct {
	limit int
	out   []byte
	gzip  *gzip.Reader
	zstd  *zstd.Decoder
	input bytes.Reader
}

// BatchLimit is how many bytes a record batch may have once decompressed, 64 MiB.
// It decides which records are counted, so it is a constant and not a setting.
const BatchLimit = 64 << 20

var errTooLong = errors.New("longer than the limit")

// keepAtMost is the largest buffer kept for the next batch. By default producers
// make batches of at most 1 MB once compressed, and compression rarely saves more
// than nine tenths.
const keepAtMost = 16 << 20

// decompress returns the decompressed payload, which is valid until the next call.
// Its error goes into dead letters, so its text depends on the payload alone and
// not on a library's messages.
func (d *decompressor) decompress(codec int, src []byte) ([]byte, error) {
	if codec == codecNone {
		return src, nil
	}
	if cap(d.out) > keepAtMost {
		d.out = nil
	}
	var out []byte
	var err error
	switch codec {
	case codecGzip:
		out, err = d.gunzip(d.out[:0], src)
	case codecSnappy:
		out, err = d.unsnappy(d.out[:0], src)
	case codecLZ4:
		out, err = d.unlz4(d.out[:0], src)
	case codecZstd:
		out, err = d.unzstd(d.out[:0], src)
	default:
		return nil, fmt.Errorf("the batch is compressed with codec %d, which is unknown", codec)
	}
	if cap(out) > cap(d.out) {
		d.out = out
	}
	switch {
	case errors.Is(err, errTooLong):
		return nil, fmt.Errorf("the batch is larger than %d MiB once decompressed, which is the most that is read", d.limit>>20)
	case err != nil:
		return nil, fmt.Errorf("the batch cannot be decompressed: it is not %s", [...]string{"", "gzip", "snappy", "lz4", "zstd"}[codec])
	}
	return out, nil
}

// room makes space for n more bytes, and for a quarter more than there was.
func room(out []byte, n int) []byte {
	if cap(out)-len(out) >= n {
		return out
	}
	grown := make([]byte, len(out), max(cap(out)+cap(out)/4, len(out)+n, 64<<10))
	copy(grown, out)
	return grown
}

// gunzip ignores what follows a member and is none, as Java's client does: some producers pad.
func (d *decompressor) gunzip(out, src []byte) ([]byte, error) {
	d.input.Reset(src)
	if d.gzip == nil {
		d.gzip = new(gzip.Reader)
	}
	for first := true; ; first = false {
		err := d.gzip.Reset(&d.input)
		if first && err != nil && !errors.Is(err, io.EOF) {
			return out, err
		}
		if err != nil {
			return out, nil
		}
		d.gzip.Multistream(false)
		for err == nil {
			out = room(out, 4<<10)
			var n int
			n, err = d.gzip.Read(out[len(out):cap(out)])
			out = out[:len(out)+n]
			if len(out) > d.limit {
				return out, errTooLong
			}
		}
		if !errors.Is(err, io.EOF) {
			return out, err
		}
	}
}

// xerial begins the frame in which the Java client writes snappy: then come two
// version numbers and blocks, each with its length before it.
var xerial = []byte("\x82SNAPPY\x00")

func (d *decompressor) unsnappy(out, src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, xerial) {
		return d.snappyBlock(out, src)
	}
	for len(src) > 0 {
		if bytes.HasPrefix(src, xerial) && len(src) >= 16 { // at the beginning, and where frames are joined
			src = src[16:]
			continue
		}
		if len(src) < 4 {
			return out, io.ErrUnexpectedEOF
		}
		n := be.Uint32(src)
		if uint64(n) > uint64(len(src)-4) {
			return out, io.ErrUnexpectedEOF
		}
		var err error
		if out, err = d.snappyBlock(out, src[4:4+n]); err != nil {
			return out, err
		}
		src = src[4+n:]
	}
	return out, nil
}

func (d *decompressor) snappyBlock(out, src []byte) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	if err != nil {
		return out, err
	}
	// Snappy expands at most 3 bytes to 64.
	if n > 22*len(src) {
		return out, fmt.Errorf("%d bytes cannot become %d", len(src), n)
	}
	if n > d.limit-len(out) {
		return out, errTooLong
	}
	out = room(out, n)
	block, err := s2.Decode(out[len(out):len(out)+n], src)
	if err != nil {
		return out, err
	}
	return out[:len(out)+len(block)], nil
}

// unlz4 reads an LZ4 frame (lz4_Frame_format.md of the reference implementation),
// block by block straight into out: a streaming reader would decompress into a
// buffer of its own and copy. It ignores the frame's checksums, because the
// batch's checksum covers every byte.
func (d *decompressor) unlz4(out, src []byte) ([]byte, error) {
	const (
		magic           = 0x184D2204
		version         = 0b01 << 6
		independent     = 1 << 5
		blockChecksum   = 1 << 4
		contentSize     = 1 << 3
		contentChecksum = 1 << 2
		dictionary      = 1 << 0
		uncompressed    = 1 << 31
	)
	if len(src) < 7 || binary.LittleEndian.Uint32(src) != magic {
		return out, errors.New("no frame")
	}
	flags, descriptor := src[4], src[5]
	if flags&(0b11<<6) != version || flags&dictionary != 0 {
		return out, fmt.Errorf("frame flags %#x", flags)
	}
	size := int(descriptor >> 4 & 7)
	if size < 4 {
		return out, fmt.Errorf("block size code %d", size)
	}
	blockMax := 1 << (8 + 2*size) // 64 KB, 256 KB, 1 MB, 4 MB
	src = src[6:]
	if flags&contentSize != 0 {
		if len(src) < 8 {
			return out, io.ErrUnexpectedEOF
		}
		src = src[8:]
	}
	if len(src) < 1 {
		return out, io.ErrUnexpectedEOF
	}
	src = src[1:] // header checksum
	for {
		if len(src) < 4 {
			return out, io.ErrUnexpectedEOF
		}
		word := binary.LittleEndian.Uint32(src)
		src = src[4:]
		if word == 0 { // end mark
			return out, nil
		}
		n := int(word &^ uncompressed)
		if n > len(src) || n > blockMax {
			return out, io.ErrUnexpectedEOF
		}
		block := src[:n]
		src = src[n:]
		if flags&blockChecksum != 0 {
			if len(src) < 4 {
				return out, io.ErrUnexpectedEOF
			}
			src = src[4:]
		}
		if word&uncompressed != 0 {
			if n > d.limit-len(out) {
				return out, errTooLong
			}
			out = append(room(out, n), block...)
			continue
		}
		// LZ4 expands at most one byte to 255, and events rarely to more than three. The room stays for the next batch. Writers
		// declare blocks of up to 4 MB, and few fill them.
		most := min(blockMax, 255*n+64)
		m, err := 0, error(nil)
		for enough := min(most, 3*n); ; enough = min(most, 2*enough) {
			out = room(out, enough)
			into := out[len(out):min(cap(out), len(out)+blockMax)]
			var window []byte
			if flags&independent == 0 {
				window = out[max(0, len(out)-64<<10):]
			}
			if m, err = lz4.UncompressBlockWithDict(block, into, window); err == nil {
				break
			}
			if len(into) >= most {
				return out, err
			}
		}
		out = out[:len(out)+m]
		if len(out) > d.limit {
			return out, errTooLong
		}
	}
}

// zstdBlock is the most that a block of zstd becomes.
const zstdBlock = 128 << 10

// unzstd makes room for all blocks before it decompresses them, so a frame's window needs no
// memory and decides nothing: a compressor of a stream declares that of its level, at level 22
// 128 MiB, before it knows the size.
func (d *decompressor) unzstd(out, src []byte) ([]byte, error) {
	least, most, err := zstdSize(src)
	switch {
	case err != nil:
		return out, err
	case least > uint64(d.limit):
		return out, errTooLong
	}
	if d.zstd == nil {
		d.zstd, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(1<<63), // of which the window's limit is a part
			zstd.WithDecoderMaxWindow(1<<41+7<<38),
			zstd.WithDecodeAllCapLimit(true),
			zstd.IgnoreChecksum(true)) // the batch's checksum covers every byte
		if err != nil {
			return out, err
		}
	}
	// Where a block does not fit, those before it are longer than the limit.
	enough := int(min(most, uint64(d.limit)+zstdBlock))
	out, err = d.zstd.DecodeAll(src, room(out, enough)[:0:enough])
	if len(out) > d.limit {
		return out, errTooLong
	}
	return out, err
}

// zstdSize returns bounds on what frames become, from the headers of their blocks. A size that
// a frame declares must be within those of its blocks.
func zstdSize(src []byte) (least, most uint64, err error) {
	for len(src) > 0 {
		var h zstd.Header
		if src, err = h.DecodeAndStrip(src); err != nil {
			return 0, 0, err
		}
		var low, high uint64
		tail := uint64(h.SkippableSize)
		if h.HasCheckSum {
			tail = 4
		}
		for last := h.Skippable; !last; {
			if len(src) < 3 {
				return 0, 0, io.ErrUnexpectedEOF
			}
			block := uint32(src[0]) | uint32(src[1])<<8 | uint32(src[2])<<16
			last = block&1 != 0
			size := uint64(block >> 3)
			stored := size
			switch block >> 1 & 3 {
			case 0: // as it is
				low, high = low+size, high+size
			case 1: // one byte, repeated
				low, high, stored = low+size, high+size, 1
			default:
				high += zstdBlock
			}
			if size > zstdBlock || stored > uint64(len(src)-3) {
				return 0, 0, io.ErrUnexpectedEOF
			}
			src = src[3+stored:]
		}
		if h.HasFCS {
			if h.FrameContentSize < low || h.FrameContentSize > high {
				return 0, 0, fmt.Errorf("blocks of %d to %d bytes cannot become %d", low, high, h.FrameContentSize)
			}
			low, high = h.FrameContentSize, h.FrameContentSize
		}
		if tail > uint64(len(src)) {
			return 0, 0, io.ErrUnexpectedEOF
		}
		least, most, src = least+low, most+high, src[tail:]
	}
	return least, most, nil
}
