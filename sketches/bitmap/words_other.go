//go:build !amd64 || purego

package bitmap

func count(b []byte) uint64 { return countGeneric(b) }
func or(d, s []byte)        { orGeneric(d, s) }
func or2(d, s, t []byte)    { or2Generic(d, s, t) }
