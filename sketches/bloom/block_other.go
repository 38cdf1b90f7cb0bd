//go:build !amd64 || purego

package bloom

func set(words []uint64, h uint64)             { setGeneric(words, h) }
func test(words []uint64, h uint64) bool       { return testGeneric(words, h) }
func testAndSet(words []uint64, h uint64) bool { return testAndSetGeneric(words, h) }
