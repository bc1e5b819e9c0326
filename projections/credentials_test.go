package projections_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain/keyring"
	"svc/domain/session"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
)

func TestEndedSessionsAreForgottenWhenTheirTimeIsOver(t *testing.T) {
	h := newFixture(t)
	soon := time.Now().Add(300 * time.Millisecond)
	end := func(id string, expires time.Time) {
		add(t, h.log.Log, session.Stream(id), 0, session.Ended{SessionID: id, UserID: "u", Cause: session.CauseLogout, Expires: expires})
	}
	ended := func(id string) (is bool) {
		require.NoError(t, h.View(func(r projections.Reader) (err error) {
			is, err = projections.Sessions{}.Ended(r, id)
			return err
		}))
		return is
	}
	end("short", soon)
	end("long", soon.Add(time.Hour))
	end("past", soon.Add(-time.Hour))
	require.NoError(t, h.Fresh(bounded(t)))
	require.True(t, ended("short"))
	require.True(t, ended("long"))
	require.False(t, ended("past"), "it is over anyhow")

	require.Eventually(t, func() bool { return time.Now().After(soon) }, patience, time.Millisecond)
	for i := range 256 {
		end(fmt.Sprintf("s%d", i), soon.Add(time.Hour))
	}
	require.NoError(t, h.Fresh(bounded(t)))
	require.False(t, ended("short"))
	require.True(t, ended("long"))
}

// openRing opens a log that knows the events of the key ring, and its models.
func openRing(t *testing.T) (*jetstream.Store, *projections.Models) {
	t.Helper()
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	m, _ := start(t, projections.Options{DB: db, Store: log.Log, Projections: []projections.Projection{projections.Keyring{}}, Known: log.Log.Known})
	return log, m
}

func ringOf(t *testing.T, m *projections.Models, known uint64) (ring keyring.State, seq uint64) {
	t.Helper()
	require.NoError(t, m.View(func(r projections.Reader) (err error) {
		ring, seq, err = projections.Keyring{}.Keys(r, known)
		return err
	}))
	return ring, seq
}

func publicKey(name string) keyring.JWK {
	k := keyring.JWK{Kty: "EC", Alg: "ES256", Use: "sig", Crv: "P-256", X: name, Y: name}
	k.KID = k.Thumbprint()
	return k
}

func TestTheKeyRingIsWhatItsEventsFold(t *testing.T) {
	log, m := openRing(t)
	ring, seq := ringOf(t, m, 0)
	require.Empty(t, ring)
	require.Zero(t, seq)

	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	signing := publicKey("a")
	var want keyring.State
	var last uint64
	for _, cmd := range []keyring.Command{
		keyring.Start{Signing: signing, Next: publicKey("b"), Now: noon},
		keyring.Rotate{Signing: signing.KID, New: publicKey("c"), Now: noon.Add(time.Hour), VerifyFor: time.Hour},
		keyring.Revoke{KID: publicKey("b").KID, New: publicKey("d"), Now: noon.Add(2 * time.Hour)},
	} {
		events, err := keyring.Decider.Decide(want, cmd)
		require.NoError(t, err)
		commit := eventstore.Commit{Stream: keyring.Stream(), Expected: last}
		for _, ev := range events {
			commit.Facts = append(commit.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: ev})
		}
		receipt, err := log.Log.Append(t.Context(), commit)
		require.NoError(t, err)
		want, last = keyring.Decider.Fold(want, events...), receipt.Position.State
	}
	require.NoError(t, m.Fresh(bounded(t)))

	ring, seq = ringOf(t, m, 0)
	require.Equal(t, want, ring)
	require.Equal(t, last-1, seq, "the twin changes nothing")
	ring, again := ringOf(t, m, seq)
	require.Empty(t, ring, "nothing new")
	require.Equal(t, seq, again)
	ring, _ = ringOf(t, m, seq-1)
	require.Equal(t, want, ring)
}
