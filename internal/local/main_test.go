package local_test

import (
	"testing"

	"weir/internal/local/localtest"
)

func TestMain(m *testing.M) { localtest.Main(m) }
