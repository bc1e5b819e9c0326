// Package workspaces_test asks services over HTTP for workspaces and what they hold, and for its past.
package workspaces_test

import (
	"testing"

	"svc/cmd/node/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
