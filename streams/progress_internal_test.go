package streams

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

func activityAt(seq uint64) domain.Position { return domain.At(domain.Activity, seq) }

func TestALedgerStaysAtTheFirstPlaceThatIsNotTakenCareOf(t *testing.T) {
	t.Parallel()
	var l ProgressTracker
	marks := make([]*ProgressMark, 5)
	for i := range marks {
		marks[i] = &ProgressMark{At: activityAt(uint64(i + 1)), HasEffects: true}
		l.Add(marks[i])
	}
	for _, step := range []struct {
		settle int
		at     uint64
		left   int
	}{{1, 0, 5}, {3, 0, 5}, {2, 0, 3}, {0, 4, 1}, {4, 5, 0}} {
		l.MarkDone(marks[step.settle])
		require.Equal(t, activityAt(step.at), l.At, "after %d", step.settle)
		require.Len(t, l.marks, step.left, "after %d", step.settle)
	}
	at, unsaved := l.TakeUnsaved(time.Now(), false)
	require.True(t, unsaved)
	require.Equal(t, activityAt(5), at)
}

func TestWhatIsTakenCareOfBehindAnOpenPlaceTakesNoRoom(t *testing.T) {
	t.Parallel()
	var l ProgressTracker
	slow := &ProgressMark{At: activityAt(1)}
	l.Add(slow)
	for n := range uint64(10_000) {
		l.Add(&ProgressMark{At: activityAt(n + 2), Done: true})
		quick := &ProgressMark{At: activityAt(n + 2), HasEffects: true}
		l.Add(quick)
		l.MarkDone(quick)
	}
	require.Len(t, l.marks, 2)
	require.Zero(t, l.At)
	l.MarkDone(slow)
	require.Empty(t, l.marks)
	require.Equal(t, activityAt(10_001), l.At)
}

func TestProgressIsSavedOnlyWhenItMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		moved, ended := make(chan struct{}, 1), make(chan struct{})
		var saves, unsaved atomic.Int64
		go func() {
			defer close(ended)
			SaveProgress(ctx, moved, time.Second, func() bool { saves.Add(1); return unsaved.Add(-1) > 0 })
		}()
		l := ProgressTracker{Moved: moved}
		<-time.After(time.Hour)
		require.Zero(t, saves.Load())
		m := &ProgressMark{At: domain.At(domain.Activity, 1), HasEffects: true}
		l.Add(m)
		<-time.After(time.Hour)
		require.Zero(t, saves.Load(), "nothing is done yet")
		unsaved.Store(3)
		l.MarkDone(m)
		require.True(t, l.IsUnsaved())
		<-time.After(time.Hour)
		require.EqualValues(t, 3, saves.Load(), "until everything is saved")
		cancel()
		<-ended
	})
}
