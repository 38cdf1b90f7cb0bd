//go:build static

package local

import "errors"

// dlopen in a static binary: there is none. Whoever imports purego gets a
// binary that the system's dynamic linker has to start, even with cgo off, and
// an image made from scratch has no dynamic linker. So the image is built with
// the tag static; it talks to a ClickHouse server and needs no engine.
func dlopen(string) (func(symbol string, into any) error, error) {
	return nil, errors.New("this weir was built without the embedded engine (tag static, as in the container image)")
}
