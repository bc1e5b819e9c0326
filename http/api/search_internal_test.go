package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/projections/livetest"
	"svc/streams/feed"
)

func TestASearchThatTakesTooLongIsEnded(t *testing.T) {
	log, models := livetest.Open(t)
	shown, err := feed.New(feed.Options{Models: models, Store: log.Log, Payloads: log.Payloads})
	require.NoError(t, err)
	ask := func(d Deps) (any, error) {
		r := httptest.NewRequest(http.MethodPost, "/v2/search", strings.NewReader(`{"query":{"match_all":{}}}`))
		return searchAllEvents(d.withDefaults())(r)
	}
	_, err = ask(Deps{Feed: shown, ReadModel: models})
	require.NoError(t, err)
	_, err = ask(Deps{Feed: shown, ReadModel: models, SearchTime: time.Nanosecond})
	require.ErrorIs(t, err, context.DeadlineExceeded, "the gateway answers 504")
}

func TestSearchesWaitForTheirTurn(t *testing.T) {
	d := Deps{}.withDefaults()
	for range cap(d.turns) - 1 {
		_, err := d.turn(t.Context())
		require.NoError(t, err)
	}
	done, err := d.turn(t.Context())
	require.NoError(t, err)
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-late.Done()
	_, err = d.turn(late)
	require.ErrorIs(t, err, context.DeadlineExceeded, "too many run")
	done()
	_, err = d.turn(t.Context())
	require.NoError(t, err, "one has ended")
}
