//go:build !linux

package localtest

import "os"

// temporary makes the engine's directory.
func temporary() (string, error) { return os.MkdirTemp("", pattern) }
