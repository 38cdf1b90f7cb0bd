package redis

import (
	"net"
	"time"

	"weir/serve/resp"
)

// loopRoom is how much a connection reads at a time.
const loopRoom = 8 << 10

// loop reads what a client sends, runs it, and sends the replies, until the connection
// ends; the error says why it ended. Each connection has a goroutine with this loop.
// Where there is epoll, epoll_linux.go does the same for many connections in one
// goroutine, unless a connection is more than a file descriptor, such as TLS.
func (c *client) loop(conn net.Conn) error {
	d := &deadlines{client: c, conn: conn}
	room := resp.NewRoom(loopRoom, 0)
	var w resp.Writer
	for {
		d.last = time.Now()
		ended := c.r.Fill(room, d)
		for {
			next, err := c.turn(room, &w, true)
			if err == nil {
				c.server.hold(c, c.holding()+w.Len())
				err = d.flush(&w)
				c.server.hold(c, c.holding())
			}
			if err != nil {
				return err
			}
			if next == ends {
				return c.why
			}
			if next == needsPause {
				select {
				case <-c.ctx.Done():
				case <-time.After(c.pause):
				}
				c.pause = 0
			}
			if next == needsInput {
				break
			}
		}
		if ended != nil {
			return ended
		}
		c.waits(time.Now())
	}
}

// deadlines is a connection with the time limits of its client.
type deadlines struct {
	client                *client
	conn                  net.Conn
	last                  time.Time // when the client last sent something
	readUntil, writeUntil time.Time // the deadlines that are set
}

// Read waits for input for as long as the client may be silent.
func (d *deadlines) Read(b []byte) (int, error) {
	until := d.client.due(d.last)
	// Setting a deadline costs as much as a short command, so one that is nearly
	// right stays.
	if late := until.Sub(d.readUntil); until.IsZero() != d.readUntil.IsZero() || late < 0 || late > d.client.server.config.Idle/8 {
		d.readUntil = until
		if err := d.conn.SetReadDeadline(until); err != nil {
			return 0, err
		}
	}
	return d.conn.Read(b)
}

// flush sends what w holds. It fails if the client does not read that in time.
func (d *deadlines) flush(w *resp.Writer) error {
	if w.Len() == 0 {
		return nil
	}
	limit := d.client.server.config.Write
	if now := time.Now(); d.writeUntil.Sub(now) < limit {
		d.writeUntil = now.Add(limit * 5 / 4)
		if err := d.conn.SetWriteDeadline(d.writeUntil); err != nil {
			return err
		}
	}
	_, err := d.conn.Write(w.Bytes())
	w.Reset()
	return err
}
