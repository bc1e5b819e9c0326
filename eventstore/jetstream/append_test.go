package jetstream

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
)

var someWorkspace = domain.StreamID{Scope: "w1"}

// appendConcurrently has writers append to one workspace, each several times a number of facts, and returns where
// the ids of all facts were said to be.
func appendConcurrently(t *testing.T, s *Store, writers, each int, facts func(writer int) int) map[uint64]string {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	stored := map[uint64]string{}
	for writer := range writers {
		all.Go(func() {
			for range each {
				c := eventstore.Commit{Stream: someWorkspace, Meta: domain.Meta{UserID: strconv.Itoa(writer)}, Facts: activityFacts(facts(writer))}
				r, err := s.Log.Append(t.Context(), c)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for i, seq := range r.Seqs {
					stored[seq] = c.Facts[i].ID
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return stored
}

// Whoever writes at the same time, the messages of a group are consecutive.
func TestTheMessagesOfAGroupAreConsecutive(t *testing.T) {
	s := openHere(t, Options{})
	stored := appendConcurrently(t, s, 8, 20, func(writer int) int {
		if writer%2 == 0 {
			return 30
		}
		return 1
	})
	const total = 4*20*30 + 4*20
	require.Len(t, stored, total)
	events := readFrom(t, s, domain.Activity, 1, slices.Max(slices.Collect(maps.Keys(stored))))
	requireReal(t, events, total)
	for _, ev := range events {
		require.Equal(t, stored[ev.Seq], ev.ID, "what was answered is where it was said to be")
	}
}

// An incomplete group is void as soon as something follows it.
func TestHalfAGroupIsVoid(t *testing.T) {
	s := openHere(t, Options{})
	c := eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(5)}
	msgs, err := s.Log.encodeCommits(domain.Activity, []eventstore.Commit{c})
	require.NoError(t, err)
	require.True(t, s.Log.usesGroups(domain.Activity))
	_, _, err = s.Log.sendGroup(t.Context(), msgs[:3])
	require.NoError(t, err)
	for _, m := range msgs[:3] {
		require.Equal(t, []string{"3"}, m.Header[headerBatchSize])
	}
	more, err := s.Log.encodeCommits(domain.Activity, []eventstore.Commit{{Stream: someWorkspace, Facts: activityFacts(5)}})
	require.NoError(t, err)
	for i, m := range more {
		m.Header[headerGroup], m.Header[headerGroupSeq], m.Header[headerBatchSize] = []string{"broken"}, []string{string(rune('1' + i))}, []string{"5"}
	}
	_, _, err = s.Log.publishGroup(t.Context(), more[:3]) // of five
	require.NoError(t, err)
	r, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(2)})
	require.NoError(t, err)
	require.Equal(t, []uint64{7<<packBits - 1, 7 << packBits}, r.Seqs)
	events := readFrom(t, s, domain.Activity, 1, r.Seqs[1])
	require.Len(t, events, 8)
	for _, ev := range events {
		message := s.Log.numbering(domain.Activity).message(ev.Seq)
		require.Equal(t, message > 3 && message < 7, isVoid(ev.Data), "%d", ev.Seq)
	}
}

func TestARepeatedGroupIsStoredOnce(t *testing.T) {
	s := openHere(t, Options{})
	c := eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(40)}
	first, err := s.Log.Append(t.Context(), c)
	require.NoError(t, err)
	_, err = s.Log.Append(t.Context(), eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(3)})
	require.NoError(t, err)
	again, err := s.Log.Append(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, first.Seqs, again.Seqs)
	requireReal(t, readFrom(t, s, domain.Activity, 1, s.Log.Known().Activity), 43)
}

// A repeated group must not complete half of an earlier one: all of its
// messages count or none.
func TestHalfAGroupThatIsRepeatedIsVoid(t *testing.T) {
	for name, sent := range map[string][]int{"its end is missing": {0, 1, 2}, "one in between is missing": {0, 1, 3, 4}} {
		t.Run(name, func(t *testing.T) {
			s := openHere(t, Options{})
			c := eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(5)}
			msgs, err := s.Log.encodeCommits(domain.Activity, []eventstore.Commit{c})
			require.NoError(t, err)
			var broken []*nats.Msg
			for _, i := range sent {
				m := msgs[i]
				m.Header[headerGroup], m.Header[headerGroupSeq], m.Header[headerBatchSize] = []string{c.Facts[0].ID}, []string{strconv.Itoa(i + 1)}, []string{"5"}
				broken = append(broken, m)
			}
			_, _, err = s.Log.publishGroup(t.Context(), broken)
			require.NoError(t, err)
			_, err = s.Log.Append(t.Context(), eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(1)})
			require.NoError(t, err)
			_, err = s.Log.Append(t.Context(), c)
			require.ErrorIs(t, err, eventstore.ErrVoidIDs)
			r, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(2)})
			require.NoError(t, err)

			events := readFrom(t, s, domain.Activity, 1, r.Seqs[1])
			require.Len(t, events, len(sent)+3)
			for _, ev := range events {
				message := s.Log.numbering(domain.Activity).message(ev.Seq)
				require.Equal(t, message <= uint64(len(sent)), isVoid(ev.Data), "%d", ev.Seq)
				read, ok, err := s.Log.Read(t.Context(), domain.Activity, ev.Seq)
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, ev.Data, read.Data, "whoever reads it sees the same")
			}
		})
	}
}

// Atomic appends that wait at the same moment share a batch of the broker. One that meets a conflict takes no other one
// down.
func TestAppendsThatShareABatchSucceedOrFailAlone(t *testing.T) {
	s := openHere(t, Options{})
	taken := newAggregate()
	_, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: taken, Facts: facts(1)})
	require.NoError(t, err)
	const writers, each = 32, 10
	var all sync.WaitGroup
	var mu sync.Mutex
	stored, last := map[uint64]string{}, uint64(0)
	for writer := range writers {
		all.Go(func() {
			for i := range each {
				commits := []eventstore.Commit{{Stream: newAggregate(), Facts: facts(2)}, {Stream: newAggregate(), Facts: facts(1)}}
				conflicts := writer%8 == 0 && i%3 == 0
				if conflicts {
					commits[1].Stream = taken
				}
				r, err := s.Log.Append(t.Context(), commits...)
				if conflicts {
					assert.ErrorIs(t, err, eventstore.ErrConflict)
					continue
				}
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				for i, f := range append(commits[0].Facts, commits[1].Facts...) {
					stored[r.Seqs[i]] = f.ID
				}
				last = max(last, r.Seqs[2])
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Len(t, stored, 3*(writers*each-writers/8*4))
	events := readFrom(t, s, domain.State, 2, last)
	requireReal(t, events, len(stored))
	for _, ev := range events {
		require.Equal(t, stored[ev.Seq], ev.ID, "what was answered is where it was said to be")
	}
}

// Of appends that wait at the same moment and expect the same of an aggregate, one is stored: also when they could share a
// batch, in which the broker does not compare them with each other.
func TestOneOfManyAtomicAppendsToAnAggregateIsStored(t *testing.T) {
	s := openHere(t, Options{})
	for range 20 {
		shared, name := newAggregate(), newAggregate()
		var all sync.WaitGroup
		var stored, refused atomic.Int32
		for range 16 {
			all.Go(func() {
				_, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: shared, Facts: facts(1)}, eventstore.Commit{Stream: name, Facts: facts(1)})
				switch {
				case err == nil:
					stored.Add(1)
				case assert.ErrorIs(t, err, eventstore.ErrConflict):
					refused.Add(1)
				}
			})
		}
		all.Wait()
		require.Equal(t, []int32{1, 15}, []int32{stored.Load(), refused.Load()})
		events, err := s.Log.Load(t.Context(), shared, 0)
		require.NoError(t, err)
		require.Len(t, events, 1)
	}
}

// The last sequence of a log is known without asking the broker, and is never before what the broker has stored.
func TestTheLastSequenceIsNeverTooLow(t *testing.T) {
	s := openHere(t, Options{})
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		appendConcurrently(t, s, 4, 50, func(int) int { return 2 })
	}()
	for open := true; open; {
		select {
		case <-appended:
			open = false
		default:
		}
		before, err := s.Log.Info(t.Context(), domain.Activity)
		require.NoError(t, err)
		last, err := s.Log.Last(t.Context(), domain.Activity)
		require.NoError(t, err)
		require.GreaterOrEqual(t, last, before.Last)
	}
	info, err := s.Log.Info(t.Context(), domain.Activity)
	require.NoError(t, err)
	last, err := s.Log.Last(t.Context(), domain.Activity)
	require.NoError(t, err)
	require.Equal(t, info.Last, last)
}
