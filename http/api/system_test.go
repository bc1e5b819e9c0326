package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/api"
	"svc/projections"
)

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func TestTheIndexNamesTheService(t *testing.T) {
	healthy := true
	h := open(t, func(d *api.Handlers) { d.System.Healthy = func() bool { return healthy } })
	want := func(status string) string {
		return `{"status":"` + status + `","name":"svc","version":"1.2.3","time":"2026-06-01T12:00:00.000Z","apiVersions":[
			{"version":"v1","state":"retired","revisions":["2025-01-01"],"retiredOn":"2025-12-31"},
			{"version":"v2","state":"stable","revisions":["2025-01-01"]},
			{"version":"v3","state":"beta","revisions":["2025-01-01"]}]}`
	}
	got := h.do("GET", "/")
	require.Equal(t, http.StatusOK, got.status)
	require.JSONEq(t, want("ok"), got.body)
	require.Equal(t, "2025-01-01", got.header.Get("X-Svc-API-Version-Used"))
	healthy = false
	require.JSONEq(t, want("degraded"), h.do("GET", "/", with("Accept", "application/json, text/html;q=0.5")).body)
	got = h.do("GET", "/", with("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"))
	require.Contains(t, got.body, "<html", "a browser is led to the console")
	require.NotEmpty(t, got.header.Get("Content-Security-Policy"))
}

func TestProbesNeedNoCredential(t *testing.T) {
	ready := true
	h := open(t, func(d *api.Handlers) { d.System.Ready = func() bool { return ready } })
	for _, path := range []string{"/healthz", "/sys/healthcheck"} {
		require.JSONEq(t, `{"healthy":true}`, h.do("GET", path).body)
	}
	require.JSONEq(t, `{"status":"ready"}`, h.do("GET", "/readyz").body)
	ready = false
	got := h.do("GET", "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.JSONEq(t, `{"status":"error"}`, got.body)
}

func TestMetricsAreForTheInternalKeyOrForAll(t *testing.T) {
	h := open(t)
	for _, o := range []option{key(internalKey), as(internalKey)} {
		got := h.do("GET", "/metrics", o)
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, "up 1\n", got.body)
	}
	public := open(t, func(d *api.Handlers) { d.System.MetricsPublic = true })
	require.Equal(t, http.StatusOK, public.do("GET", "/metrics").status)
}

func TestTheDocumentIsNotSentTwice(t *testing.T) {
	h := open(t)
	for _, path := range []string{"/openapi.json", "/openapi.yaml"} {
		first := h.do("GET", path)
		require.Equal(t, http.StatusOK, first.status)
		again := h.do("GET", path, with("If-None-Match", first.header.Get("ETag")))
		require.Equal(t, http.StatusNotModified, again.status)
	}
}

func TestTheReferencePageLoadsItsFilesFromHere(t *testing.T) {
	h := open(t)
	page := h.do("GET", "/docs")
	require.Equal(t, http.StatusOK, page.status)
	require.NotContains(t, page.body, "//", "no address of another host")
	require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
	files := regexp.MustCompile(`/docs/[\w.]+\.js`).FindAllString(page.body, -1)
	require.Len(t, files, 2)
	for _, file := range files {
		packed, plain := h.do("GET", file), h.do("GET", file, with("Accept-Encoding", "identity"))
		require.Equal(t, http.StatusOK, packed.status)
		require.Equal(t, packed.body, plain.body)
		require.Equal(t, "public, max-age=31536000, immutable", packed.header.Get("Cache-Control"))
	}
}

func TestSettingsAndLoggingAreForOperators(t *testing.T) {
	h := open(t, func(d *api.Handlers) {
		d.System.Config = func() any {
			return map[string]any{"settings": []any{map[string]any{"name": "PORT", "value": "3001", "source": "default"}}}
		}
	})
	for _, o := range []option{key(internalKey), as("root")} {
		got := h.do("GET", "/sys/config", o)
		require.JSONEq(t, `{"settings":[{"name":"PORT","value":"3001","source":"default"}]}`, got.body)
		require.Equal(t, "no-store", got.header.Get("Cache-Control"))
	}
	for word, level := range map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	} {
		got := h.do("PUT", "/sys/logging", as("root"), body(`{"level":"`+word+`"}`))
		require.Equal(t, http.StatusOK, got.status)
		require.JSONEq(t, `{"level":"`+word+`"}`, got.body)
		require.Equal(t, level, h.level)
	}
}

func TestReadModelsAreRebuiltAndVerified(t *testing.T) {
	h := open(t)
	id, made := h.shop()
	verified := h.do("POST", "/sys/readmodels/verify", key(internalKey))
	require.Equal(t, http.StatusOK, verified.status, verified.body)
	fields := verified.fields(t)
	require.Equal(t, true, fields["ok"])
	require.Equal(t, made.header.Get("X-Svc-Seq"), fields["position"])

	rebuilt := h.do("POST", "/sys/readmodels/rebuild", as("root"))
	require.Equal(t, http.StatusOK, rebuilt.status, rebuilt.body)
	require.Equal(t, made.header.Get("X-Svc-Seq"), rebuilt.fields(t)["position"])
	require.Equal(t, made.body, h.do("GET", "/v2/workspaces/"+id, as("alice")).body)
}

// slow is a keeper that works until it is told to go on.
type slow struct{ started, goOn chan struct{} }

func (s slow) Rebuild(ctx context.Context, _ projections.Progress) (projections.Report, error) {
	close(s.started)
	select {
	case <-s.goOn:
		return projections.Report{Generation: 2}, nil
	case <-ctx.Done():
		return projections.Report{}, ctx.Err()
	}
}

func (slow) Verify(context.Context, projections.Progress) (projections.VerifyReport, error) {
	return projections.VerifyReport{}, errors.New("the disk is on fire")
}

func TestOneTaskOnTheReadModelsRunsAtATime(t *testing.T) {
	s := slow{make(chan struct{}), make(chan struct{})}
	h := open(t, func(d *api.Handlers) { d.System.ReadModels = s })
	first := make(chan answer)
	go func() { first <- h.do("POST", "/sys/readmodels/rebuild", as("root")) }()
	<-s.started
	for _, path := range []string{"/sys/readmodels/rebuild", "/sys/readmodels/verify"} {
		got := h.do("POST", path, key(internalKey))
		require.Equal(t, http.StatusLocked, got.status)
		fields := got.fields(t)
		require.Equal(t, "resource_locked", fields["error"])
		require.Equal(t, map[string]any{"reason": "rebuild", "lockedBy": "root", "lockedAt": "2026-06-01T12:00:00.000Z"}, fields["details"])
	}
	close(s.goOn)
	require.Equal(t, http.StatusOK, (<-first).status)

	failed := h.do("POST", "/sys/readmodels/verify", key(internalKey))
	require.Equal(t, http.StatusInternalServerError, failed.status, "free again")
	require.NotContains(t, failed.body, "fire")
}
