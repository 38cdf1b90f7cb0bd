package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weir/demo/local/localtest"
	"weir/internal/await"
)

// The test binary is also the `weir` that the scripts call, and the engine's
// child process. programs are the commands that tests may start as processes of
// their own.
var programs = map[string]func(){"weir": main}

func TestMain(m *testing.M) {
	localtest.Hook()
	checkTimeout, sampleTimeout = await.Never, await.Never // also of the commands, which are this binary
	testscript.Main(tests{m}, programs)
}

// tests runs the tests, and then stops the engine if a test has started it.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer localtest.Stop()
	return t.M.Run()
}
