//go:build !amd64 || !linux || purego

package event

import "testing"

func withoutStride(f func()) { f() }

func atEndOfMemory(_ *testing.T, doc []byte) []byte { return doc }
