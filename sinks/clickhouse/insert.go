package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
)

// insertPieces runs one INSERT statement on a shard, into the table of a block, with the bytes of a Native
// block in pieces. The sequence makes a piece when the one before has been sent, so it may
// use one buffer for all. After an error it must not use that buffer again: a request that
// failed may still send it.
func (c *Client) insertPieces(ctx context.Context, on *replicas, b *block, pieces iter.Seq[[]byte]) error {
	next, stop := iter.Pull(pieces)
	defer stop()
	r := &body{next: next}
	err := c.insert(ctx, on, b, r)
	if whole := r.let(); err == nil && !whole {
		return fmt.Errorf("clickhouse: insert into %s: the server acknowledged rows that it had not read", b.table)
	}
	return err
}

// A body reads pieces, as the body of a request. The request reads it in a goroutine of its
// own, perhaps still after it has failed; therefore pieces are made under a lock, and none
// after let: the caller may change the table that they are made from.
type body struct {
	mu   sync.Mutex
	next func() ([]byte, bool)
	gone bool
	end  bool // all is read

	piece []byte // what is left of it; the reader's
}

var errLetGo = errors.New("the request is over")

// more makes the next piece. It returns io.EOF after the last one.
func (r *body) more() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return errLetGo
	}
	var ok bool
	if r.piece, ok = r.next(); !ok {
		r.end = true
		return io.EOF
	}
	return nil
}

// let makes the request read nothing more, and reports whether it has read all.
func (r *body) let() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	return r.end
}

// Read implements io.Reader.
func (r *body) Read(p []byte) (int, error) {
	for len(r.piece) == 0 {
		if err := r.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

// WriteTo implements io.WriterTo. It passes each piece whole, whereas io.Copy would copy it
// through a buffer of 32 KiB.
func (r *body) WriteTo(w io.Writer) (sum int64, err error) {
	for {
		switch err := r.more(); {
		case errors.Is(err, io.EOF):
			return sum, nil
		case err != nil:
			return sum, err
		}
		n, err := w.Write(r.piece)
		sum += int64(n)
		if err != nil {
			return sum, err
		}
	}
}

// flush inserts the rows that a block has, if any, as a block of their own.
func (c *Client) flush(ctx context.Context, on *replicas, b *block) error {
	if b.rows == 0 {
		return nil
	}
	err := c.insertPieces(ctx, on, b, b.pieces)
	if err != nil {
		b.abandon()
		return err
	}
	b.reset()
	return nil
}
