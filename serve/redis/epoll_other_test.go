//go:build !linux || noepoll

package redis

// idleMost is how many bytes an idle connection may take: it has a goroutine, and the
// buffers of its reader.
const idleMost = 16 << 10
