package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// A Conn is a connection that speaks RESP2: just enough to compare replies.
type Conn struct {
	conn net.Conn
	r    *bufio.Reader
	w    *bufio.Writer
}

// An Error is an error reply, the text as the server sent it.
type Error string

func (e Error) Error() string { return string(e) }

// Dial connects to a server.
func Dial(addr string) (*Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return NewConn(c), nil
}

// NewConn returns a Conn on an open connection.
func NewConn(c net.Conn) *Conn {
	return &Conn{c, bufio.NewReaderSize(c, 1<<16), bufio.NewWriterSize(c, 1<<16)}
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Do sends one command and reads its reply: int64, string (a status or a
// bulk), nil, []any or Error. Arguments are strings, byte slices, or anything
// else as fmt prints it.
func (c *Conn) Do(args ...any) (any, error) {
	if err := c.Send(args...); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	return c.Receive()
}

// Send buffers one command without waiting for its reply.
func (c *Conn) Send(args ...any) error {
	fmt.Fprintf(c.w, "*%d\r\n", len(args))
	for _, a := range args {
		var err error
		switch a := a.(type) {
		case string:
			fmt.Fprintf(c.w, "$%d\r\n", len(a))
			_, err = c.w.WriteString(a)
		case []byte:
			fmt.Fprintf(c.w, "$%d\r\n", len(a))
			_, err = c.w.Write(a)
		default:
			s := fmt.Sprint(a)
			fmt.Fprintf(c.w, "$%d\r\n", len(s))
			_, err = c.w.WriteString(s)
		}
		if err != nil {
			return err
		}
		c.w.WriteString("\r\n")
	}
	return nil
}

// Write buffers commands already in wire form.
func (c *Conn) Write(wire []byte) (int, error) { return c.w.Write(wire) }

// Flush sends what is buffered.
func (c *Conn) Flush() error { return c.w.Flush() }

// Receive reads one reply.
func (c *Conn) Receive() (any, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, errors.New("redistest: empty reply line")
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return Error(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("redistest: reply %q: %w", line, err)
	}
	switch kind {
	case ':':
		return n, nil
	case '$':
		if n < 0 {
			return nil, nil
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(c.r, b); err != nil {
			return nil, err
		}
		return string(b[:n]), nil
	case '*':
		if n < 0 {
			return nil, nil
		}
		list := make([]any, n)
		for i := range list {
			if list[i], err = c.Receive(); err != nil {
				return nil, err
			}
		}
		return list, nil
	default:
		return nil, fmt.Errorf("redistest: reply %q", line)
	}
}
