package webhooks

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/subscription"
	"svc/eventstore"
	"svc/streams"
)

// countedAppends is a store that counts what is appended.
type countedAppends struct{ appends, records int }

func (c *countedAppends) Append(_ context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	c.appends++
	for _, commit := range commits {
		for _, f := range commit.Facts {
			c.records += len(f.Event.(subscription.Attempted).Records)
		}
	}
	return eventstore.Receipt{}, nil
}

func TestResultsOfOneMomentAreRecordedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, w := &countedAppends{}, &worker{}
		var marks []*streams.ProgressMark
		r := newRecorder(store, domain.Host{}, slog.New(slog.DiscardHandler))
		ended := make(chan error)
		go func() { ended <- r.run(t.Context()) }()
		add := func() {
			mark := &streams.ProgressMark{}
			marks = append(marks, mark)
			w.mu.Lock()
			w.progress.Add(mark)
			w.mu.Unlock()
			r.add(record{workspaceID: "w1", worker: w, mark: mark})
		}
		stored := func() (n int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, mark := range marks {
				if mark.Done {
					n++
				}
			}
			return n
		}
		add()
		synctest.Wait()
		require.Equal(t, countedAppends{1, 1}, *store, "one by itself is not delayed")
		for range 50 {
			<-time.After(time.Millisecond)
			add()
		}
		<-time.After(gatherTime)
		synctest.Wait()
		require.Equal(t, 51, stored())
		require.LessOrEqual(t, store.appends, 7)
		before := store.appends
		for range maxRecords {
			add()
		}
		synctest.Wait()
		require.Equal(t, before+1, store.appends, "a full append does not wait")
		add()
		r.finish()
		require.NoError(t, <-ended)
		require.Equal(t, 52+maxRecords, stored(), "nor does the end")
	})
}

// countedSecrets counts how often secrets are opened.
type countedSecrets struct{ opened int }

func (c *countedSecrets) Secrets(_ context.Context, s subscription.State, now time.Time) ([]string, error) {
	c.opened++
	if now.Before(s.Keys.PreviousUntil) {
		return []string{"whsec_AAAA", "whsec_BBBB"}, nil
	}
	return []string{"whsec_AAAA"}, nil
}

func TestSecretsAreOpenedWhenTheyChange(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC)
	var to receiver
	secrets := &countedSecrets{}
	requireSigned := func(sub subscription.State, signatures, opened int) {
		t.Helper()
		for range 3 {
			text, err := to.sign(t.Context(), secrets, sub, "e1", now, []byte("{}"))
			require.NoError(t, err)
			require.Len(t, text, signatures*len("v1,")+signatures*44+signatures-1)
		}
		require.Equal(t, opened, secrets.opened)
	}
	sub := subscription.State{Keys: subscription.Keys{Sealed: []byte("a")}}
	requireSigned(sub, 1, 1)
	sub.Keys = subscription.Keys{Sealed: []byte("b"), Previous: []byte("a"), PreviousUntil: now.Add(10 * time.Second)}
	requireSigned(sub, 2, 2)
	now = now.Add(10 * time.Second)
	requireSigned(sub, 1, 3)
	now = now.Add(openedFor)
	requireSigned(sub, 1, 4)
}

func TestAnEventSaysTheHealthOfAReceiverOnce(t *testing.T) {
	t.Parallel()
	r := newRecorder(&countedAppends{}, domain.Host{}, slog.New(slog.DiscardHandler))
	var batch []record
	for n, sub := range []string{"a", "a", "b", "a", "b", "b"} {
		one := subscription.Record{Delivery: subscription.Delivery{SubscriptionID: sub}}
		if n < 5 { // the last one waits for its first attempt
			one.Health = &subscription.Health{Failures: n + 1}
		}
		batch = append(batch, record{workspaceID: "w1", Record: one})
	}
	commits := r.commits(batch)
	require.Len(t, commits, 1)
	last := map[string]int{}
	healths := 0
	for _, rec := range commits[0].Facts[0].Event.(subscription.Attempted).Records {
		if rec.Health != nil {
			last[rec.Delivery.SubscriptionID] = rec.Health.Failures
			healths++
		}
	}
	require.Equal(t, map[string]int{"a": 4, "b": 5}, last)
	require.Less(t, healths, 5)
	require.Equal(t, 1, batch[0].Health.Failures, "the records of the caller stay as they are")
}
