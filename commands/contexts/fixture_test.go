package contexts_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"svc/commands/contexts"
	"svc/commands/seal"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/catalog"
	"svc/domain/value"
	"svc/eventstore/jetstream"
)

var quiet = slog.New(slog.DiscardHandler)

// spy is a real store that counts how often it is read and notes where what is
// put is stored. It can also keep an answer to itself.
type spy struct {
	*jetstream.Data
	Store *jetstream.Store

	reads atomic.Int32
	lose  atomic.Bool        // the next answer
	hold  chan chan struct{} // given to who puts something, which waits for it; nil: nobody waits
	drop  func()             // what happens before something is dropped

	mu     sync.Mutex
	places map[uint64]string // names of operations by sequence
}

func (s *spy) Put(ctx context.Context, id domain.StreamID, name string, body []byte, stored func(uint64, string)) error {
	lose := s.lose.Swap(false)
	if s.hold != nil {
		<-<-s.hold
	}
	err := s.Data.Put(ctx, id, name, body, func(seq uint64, parts string) {
		s.mu.Lock()
		s.places[seq] = name
		s.mu.Unlock()
		if !lose {
			stored(seq, parts)
		}
	})
	if lose {
		return context.DeadlineExceeded
	}
	return err
}

func (s *spy) Since(ctx context.Context, id domain.StreamID, after uint64, visit func(uint64, bool, string, []byte) error) error {
	s.reads.Add(1)
	return s.Data.Since(ctx, id, after, visit)
}

func (s *spy) Drop(ctx context.Context, id domain.StreamID, below uint64) error {
	if s.drop != nil {
		s.drop()
	}
	return s.Data.Drop(ctx, id, below)
}

// inOrder returns the names of all operations in the order of the log.
func (s *spy) inOrder() (names []string) {
	for _, seq := range slices.Sorted(maps.Keys(s.places)) {
		names = append(names, s.places[seq])
	}
	return names
}

// clock is a time that tests move.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time       { return time.UnixMilli(c.at.Load()).UTC() }
func (c *clock) pass(d time.Duration) { c.at.Add(d.Milliseconds()) }

// node is contexts on a store.
type node struct {
	*contexts.Contexts
	*clock
	store *spy
	vault *vault.Vault
}

func openStore(t testing.TB, o jetstream.Options) *jetstream.Store {
	t.Helper()
	o.Events, o.Log, o.MaxWait = catalog.Events(), quiet, 10*time.Second
	store, err := jetstream.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, store.Close(ctx))
	})
	return store
}

// join returns contexts of a node with a memory of that many bytes.
func join(t testing.TB, store *jetstream.Store, memory int) *node {
	t.Helper()
	bucket, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	n := &node{clock: &clock{}, store: &spy{Data: store.Data, Store: store, places: map[uint64]string{}}, vault: vault.New(box, bucket)}
	n.at.Store(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	n.Contexts = contexts.New(contexts.Options{Store: n.store, Vault: n.vault, Now: n.now, Memory: memory, Log: quiet})
	return n
}

// openSingleNode returns a node with a log of its own.
func openSingleNode(t testing.TB) *node {
	return join(t, openStore(t, jetstream.Options{Dir: t.TempDir()}), 0)
}

// pair returns two nodes at one broker.
func pair(t testing.TB) (one, two *node) {
	t.Helper()
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	require.NoError(t, err)
	broker.Start()
	t.Cleanup(func() { broker.Shutdown(); broker.WaitForShutdown() })
	require.True(t, broker.ReadyForConnections(time.Minute))
	o := jetstream.Options{URL: []string{broker.ClientURL()}}
	one, two = join(t, openStore(t, o), 0), join(t, openStore(t, o), 0)
	require.False(t, one.store.Alone())
	return one, two
}

var global = contexts.Key{WorkspaceID: "w1", Kind: "global"}

func path(t testing.TB, text string) []expr.Step {
	t.Helper()
	if text == "" {
		return nil
	}
	steps, ok := expr.PlainPath(text)
	require.True(t, ok, text)
	return steps
}

// write is one operation; its value is JSON, or undefined when empty.
func write(t testing.TB, kind variable.Kind, at, text string) contexts.Write {
	t.Helper()
	w := contexts.Write{Op: variable.Op{Kind: kind, Path: path(t, at), Value: value.Undefined}}
	if text != "" {
		v, err := value.ParseJSON(text)
		require.NoError(t, err, text)
		w.Op.Value = v
	}
	return w
}

func set(t testing.TB, at, text string) contexts.Write { return write(t, variable.Replace, at, text) }

var ids atomic.Int64

func newID() string { return fmt.Sprintf("op-%d", ids.Add(1)) }

// add appends writes that do not expire.
func (n *node) add(t testing.TB, key contexts.Key, writes ...contexts.Write) {
	t.Helper()
	require.NoError(t, n.Append(t.Context(), newID(), []contexts.Change{{Key: key, Writes: writes}}))
}

// try is add where a test may not end.
func (n *node) try(t testing.TB, change contexts.Change) {
	t.Helper()
	if err := n.Append(t.Context(), newID(), []contexts.Change{change}); err != nil {
		t.Error(err)
	}
}

// readJSON returns a context as JSON.
func (n *node) readJSON(t testing.TB, key contexts.Key) string {
	t.Helper()
	got, err := n.Load(t.Context(), key)
	require.NoError(t, err)
	return value.JSON(got, "")
}
