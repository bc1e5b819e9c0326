package projections_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/projections"
)

// drawer puts things in, takes some out, and now and then looks at all of them
// and empties itself: everything that a projection can do.
type drawer struct{}

func (drawer) Name() string    { return "drawer.1" }
func (drawer) Log() domain.Log { return domain.State }

func (drawer) Apply(tx projections.Tx, ev domain.Recorded) error {
	put, take := fmt.Appendf(nil, "k%d", ev.Seq%7), fmt.Appendf(nil, "k%d", ev.Seq%5)
	old, _, err := tx.Get(put)
	if err != nil {
		return err
	}
	if err := tx.Set(put, binary.BigEndian.AppendUint64(old, ev.Seq)); err != nil {
		return err
	}
	if err := tx.Delete(take); err != nil || ev.Seq%11 != 0 {
		return err
	}
	return empty(tx, ev.Seq)
}

func empty(tx projections.Tx, seq uint64) error {
	var seen, keys []byte
	err := tx.Iterate(projections.Span{Prefix: []byte("k")}, func(key, value []byte) (bool, error) {
		seen, keys = append(append(seen, key...), value...), append(keys, key[1])
		return true, nil
	})
	for _, key := range keys {
		if err == nil {
			err = tx.Delete([]byte{'k', key})
		}
	}
	if err != nil {
		return err
	}
	return tx.Set(fmt.Appendf(nil, "seen%d", seq), seen)
}

func TestWhatIsBuiltInBulkIsWhatWasFollowed(t *testing.T) {
	large := counter{name: "large.1", log: domain.State, pad: 400 << 10} // more than is held at once
	h := newHouse(t, projections.Workspaces{}, drawer{}, large)
	first := create(t, h.log.Log, "a", "one")
	at := update(t, h.log.Log, "a", "two", first.Seqs[0])
	require.NoError(t, h.Reach(bounded(t), fill(t, h.log.Log, 100).Max(at.Position)))
	requireTrue(t, h.Models)
	want := map[string]string{}
	for _, p := range []projections.Projection{projections.Workspaces{}, drawer{}, large} {
		sum, err := h.Hash(p)
		require.NoError(t, err)
		want[p.Name()] = sum
	}
	_, err := h.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	for _, p := range []projections.Projection{projections.Workspaces{}, drawer{}, large} {
		sum, err := h.Hash(p)
		require.NoError(t, err)
		require.Equal(t, want[p.Name()], sum, p.Name())
	}
	requireTrue(t, h.Models)
}
