//go:build !linux

package redis

import (
	"context"
	"net"
)

// A loop needs epoll. On systems without it every connection has a goroutine of
// its own.
type loop struct{}

func newLoops(*Server, int) ([]*loop, error) { return nil, nil }

func (*loop) take(*client, net.Conn) bool { return false }

func (*loop) run(context.Context) error { return nil }
