//go:build !linux

package local

import (
	"os"
	"syscall"
)

// memoryFile makes a temporary file; elsewhere than on Linux there is none in
// memory that has a name.
func memoryFile() (f *os.File, path string, err error) {
	if f, err = os.CreateTemp("", "weir-rows-"); err != nil {
		return nil, "", err
	}
	return f, f.Name(), nil
}

// machineMemory is what the default is computed from where the size of the
// memory cannot be asked portably.
func machineMemory() (int64, error) { return 8 << 30, nil }

// dieWithParent has no equal here; the lifeline ends the child.
func dieWithParent() *syscall.SysProcAttr { return nil }
