package jetstream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
)

// What a reader has just decoded is what others read of the same messages, whether the reader began within one of them
// or not; what is purged is not read any more.
func TestEventsThatWereJustReadAreReadAgain(t *testing.T) {
	s := openHere(t, Options{})
	var seqs []uint64
	for range 3 {
		receipt, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: someWorkspace, Meta: domain.Meta{UserID: "ada"}, Facts: activityFacts(4)})
		require.NoError(t, err)
		seqs = append(seqs, receipt.Seqs...)
	}
	stored, err := s.Log.Reread(t.Context(), domain.Activity, seqs)
	require.NoError(t, err)
	require.Len(t, stored, 12)
	for i := range seqs {
		one, err := s.Log.Reread(t.Context(), domain.Activity, seqs[i:i+1])
		require.NoError(t, err)
		require.Equal(t, stored[i:i+1], one)
	}
	s.Log.recent.forget()

	require.Equal(t, stored[5:], readFrom(t, s, domain.Activity, seqs[5], seqs[11]))
	require.Nil(t, s.Log.recent.get(s.Log.numbering(domain.Activity).message(seqs[3])))
	require.Len(t, s.Log.recent.get(s.Log.numbering(domain.Activity).message(seqs[4])), 4)
	for _, wanted := range [][]int{{0}, {3, 4}, {4}, {11, 6, 2}, {4, 5, 6, 7, 8}} {
		var some []uint64
		var want []domain.Recorded
		for _, i := range wanted {
			some, want = append(some, seqs[i]), append(want, stored[i])
		}
		got, err := s.Log.Reread(t.Context(), domain.Activity, some)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}

	require.NoError(t, s.Log.PurgeActivity(t.Context(), someWorkspace.Scope, "", seqs[8]))
	left, err := s.Log.Reread(t.Context(), domain.Activity, seqs)
	require.NoError(t, err)
	require.Equal(t, stored[8:], left)
}

// No more is remembered than the bounds say.
func TestOnlyTheLastEventsAreRemembered(t *testing.T) {
	var r recentEvents
	one := []domain.Recorded{{}}
	for message := range uint64(2 * recentMessages) {
		r.put(message, 10, one)
	}
	require.Len(t, r.messages, recentMessages)
	require.Nil(t, r.get(recentMessages-1))
	require.Equal(t, one, r.get(recentMessages))
	r.put(1000, recentBytes, one)
	require.Equal(t, recentBytes, r.size)
	require.Len(t, r.messages, 1)
	r.put(1001, recentBytes+1, one)
	require.Len(t, r.messages, 1)
	r.forget()
	require.Nil(t, r.get(1001))
}
