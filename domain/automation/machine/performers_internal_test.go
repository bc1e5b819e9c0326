package machine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
)

func TestEveryInstructionIsPerformed(t *testing.T) {
	t.Parallel()
	for _, name := range automation.Instructions() {
		if performers[name] == nil {
			require.NotEmpty(t, automation.EffectOf(name).Kind, "%s has no effect: add it to performers", name)
		}
	}
	for name := range performers {
		require.Contains(t, automation.Instructions(), name)
	}
}
