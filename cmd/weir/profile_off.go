//go:build !profile

package main

// profiled runs the program: see profile.go.
func profiled(run func() int) int { return run() }
