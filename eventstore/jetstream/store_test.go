package jetstream_test

import (
	"cmp"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/catalog"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/eventstore/storetest"
)

// unlessExpired starts a store in dir and closes it with the test.
func open(t *testing.T, o jetstream.Options) *jetstream.Store {
	t.Helper()
	s, err := jetstream.Open(t.Context(), withEvents(o))
	require.NoError(t, err)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func withEvents(o jetstream.Options) jetstream.Options {
	o.Events = catalog.Events()
	o.MaxWait = cmp.Or(o.MaxWait, 20*time.Second) // on a machine that does much else, too
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func closeStore(t *testing.T, s *jetstream.Store) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, s.Close(ctx))
}

func TestEmbeddedGroup(t *testing.T) {
	storetest.Run(t, func(t *testing.T) eventstore.Store {
		return open(t, jetstream.Options{Dir: t.TempDir()}).Log
	})
}

func TestEmbeddedAlways(t *testing.T) {
	storetest.Run(t, func(t *testing.T) eventstore.Store {
		return open(t, jetstream.Options{Dir: t.TempDir(), Sync: jetstream.SyncAlways}).Log
	})
}
