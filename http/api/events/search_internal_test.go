package events

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
	ask := func(h Handlers) (any, error) {
		r := httptest.NewRequest(http.MethodPost, "/v2/search", strings.NewReader(`{"query":{"match_all":{}}}`))
		return h.SearchAllEvents(r)
	}
	_, err = ask(Handlers{Feed: shown, ReadModel: models, Now: time.Now})
	require.NoError(t, err)
	_, err = ask(Handlers{Feed: shown, ReadModel: models, Now: time.Now, SearchTime: time.Nanosecond})
	require.ErrorIs(t, err, context.DeadlineExceeded, "the gateway answers 504")
}

func TestSearchesWaitForTheirTurn(t *testing.T) {
	for range cap(searchSlots) - 1 {
		release, err := acquireSearchSlot(t.Context())
		require.NoError(t, err)
		defer release()
	}
	done, err := acquireSearchSlot(t.Context())
	require.NoError(t, err)
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-late.Done()
	_, err = acquireSearchSlot(late)
	require.ErrorIs(t, err, context.DeadlineExceeded, "too many run")
	done()
	release, err := acquireSearchSlot(t.Context())
	require.NoError(t, err, "one has ended")
	release()
}
