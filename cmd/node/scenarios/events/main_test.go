// Package events_test asks services over HTTP for events: emitted, listed, followed, searched, delivered.
package events_test

import (
	"testing"

	"svc/cmd/node/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
