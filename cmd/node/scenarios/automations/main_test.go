// Package automations_test asks services over HTTP what automations do: documents, endpoints, instructions, modules.
package automations_test

import (
	"testing"

	"svc/cmd/node/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
