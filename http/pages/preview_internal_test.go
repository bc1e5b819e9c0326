package pages

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/access"
	"svc/eventstore/jetstream"
	"svc/http/gateway"
	"svc/projections/livetest"
)

// A draft can be read for ten minutes, and no longer.
func TestAPreviewExpires(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	store := livetest.Store(t, jetstream.Options{Now: now})
	views, err := store.Buckets.OpenRecords(t.Context(), "PAGES", StyleLifetime)
	require.NoError(t, err)
	p := New(Options{ReadModel: livetest.Models(t, store), Views: views, PagesHost: func() string { return "" }, Now: now})
	require.NoError(t, p.putRecord(t.Context(), "preview-x", draftRecord{
		WorkspaceID: "w1", Author: "ada", Document: []byte(`{"slug":"about","name":"About","blocks":[{"slug":"Header","title":"Draft"}]}`),
	}, PreviewLifetime))
	v := &visit{
		Pages: p, request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pages/shop/_svc/preview/x", nil), isDraft: true,
		place: place{workspaceID: "w1", settings: &settings{}, site: site{base: "/pages/shop"}}, caller: gateway.Caller{Kind: gateway.KindUser, UserID: "ada", Super: true},
	}
	v.rights = access.OutsideRights(v.caller.Identity())

	ahead.Add(int64(PreviewLifetime - time.Minute))
	shown, err := v.preview("x")
	require.NoError(t, err)
	require.Contains(t, string(shown.(gateway.Content).Body), "<h1>Draft</h1>")
	ahead.Add(int64(time.Minute))
	_, err = v.preview("x")
	require.ErrorIs(t, err, errNoPreview)
}
