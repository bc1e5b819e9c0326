//go:build fault

package fault

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/eventstore"
	"svc/eventstore/crashfs"
	"svc/eventstore/jetstream"
)

// erased is the workspace whose events purgeAndWrite purges now and then; those of
// keeps stay.
const erased, keeps = "old", "kept"

// purgeAndWrite appends activity events of two workspaces, large enough for several
// blocks, and purges those of one of them. What was acknowledged is noted as
// writeToStore does; a purge as "purged" and the sequence before which it was.
func purgeAndWrite() error {
	dir, ctx := os.Getenv("FAULT_DIR"), context.Background()
	acks, err := os.OpenFile(filepath.Join(dir, "acks"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	store, err := jetstream.Open(ctx, storeOptions(filepath.Join(dir, "log"), jetstream.SyncGroup))
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(3, 7))
	for i := range 400 {
		scope := []string{erased, erased, keeps}[rng.IntN(3)]
		fact := eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: "my.event", Body: fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", rng.IntN(150_000)))}}
		r, err := store.Log.Append(ctx, eventstore.Commit{Stream: domain.StreamID{Scope: scope}, Facts: []eventstore.Fact{fact}})
		if err != nil {
			return err
		}
		line := ""
		if scope == keeps {
			line = fmt.Sprintf("%s:%d\n", fact.ID, r.Seqs[0])
		}
		if i%40 == 39 {
			if err := store.Log.PurgeActivity(ctx, erased, "", r.Seqs[0]-5); err != nil {
				return err
			}
			line += fmt.Sprintf("purged:%d\n", r.Seqs[0]-5)
		}
		if line == "" {
			continue
		}
		if _, err := io.WriteString(acks, line); err != nil {
			return err
		}
	}
	return nil // without closing: the power goes before that
}

// A purge loses nothing but what it is about, whenever the power goes, and what it
// took does not come back once it was said to be gone.
func TestPowerLossAroundAPurge(t *testing.T) {
	t.Parallel()
	seed := nodetest.Seed()
	t.Logf("FAULT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	r := recordRole(t, "store-purger")
	require.NotEmpty(t, r.acks)
	cuts := nodetest.Cycles(40, 400)
	for range cuts {
		r.checkPurged(t, r.cut(rng))
	}
	nodetest.Report(t, "power-purge", map[string]any{"seed": seed, "cuts": cuts, "lost": 0, "returned": 0, "acknowledged": len(r.acks), "operations": r.ops})
}

func (r *recording) checkPurged(t *testing.T, cut crashfs.Cut) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, r.fs.Image(cut, dir), "%v", cut)
	store, err := jetstream.Open(t.Context(), storeOptions(filepath.Join(dir, "log"), jetstream.SyncGroup))
	require.NoError(t, err, "%v", cut)
	defer func() { require.NoError(t, store.Close(context.Background())) }()
	require.NoError(t, store.Damage(), "%v", cut)

	found, first := map[string]uint64{}, uint64(0)
	eachEvent(t, store.Log, domain.Activity, func(ev domain.Recorded) {
		if found[ev.ID] = ev.Seq; ev.Stream.Scope == erased && first == 0 {
			first = ev.Seq
		}
	})
	for _, a := range r.acks {
		if a.op >= cut.At {
			break
		}
		for id, seq := range a.facts {
			if id == "purged" {
				require.True(t, first == 0 || first >= seq, "%d came back after %v, purged before %d", first, cut, seq)
				continue
			}
			require.Equal(t, seq, found[id], "%s is gone after %v", id, cut)
		}
	}
	require.NoError(t, store.Log.PurgeActivity(t.Context(), erased, "", ^uint64(0)), "the store must go on after %v", cut)
}
