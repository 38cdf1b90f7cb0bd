package far

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"weir/internal/tcptest"
)

// Everything arrives, in order, both ways, and no sooner than it may.
func TestLink(t *testing.T) {
	echo := tcptest.Serve(tcptest.Listen(t), func(c net.Conn) { io.Copy(c, c) })
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.To(echo)
	random := rand.New(rand.NewPCG(1, 1))
	const trip = 40 * time.Millisecond
	for _, d := range []time.Duration{0, trip} {
		l.RoundTrip(d)
		began := time.Now()
		c, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		sent := make([]byte, 3<<20)
		for i := range sent {
			sent[i] = byte(random.Uint32())
		}
		go func() {
			c.Write(sent)
			c.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%v: %d bytes of %d came back as they were: %v", d, len(got), len(sent), err)
		}
		if took := time.Since(began); took < 2*d { // the connection, and there and back
			t.Errorf("%v: came back after %v", d, took)
		}
		c.Close()
	}
}
