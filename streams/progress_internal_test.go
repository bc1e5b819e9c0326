package streams

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

func activityAt(seq uint64) domain.Position { return domain.At(domain.Activity, seq) }

func TestALedgerStaysAtTheFirstPlaceThatIsNotTakenCareOf(t *testing.T) {
	t.Parallel()
	var l Ledger
	marks := make([]*Mark, 5)
	for i := range marks {
		marks[i] = &Mark{At: activityAt(uint64(i + 1)), Counts: true}
		l.Put(marks[i])
	}
	for _, step := range []struct {
		settle int
		at     uint64
		left   int
	}{{1, 0, 5}, {3, 0, 5}, {2, 0, 3}, {0, 4, 1}, {4, 5, 0}} {
		l.Settle(marks[step.settle])
		require.Equal(t, activityAt(step.at), l.At, "after %d", step.settle)
		require.Len(t, l.marks, step.left, "after %d", step.settle)
	}
	at, unsaved := l.Unsaved(time.Now(), false)
	require.True(t, unsaved)
	require.Equal(t, activityAt(5), at)
}

func TestWhatIsTakenCareOfBehindAnOpenPlaceTakesNoRoom(t *testing.T) {
	t.Parallel()
	var l Ledger
	slow := &Mark{At: activityAt(1)}
	l.Put(slow)
	for n := range uint64(10_000) {
		l.Put(&Mark{At: activityAt(n + 2), Settled: true})
		quick := &Mark{At: activityAt(n + 2), Counts: true}
		l.Put(quick)
		l.Settle(quick)
	}
	require.Len(t, l.marks, 2)
	require.Zero(t, l.At)
	l.Settle(slow)
	require.Empty(t, l.marks)
	require.Equal(t, activityAt(10_001), l.At)
}
