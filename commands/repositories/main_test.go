package repositories_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing that a test of a connection started outlives it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
