// Package nodes_test starts several nodes that share one log.
package nodes_test

import (
	"testing"

	"svc/cmd/node/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
