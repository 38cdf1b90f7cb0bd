//go:build !amd64 || purego

package bloom

func usePlain() bool { return false }
func useAssembly()   {}
