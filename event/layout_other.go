//go:build !amd64 || purego

package event

const striding = false

func stride(*step, *span, *byte, int, int, uint8) (next int, to uint8, found uint64, ended bool) {
	panic("event: no stride")
}
