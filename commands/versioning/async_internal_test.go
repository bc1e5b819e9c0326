package versioning

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPanicOfAnAsyncCallIsAnError(t *testing.T) {
	t.Parallel()
	failed := errors.New("it failed")
	require.NoError(t, startAsync(func() error { return nil })())
	require.ErrorIs(t, startAsync(func() error { return failed })(), failed)
	require.ErrorContains(t, startAsync(func() error { panic("oh no") })(), "panic: oh no")
}
