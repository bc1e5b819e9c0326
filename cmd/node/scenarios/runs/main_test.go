// Package runs_test asks services over HTTP how runs begin, wait, go on and end, restarts included.
package runs_test

import (
	"testing"

	"svc/cmd/node/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
