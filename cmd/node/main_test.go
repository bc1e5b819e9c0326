package node_test

import (
	"testing"

	"svc/cmd/node/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
