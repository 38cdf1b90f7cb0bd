//go:build !linux

package local

// machineMemory returns the assumed size of the memory, which has no portable query.
func machineMemory() (int64, error) { return 8 << 30, nil }
