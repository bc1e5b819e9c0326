// Package secrets_test looks for secrets in everything that a service keeps and shows.
package secrets_test

import (
	"testing"

	"svc/cmd/node/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
