//go:build !static

package local

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// embedded returns the reason why this binary cannot have the engine: none, it can.
func embedded() error { return nil }

// dlopen loads a shared library into this process, without cgo. The function
// resolve that it returns makes *into, a func, call the symbol.
//
// dlerror keeps its text per thread, and purego asks for it in a second call:
// on another thread the text would be empty, so both calls must run on one
// thread.
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
