//go:build !static

package local

import "github.com/ebitengine/purego"

// dlopen loads a shared library into this process, without cgo, and returns
// what looks its functions up: resolve points *into, a func, at the symbol.
func dlopen(path string) (resolve func(symbol string, into any) error, err error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	return func(symbol string, into any) error {
		address, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return err
		}
		purego.RegisterFunc(into, address)
		return nil
	}, nil
}
