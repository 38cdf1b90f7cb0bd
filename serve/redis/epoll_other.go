//go:build !linux || noepoll

package redis

import (
	"context"
	"net"
	"sync"
)

// epoll serves no connection where there is no epoll.
func (s *Server) epoll(context.Context, context.CancelFunc, *sync.WaitGroup) (take func(*client, net.Conn) bool, err error) {
	return func(*client, net.Conn) bool { return false }, nil
}
