//go:build !static

package local

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// embedded is why this binary cannot have the engine: nothing.
func embedded() error { return nil }

// dlopen loads a shared library into this process, without cgo, and returns
// what looks its functions up: resolve points *into, a func, at the symbol.
//
// dlerror keeps its text per thread, and purego asks for it in a second call:
// on another thread there is none, and the error would say nothing.
func dlopen(path string) (resolve func(symbol string, into any) error, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	return func(symbol string, into any) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		address, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return err
		}
		purego.RegisterFunc(into, address)
		return nil
	}, nil
}
