//go:build static

package local

import "errors"

// embedded returns the reason why this binary cannot have the engine. A binary that
// imports purego needs the system's dynamic linker, even with cgo off, and an
// image made from scratch has no dynamic linker. So the image is built with the
// tag static; it talks to a ClickHouse server and needs no engine.
func embedded() error {
	return errors.New("this weir was built without the embedded engine and broker (tag static, as in the container image): " +
		"weir run works with Kafka and a ClickHouse server; for weir up, weir engine and weir broker use a binary of `make build`")
}

func dlopen(string) (func(symbol string, into any) error, error) { return nil, embedded() }
