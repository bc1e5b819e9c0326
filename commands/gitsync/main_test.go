package gitsync_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing that a session started outlives it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
