// Package far simulates a distance between two programs on one machine. Its TCP proxy
// delays every byte by half a round trip each way. It does not limit the bandwidth, and
// keeps bytes in order. (Linux's netem needs root and a kernel that has it; toxiproxy, as
// a module, has fifteen dependencies.)
package far

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Link is one proxy.
type Link struct {
	listener net.Listener
	to       atomic.Pointer[string]
	trip     atomic.Int64 // nanoseconds
}

// Open listens on a loopback address. It closes connections until To is called.
func Open() (*Link, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	link := &Link{listener: l}
	go link.accept()
	return link, nil
}

// Addr returns the proxy's address.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// To sets the address to which the proxy connects.
func (l *Link) To(addr string) { l.to.Store(&addr) }

// RoundTrip sets the delay of a byte and its answer together, from now on.
func (l *Link) RoundTrip(d time.Duration) { l.trip.Store(int64(d)) }

// Close stops accepting connections. Open connections end when one of their sides ends.
func (l *Link) Close() error { return l.listener.Close() }

func (l *Link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.connect(from)
	}
}

func (l *Link) connect(from net.Conn) {
	defer from.Close()
	to := l.to.Load()
	if to == nil {
		return // the client will connect again
	}
	// To the client, the connection exists already. Over a real distance that would have
	// taken a round trip.
	time.Sleep(time.Duration(l.trip.Load()))
	there, err := net.Dial("tcp", *to)
	if err != nil {
		return
	}
	defer there.Close()
	var both sync.WaitGroup
	both.Go(func() { l.carry(there, from) })
	both.Go(func() { l.carry(from, there) })
	both.Wait()
}

// A parcel has bytes that are on their way.
type parcel struct {
	bytes []byte
	due   time.Time
}

const (
	parcelBytes = 64 << 10
	onTheWay    = 4096 // parcels: 256 MiB, which is more than a machine sends in 50 ms
)

// carry copies one direction until it ends.
func (l *Link) carry(to, from net.Conn) {
	way := make(chan parcel, onTheWay)
	free := sync.Pool{New: func() any { return make([]byte, parcelBytes) }}
	var arrival sync.WaitGroup
	arrival.Go(func() {
		defer to.(*net.TCPConn).CloseWrite() //nolint:errcheck // the other side is gone
		for p := range way {
			time.Sleep(time.Until(p.due))
			_, err := to.Write(p.bytes)
			free.Put(p.bytes[:parcelBytes]) //nolint:staticcheck // a header of 24 bytes for 64 KiB
			if err != nil {
				from.Close()
				for range way { // the rest is lost
				}
				return
			}
		}
	})
	for {
		b := free.Get().([]byte)
		n, err := from.Read(b)
		if n > 0 {
			way <- parcel{b[:n], time.Now().Add(time.Duration(l.trip.Load()) / 2)}
		}
		if err != nil {
			break
		}
	}
	close(way)
	arrival.Wait()
}
