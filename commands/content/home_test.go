package content_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node"
	"svc/cmd/node/nodetest"
	"svc/cmd/settings"
	"svc/projections/livetest"
)

// testNode is a node that serves, whose callers say who they are.
type testNode struct {
	base   string
	user   string
	client *http.Client
}

// as is the same node for another caller.
func (h testNode) as(user string) *testNode {
	h.user = user
	return &h
}

// startNode starts a node.
func startNode(t *testing.T, env ...string) *testNode {
	t.Helper()
	port := livetest.Ports(1)[0]
	loaded, err := settings.Load(settings.Source{Hostname: "test", Environ: append([]string{
		"DATA_DIR=" + filepath.Join(t.TempDir(), "data"), "ADDR=127.0.0.1", fmt.Sprintf("PORT=%d", port), "NODE_NAME=n1",
		"DISK_MIN_FREE_MB=1", "JWKS_ALG=ES256", "JWKS_KTY=EC", "DISABLE_RATE_LIMIT=yes",
		livetest.Patient,
	}, env...)})
	require.NoError(t, err)
	n, err := node.Open(t.Context(), node.Options{
		Settings: settings.NewLive(loaded), Log: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelError})), Level: new(slog.LevelVar), Authenticator: nodetest.TrustingAuthenticator{},
	})
	require.NoError(t, err)
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx) }()
	h := &testNode{user: "tester", base: fmt.Sprintf("http://127.0.0.1:%d", port), client: &http.Client{Timeout: 50 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	t.Cleanup(func() {
		h.client.CloseIdleConnections()
		end()
		require.NoError(t, <-ended)
	})
	return h
}

// reply is an answer that was read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// fields is the body of an answer in JSON.
func (r reply) fields(t require.TestingT) map[string]any {
	var v map[string]any
	require.NoError(t, json.Unmarshal(r.body, &v), "%s", r.body)
	return v
}

// reason is the stable word of a refusal.
func (r reply) reason(t require.TestingT) string {
	details, _ := r.fields(t)["details"].(map[string]any)
	reason, _ := details["reason"].(string)
	return reason
}

// words lists the texts under a key of each item of a list.
func words(list any, key string) []string {
	items, _ := list.([]any)
	all := make([]string, 0, len(items))
	for _, item := range items {
		m, _ := item.(map[string]any)
		text, _ := m[key].(string)
		all = append(all, text)
	}
	return all
}

// send sends a body of a type.
func (h *testNode) send(method, path, media string, body []byte) (reply, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, h.base+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Authorization", "Bearer "+h.user)
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	res, err := h.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, got}, err
}

func (h *testNode) call(t require.TestingT, method, path, media, body string) reply {
	got, err := h.send(method, path, media, []byte(body))
	require.NoError(t, err)
	return got
}

// create makes a workspace.
func (h *testNode) create(t require.TestingT, body string) string {
	got := h.call(t, "POST", "/v2/workspaces", "application/json", body)
	require.Equal(t, http.StatusCreated, got.status, "%s", got.body)
	return got.fields(t)["id"].(string)
}

// importing sends an archive to a workspace; "" makes a new one.
func (h *testNode) importing(t require.TestingT, id, query string, data []byte) reply {
	path := "/v2/workspaces/import"
	if id != "" {
		path = "/v2/workspaces/" + id + "/import"
	}
	got, err := h.send("POST", path+query, "application/zip", data)
	require.NoError(t, err)
	return got
}

// export returns the archive of a workspace.
func (h *testNode) export(t require.TestingT, id string) []byte {
	got := h.call(t, "GET", "/v2/workspaces/"+id+"/export", "", "")
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
	return got.body
}

// entry is one file of an archive.
type entry struct {
	name string
	text []byte
	mode uint32 // of a special file, as zip keeps it
}

// pack makes an archive of files, compressed.
func pack(t require.TestingT, entries ...entry) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, ExternalAttrs: e.mode}
		if e.mode != 0 {
			header.CreatorVersion = 3 << 8 // Unix
		}
		w, err := z.CreateHeader(header)
		require.NoError(t, err)
		_, err = w.Write(e.text)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

// files makes an archive of texts by path.
func files(t require.TestingT, texts map[string]string) []byte {
	var entries []entry
	for name, text := range texts {
		entries = append(entries, entry{name: name, text: []byte(text)})
	}
	return pack(t, entries...)
}

// unpack returns the texts of an archive by path.
func unpack(t require.TestingT, data []byte) map[string]string {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	texts := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		texts[f.Name] = string(text)
	}
	return texts
}

// testLog shows what a node warns of.
type testLog struct{ t *testing.T }

// Write implements io.Writer.
func (l testLog) Write(b []byte) (int, error) {
	l.t.Logf("%s", b)
	return len(b), nil
}
