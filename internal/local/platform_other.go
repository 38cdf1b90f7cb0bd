//go:build !linux

package local

import "os"

// memoryFile makes a temporary file on disk; only Linux has files in memory
// with a name.
func memoryFile() (f *os.File, path string, err error) {
	if f, err = os.CreateTemp("", "weir-rows-"); err != nil {
		return nil, "", err
	}
	return f, f.Name(), nil
}

// machineMemory returns the assumed size of the memory, which has no portable query.
func machineMemory() (int64, error) { return 8 << 30, nil }
