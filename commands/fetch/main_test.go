package fetch_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No exchange, stream or timer may leave anything behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
