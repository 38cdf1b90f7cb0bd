//go:build !mistakes

package sim

const plantable = false

func plant(Mistake) {}
