//go:build !amd64 || purego

package event

const striding = false

func stride(*step, *span, *byte, int, int, int) (next, step int, found uint64, ended bool) {
	panic("event: no stride")
}
