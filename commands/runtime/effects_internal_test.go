package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/machine"
)

func TestEveryKindOfRequestIsPerformed(t *testing.T) {
	t.Parallel()
	effects := newEffects()
	for _, kind := range machine.Kinds() {
		require.NotNil(t, effects[kind].perform, "add %q to newEffects", kind)
		delete(effects, kind)
	}
	require.Empty(t, effects, "nothing requests these")
}
