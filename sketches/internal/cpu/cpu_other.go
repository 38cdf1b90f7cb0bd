//go:build !amd64 || purego

package cpu

func detect() features { return features{} }
