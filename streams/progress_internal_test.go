package streams

import (
	"context"
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
		moved, saves, unsaved := make(chan struct{}, 1), 0, 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			SaveProgress(ctx, moved, time.Second, func() bool { saves++; unsaved--; return unsaved > 0 })
		}()
		l := ProgressTracker{Moved: moved}
		<-time.After(time.Hour)
		require.Zero(t, saves)
		m := &ProgressMark{At: domain.At(domain.Activity, 1), HasEffects: true}
		l.Add(m)
		<-time.After(time.Hour)
		require.Zero(t, saves, "nothing is done yet")
		l.MarkDone(m)
		require.True(t, l.IsUnsaved())
		unsaved = 3
		<-time.After(time.Hour)
		require.Equal(t, 3, saves, "until everything is saved")
		cancel()
		<-ended
	})
}
