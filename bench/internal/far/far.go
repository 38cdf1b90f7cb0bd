// Package far puts a distance between two programs on one machine: a TCP proxy
// through which every byte takes half a round trip longer each way. Bandwidth stays
// what it is, and bytes stay in order. (Linux's netem does the same where the kernel
// has it, for root; toxiproxy, as a module, brings fifteen others.)
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

// Addr is where it listens.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// To says where it leads.
func (l *Link) To(addr string) { l.to.Store(&addr) }

// RoundTrip sets how long a byte and its answer are on the way from now on.
func (l *Link) RoundTrip(d time.Duration) { l.trip.Store(int64(d)) }

// Close takes no more connections; those that there are end with either side.
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
		return // the client connects again
	}
	// The client is connected already; over a distance that takes a round trip.
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

// A parcel is bytes on their way.
type parcel struct {
	bytes []byte
	due   time.Time
}

const (
	parcelBytes = 64 << 10
	onTheWay    = 4096 // parcels; 256 MiB in 50 ms are more than a machine makes
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
