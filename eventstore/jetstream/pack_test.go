package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/subscription"
	"svc/eventstore"
)

func TestSequencesFollowFromMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := numbering{rapid.Uint64Range(0, 1<<40).Draw(t, "base")}
		message := rapid.Uint64Range(1, 1<<41).Draw(t, "message")
		first, last := n.first(message), n.last(message)
		require.LessOrEqual(t, first, last)
		require.Equal(t, message, n.message(first))
		require.Equal(t, message, n.message(last))
		require.Equal(t, last+1, n.first(message+1), "nothing lies between two messages")
		if message <= n.base {
			require.Equal(t, message, last, "what was stored before keeps its sequence")
		} else {
			require.EqualValues(t, maxPack, last-first+1)
		}
	})
	require.Equal(t, uint64(1<<63), messageNumbering.last(1<<63))
}

// What is read from a pack is what was put into it.
func TestAPackHoldsWhatWasAppended(t *testing.T) {
	l := newLog(&connection{opts: Options{Events: catalog.Events()}})
	until := time.Now().UTC().Truncate(time.Second)
	commits := []eventstore.Commit{
		{Stream: someWorkspace, Meta: domain.Meta{UserID: "u1", HTTP: &domain.HTTPCause{Method: "POST", Path: "/a"}}, Facts: activityFacts(2)},
		{Stream: someWorkspace, Meta: domain.Meta{UserID: "u1", HTTP: &domain.HTTPCause{Method: "POST", Path: "/a"}}, Facts: activityFacts(1)},
		{Stream: someWorkspace, Meta: domain.Meta{UserID: "u2", Actor: &domain.Actor{KeyID: "k"}}, Facts: []eventstore.Fact{{
			ID: "x", Event: domain.Unknown{Name: "lines", Body: json.RawMessage("{\n\"a\": \"b\\nc\",\n\"{\\\"source\\\":\": 1}")},
			Target: &domain.Target{UserTopic: "t"}, Options: domain.EventOptions{Persist: new(false)},
		}}},
	}
	packs, err := l.encodePacked(commits)
	require.NoError(t, err)
	require.Len(t, packs, 1)
	m := packs[0].message("id", until)
	got, err := l.decode(domain.Activity, storedMessage{seq: 7, at: until, header: m.Header, data: m.Data})
	require.NoError(t, err)
	require.Len(t, got, 4)
	i := 0
	for _, c := range commits {
		for _, f := range c.Facts {
			require.Equal(t, f.ID, got[i].ID)
			require.Equal(t, c.Stream, got[i].Stream)
			require.Equal(t, c.Meta, got[i].Meta)
			require.Equal(t, f.Target, got[i].Target)
			require.Equal(t, f.Options, got[i].Options)
			require.JSONEq(t, string(f.Event.(domain.Unknown).Body), string(got[i].Body))
			require.Equal(t, uint64(7<<packBits-3+i), got[i].Seq)
			i++
		}
	}
	require.Equal(t, []string{got[0].ID, got[1].ID, got[2].ID, "x"}, storedMessage{header: m.Header, data: m.Data}.eventIDs())

	whole := storedMessage{seq: 7, at: until, header: m.Header, data: m.Data}
	for i, one := range got {
		some, err := l.decodeWanted(domain.Activity, whole, map[uint64]bool{one.Seq: true, got[3].Seq: true})
		require.NoError(t, err)
		require.Equal(t, slices.CompactFunc([]domain.Recorded{one, got[3]}, func(a, b domain.Recorded) bool { return a.ID == b.ID }), some, "%d", i)
	}

	for name, damaged := range map[string][]byte{"cut": m.Data[:len(m.Data)/2], "empty": nil, "a line": []byte("x\n"), "a source": []byte("{}\n{\"source\":"), "too many": append(slices.Clone(m.Data), m.Data...)} {
		_, err := l.decode(domain.Activity, storedMessage{seq: 7, header: m.Header, data: damaged})
		require.ErrorIs(t, err, errDamaged, name)
	}
}

// Events of one message are read by their sequences, whichever of them are asked for.
func TestSomeEventsOfAPackAreRead(t *testing.T) {
	s := openHere(t, Options{})
	stored, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(5)})
	require.NoError(t, err)
	for _, wanted := range [][]int{{0, 2}, {0, 4}, {1, 3, 4}, {4, 0}, {2}, {0, 1, 2, 3, 4}} {
		var seqs []uint64
		for _, i := range wanted {
			seqs = append(seqs, stored.Seqs[i])
		}
		events, err := s.Log.Reread(t.Context(), domain.Activity, seqs)
		require.NoError(t, err)
		var got []uint64
		for _, ev := range events {
			got = append(got, ev.Seq)
		}
		require.Equal(t, seqs, got)
	}
}

// A commit without facts does not lend its source to others, and a workspace without a name is one, too.
func TestEventsOfAPackHaveTheirOwnSource(t *testing.T) {
	l := newLog(&connection{opts: Options{Events: catalog.Events()}})
	commits := []eventstore.Commit{
		{Meta: domain.Meta{UserID: "a"}, Facts: activityFacts(1)}, {Meta: domain.Meta{UserID: "b"}}, {Meta: domain.Meta{UserID: "b"}, Facts: activityFacts(1)},
	}
	packs, err := l.encodePacked(commits)
	require.NoError(t, err)
	m := packs[0].message("id", time.Now())
	got, err := l.decode(domain.Activity, storedMessage{seq: 1, header: m.Header, data: m.Data})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, []string{got[0].Meta.UserID, got[1].Meta.UserID})
}

// Appends of a workspace that wait for another one are stored in one message, each where it was said to be.
func TestAppendsThatWaitShareAMessage(t *testing.T) {
	s := openHere(t, Options{})
	const writers, each = 40, 25
	stored := appendConcurrently(t, s, writers, each, func(int) int { return 3 })
	require.Len(t, stored, writers*each*3)
	info, err := s.Log.Info(t.Context(), domain.Activity)
	require.NoError(t, err)
	require.Less(t, info.Messages, uint64(writers*each), "fewer messages than appends")
	last := slices.Max(slices.Collect(maps.Keys(stored)))
	require.Equal(t, last, info.Last)
	events := readFrom(t, s, domain.Activity, 1, last)
	requireReal(t, events, len(stored))
	for _, ev := range events {
		require.Equal(t, stored[ev.Seq], ev.ID)
	}
	again, err := s.Log.Reread(t.Context(), domain.Activity, []uint64{events[10].Seq, events[9].Seq, events[2000].Seq})
	require.NoError(t, err)
	require.Equal(t, []string{events[10].ID, events[9].ID, events[2000].ID}, []string{again[0].ID, again[1].ID, again[2].ID})

	middle := events[1001]
	after := readFrom(t, s, domain.Activity, middle.Seq, last)
	require.Equal(t, middle.ID, after[0].ID, "a reader may begin inside of a message")
	require.Len(t, after, len(events)-1001)

	for name, to := range map[string]uint64{"up": last, "down": 1} {
		from, found := uint64(1), 0
		if to == 1 {
			from = last
		}
		for next, more := from, true; more; {
			var part []domain.Recorded
			part, next, more, err = s.Log.Scan(t.Context(), domain.Activity, next, to, 3)
			require.NoError(t, err)
			for _, ev := range part {
				at := found
				if to == 1 {
					at = len(events) - 1 - found
				}
				require.Equal(t, events[at].ID, ev.ID, name)
				found++
			}
		}
		require.Equal(t, len(events), found, name)
	}
}

// An append that is repeated is found, also when it was stored with others, and after a restart.
func TestARepeatedAppendIsFoundInAPack(t *testing.T) {
	dir := t.TempDir()
	s := openHere(t, Options{Dir: dir})
	var commits []eventstore.Commit
	var receipts [20]eventstore.Receipt
	for range receipts {
		commits = append(commits, eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(2)})
	}
	appendAll := func() (found [20]eventstore.Receipt) {
		var all sync.WaitGroup
		for i, c := range commits {
			all.Go(func() {
				var err error
				if found[i], err = s.Log.Append(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		return found
	}
	receipts = appendAll()
	require.Equal(t, receipts, appendAll())
	require.NoError(t, s.Close(context.WithoutCancel(t.Context())))
	s = openHere(t, Options{Dir: dir})
	require.Equal(t, receipts, appendAll())
	requireReal(t, readFrom(t, s, domain.Activity, 1, s.Log.Known().Activity), 40)

	other := eventstore.Commit{Stream: someWorkspace, Facts: append(slices.Clone(commits[3].Facts[:1]), activityFacts(1)...)}
	_, err := s.Log.Append(t.Context(), other)
	require.ErrorContains(t, err, "is used twice")
}

// An append that is larger than a pack is several messages, of which all count or none.
func TestALargeAppendIsSeveralPacks(t *testing.T) {
	s := openHere(t, Options{})
	big := eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: "big", Body: fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 400_000))}}
	c := eventstore.Commit{Stream: someWorkspace, Facts: append(activityFacts(600), big, eventstore.Fact{ID: ulid.Make().String(), Event: big.Event}, eventstore.Fact{ID: ulid.Make().String(), Event: big.Event})}
	other := eventstore.Commit{Stream: domain.StreamID{Scope: "w2"}, Facts: activityFacts(2)}
	r, err := s.Log.Append(t.Context(), c, other)
	require.NoError(t, err)
	require.Len(t, r.Seqs, 605)
	again, err := s.Log.Append(t.Context(), c, other)
	require.NoError(t, err)
	require.Equal(t, r, again)
	events := readFrom(t, s, domain.Activity, 1, r.Seqs[604])
	requireReal(t, events, 605)
	for i, ev := range events {
		require.Equal(t, r.Seqs[i], ev.Seq)
	}
	require.Equal(t, "w2", events[604].Stream.Scope)
}

// Events that are erased by their type are in no message with others.
func TestWhatIsErasedByTypeIsPackedAlone(t *testing.T) {
	l := newLog(&connection{opts: Options{Events: catalog.Events()}})
	attempt := subscription.Attempted{}
	packs, err := l.encodePacked([]eventstore.Commit{{Stream: someWorkspace, Facts: []eventstore.Fact{
		{ID: "1", Event: domain.Unknown{Name: "a", Body: []byte(`{}`)}}, {ID: "2", Event: attempt}, {ID: "3", Event: attempt}, {ID: "4", Event: domain.Unknown{Name: "b", Body: []byte(`{}`)}},
	}}})
	require.NoError(t, err)
	require.Len(t, packs, 3)
	require.Equal(t, activityRoot+"w1."+typeTokens(attempt.EventType()), packs[1].message("2", time.Now()).Subject)
}

// A log of a version without packs goes on where it was: what is stored keeps its sequences.
func TestALogWithoutPacksGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := openHere(t, Options{Dir: dir})
	old := eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(4)}
	msgs, err := s.Log.encodeCommits(domain.Activity, []eventstore.Commit{old})
	require.NoError(t, err)
	_, _, err = s.Log.sendGroup(t.Context(), msgs)
	require.NoError(t, err)
	for _, cfg := range streamTable(1) {
		if cfg.Name == string(domain.Activity) {
			_, err := s.conn.js.UpdateStream(t.Context(), cfg) // without the base of the numbering
			require.NoError(t, err)
		}
	}
	require.NoError(t, s.Close(context.WithoutCancel(t.Context())))

	for range 2 { // the base stays
		s = openHere(t, Options{Dir: dir})
		r, err := s.Log.Append(t.Context(), old)
		require.NoError(t, err)
		require.Equal(t, []uint64{1, 2, 3, 4}, r.Seqs)
		r, err = s.Log.Append(t.Context(), eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(2)})
		require.NoError(t, err)
		events := readFrom(t, s, domain.Activity, 1, r.Seqs[1])
		require.Equal(t, []uint64{1, 2, 3, 4, 4 + maxPack - 1, 4 + maxPack}, []uint64{events[0].Seq, events[1].Seq, events[2].Seq, events[3].Seq, events[4].Seq, events[5].Seq})
		info, err := s.Log.Info(t.Context(), domain.Activity)
		require.NoError(t, err)
		require.EqualValues(t, 1, info.First)
		require.NoError(t, s.Close(context.WithoutCancel(t.Context())))
	}
}

// What is stored apart from the events of a pack is one message, and found by each of them.
func TestPayloadsOfAPackAreOneMessage(t *testing.T) {
	s := openHere(t, Options{Dir: t.TempDir()})
	all := activityFacts(4)
	for i := range all[:3] {
		all[i].Apart = fmt.Appendf(nil, `{"payload":%d}`, i)
	}
	all[1].Apart = []byte("{\n}") // a line of its own would not hold it
	c := eventstore.Commit{Stream: someWorkspace, Facts: all}
	r, err := s.Log.Append(t.Context(), c)
	require.NoError(t, err)
	for i, f := range all {
		body, ok, err := s.Payloads.Get(t.Context(), "w1", f.ID, r.Seqs[i])
		require.NoError(t, err)
		require.Equal(t, f.Apart != nil, ok)
		require.Equal(t, string(f.Apart), string(body))
	}
	extent, err := s.Payloads.Before(t.Context(), "w1", time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 3, extent.Count)
	require.EqualValues(t, 3, extent.Below, "two messages")
	again, err := s.Log.Append(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, r, again)
	require.NoError(t, s.Payloads.Purge(t.Context(), "w1", extent.Below+3))
	_, ok, err := s.Payloads.Get(t.Context(), "w1", all[0].ID, r.Seqs[0])
	require.NoError(t, err)
	require.False(t, ok)
}

// An event is the same when what belongs beside it cannot be stored.
func TestAnEventDoesNotDependOnItsPayload(t *testing.T) {
	s := openHere(t, Options{Dir: t.TempDir()})
	c := eventstore.Commit{Stream: someWorkspace, Facts: activityFacts(1)}
	c.Facts[0].Apart = make([]byte, 2<<20)
	r, err := s.Log.Append(t.Context(), c)
	require.NoError(t, err)
	_, ok, err := s.Payloads.Get(t.Context(), "w1", c.Facts[0].ID, r.Seqs[0])
	require.NoError(t, err)
	require.False(t, ok)
}

func TestRetryRepeatsUntilItSucceeds(t *testing.T) {
	c, calls := &connection{}, 0
	fails := func(times int) error {
		calls = 0
		return c.retry(t.Context(), 3, func() error {
			if calls++; calls <= times {
				return eventstore.ErrUnavailable
			}
			return nil
		})
	}
	require.NoError(t, fails(2))
	require.Equal(t, 3, calls)
	require.ErrorIs(t, fails(5), eventstore.ErrUnavailable)
	require.Equal(t, 3, calls)
}
