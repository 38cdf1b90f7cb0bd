package redis

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"weir/internal/redistest"
)

// FuzzCommands: whatever a client sends, every reply is well formed, and the
// server answers the next client.
func FuzzCommands(f *testing.F) {
	for _, s := range []string{
		"SET k v EX 10\r\nGET k\r\nAPPEND k x\r\nSETRANGE k 3 yy\r\nGETRANGE k 0 -1\r\n",
		"PFADD h a b c\r\nPFCOUNT h\r\nPFMERGE h2 h\r\nGET h2\r\nPFDEBUG GETREG h\r\nSET h HYLL\r\nPFCOUNT h\r\n",
		"SETBIT b 7 1\r\nBITFIELD b SET u8 #1 200 OVERFLOW SAT INCRBY i5 100 1\r\nBITOP NOT c b\r\nBITPOS b 1 0 -1 BIT\r\nBITCOUNT b\r\n",
		"BF.RESERVE f 0.01 100\r\nBF.ADD f x\r\nBF.MEXISTS f x y\r\nBF.INFO f\r\n",
		"GEOADD g 13.361389 38.115556 P 15.087269 37.502669 C\r\nGEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC COUNT 1 ANY WITHCOORD WITHDIST WITHHASH\r\nGEORADIUS g 15 37 nan km\r\n",
		"ZADD z GT CH 1 a inf b -inf c\r\nZRANGE z (1 +inf BYSCORE LIMIT 0 -1\r\nZRANGEBYSCORE z -inf +inf WITHSCORES\r\n",
		"MULTI\r\nSET a 1\r\nGET a\r\nEXEC\r\nMULTI\r\nDISCARD\r\nHELLO 3\r\nCOMMAND DOCS get\r\nSCAN 0 MATCH *[a-\r\n",
		"CL.THROTTLE u 15 30 60\r\nSET l me NX PX 100\r\nDELEX l IFEQ me\r\nEVAL x 0\r\nMEMORY USAGE l\r\n",
		"PFCOUNT w:clicks:users:now:/p/1\r\nKEYS *\r\nGET w:clicks:hits:-3..now\r\nBITCOUNT w:clicks:active:now:/p/1 0 -1 BIT\r\n",
		"SADD u 1 2 x\r\nSREM u 2\r\nSINTERCARD 2 u v LIMIT 1\r\nSUNIONSTORE d u v\r\nSRANDMEMBER d -3\r\nSPOP d 1\r\nSSCAN d 0 MATCH *[ COUNT 2\r\nSDIFF d w:clicks:users:now:/p/1\r\n",
		"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n",
		"LPUSH l a b\r\nRPOP l\r\nGET l\r\nEXPIREAT l 9223372036854775807\r\nPTTL l\r\nFLUSHALL\r\nINFO\r\n",
	} {
		f.Add([]byte(s))
	}
	windows := newFakeWindows()
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := New(Config{Windows: windows, Bulk: 1 << 20, Memory: 8 << 20, Request: 1 << 20, Buffers: 16 << 20, Args: 4096, Stall: 5 * time.Second})
		us, them := net.Pipe()
		c := s.admit(t.Context(), them)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.dismiss(c, c.serve())
		}()
		go func() {
			_, _ = us.Write(sent)
			_, _ = io.WriteString(us, "\r\nQUIT\r\n")
			_ = us.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // data may not be a complete command
		}()
		replies := redistest.NewConn(us)
		err := error(nil)
		for err == nil {
			_, err = replies.Receive()
		}
		// The test client does not read the types of RESP3, which follow HELLO 3.
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrDeadlineExceeded) && !bytes.Contains(bytes.ToUpper(sent), []byte("HELLO")) {
			t.Errorf("after %q: %v", sent, err)
		}
		_ = us.Close()
		<-ended

		again, other := net.Pipe()
		next := s.admit(t.Context(), other)
		go func() {
			s.dismiss(next, next.serve())
		}()
		if got, err := redistest.NewConn(again).Do("PING"); err != nil || got != "PONG" {
			t.Fatalf("after %q the next client gets %v, %v", sent, got, err)
		}
		_ = again.Close()
	})
}
