package webhooks

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAttemptsHaveOneContextUntilOneTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := (&sender{timeout: time.Second}).newTimeLimit(t.Context())
		first := limit.begin()
		<-time.After(900 * time.Millisecond)
		limit.end()
		second := limit.begin()
		require.Equal(t, first, second)
		<-time.After(900 * time.Millisecond)
		require.NoError(t, second.Err(), "each attempt has all of the time")
		<-time.After(200 * time.Millisecond)
		require.ErrorIs(t, context.Cause(second), context.DeadlineExceeded)
		limit.end()
		third := limit.begin()
		require.NoError(t, third.Err(), "the next attempt begins anew")
		limit.end()
		<-time.After(time.Minute)
		require.NoError(t, third.Err(), "between two attempts no time passes")
		limit.close()
		require.Error(t, third.Err())
	})
}
