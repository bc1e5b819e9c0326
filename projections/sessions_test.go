package projections_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/session"
	"svc/projections"
)

func TestEndedSessionsAreForgottenWhenTheirTimeIsOver(t *testing.T) {
	h := newHouse(t)
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
