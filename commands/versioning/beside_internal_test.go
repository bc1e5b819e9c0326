package versioning

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPanicBesideIsAnError(t *testing.T) {
	t.Parallel()
	failed := errors.New("it failed")
	require.NoError(t, beside(func() error { return nil })())
	require.ErrorIs(t, beside(func() error { return failed })(), failed)
	require.ErrorContains(t, beside(func() error { panic("oh no") })(), "panic: oh no")
}
