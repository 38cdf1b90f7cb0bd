package local_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"weir/demo/local"
	"weir/demo/local/localtest"
)

// parentEnv makes the test binary a program that starts an engine on the named
// directory, prints its pid and URL, and waits for a kill.
const parentEnv = "WEIR_TEST_ENGINE_PARENT"

func TestMain(m *testing.M) {
	local.MaybeChild()
	if dir := os.Getenv(parentEnv); dir != "" {
		e, err := local.StartEngine(context.Background(), local.EngineConfig{Listen: "127.0.0.1:0", Data: dir, Memory: 1 << 30})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(e.Pid(), e.URL())
		time.Sleep(time.Hour)
	}
	localtest.Main(m)
}
