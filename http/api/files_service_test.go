package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/files"
	"svc/commands/seal"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/file"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/http/api"
	filesapi "svc/http/api/files"
	"svc/http/api/handler"
	"svc/http/api/system"
	"svc/http/gateway"
	"svc/projections"
	"svc/projections/livetest"
)

// fileService is the files of two workspaces over a real log, real blobs and a real
// read model. Its clock stands still unless it is told to pass.
type fileService struct {
	t        *testing.T
	url      string
	dir      string // where files wait
	log      *jetstream.Store
	models   *projections.Models
	files    *files.Files
	client   *http.Client
	settings files.Settings

	mu  sync.Mutex
	now time.Time
}

const maxUpload = 1 << 20

func (s *fileService) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *fileService) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// openFiles builds a fileService; each change is made to its parts before they are
// wired.
func openFiles(t *testing.T, changes ...func(*filesapi.Handlers)) *fileService {
	t.Helper()
	s := &fileService{t: t, now: today, dir: filepath.Join(t.TempDir(), "incoming"), client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	s.openLog()
	who := newMembers(t)
	handlers := &filesapi.Handlers{
		ReadModel: s.models, Access: who, Commands: s.files, Links: s.files, Contents: s.log.Blobs, URL: "https://api.example.org/v2/", Dir: s.dir, Now: s.clock,
	}
	for _, change := range changes {
		change(handlers)
	}
	routes := slices.DeleteFunc(api.Routes(api.Handlers{System: &system.Handlers{}, Files: handlers}), func(rt gateway.Route) bool { return !strings.Contains(rt.Path, "/files") })
	g, err := gateway.New(gateway.Options{
		Routes: routes, Authenticator: who, Authorizer: who, ReadModel: s.models, Known: s.log.Log.Known,
		Idempotency: &answers{records: map[string][]byte{}}, Now: s.clock, Host: domain.Host{Service: "api-gateway"},
		Settings: func() gateway.Settings { return gateway.Settings{DisableRateLimit: true, UploadsMaxSize: maxUpload} },
	})
	require.NoError(t, err)
	server := httptest.NewServer(g)
	s.url = server.URL
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		server.Close()
		require.NoError(t, g.Close(context.WithoutCancel(t.Context())))
		require.Empty(t, s.waiting(), "every temporary file is gone")
	})
	return s
}

// waiting lists the temporary files.
func (s *fileService) waiting() []os.DirEntry {
	found, err := os.ReadDir(s.dir)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(s.t, err)
	return found
}

func (s *fileService) openLog() {
	t := s.t
	s.log = livetest.Store(t, jetstream.Options{})
	bucket, err := s.log.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	s.models = livetest.Models(t, s.log)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte("k"), 32), Active: true}})
	require.NoError(t, err)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: s.log.Log, Log: quiet})
	require.NoError(t, err)
	s.files, err = files.New(files.Options{
		Engine: engine, Store: s.log.Log, Blobs: s.log.Blobs, Vault: vault.New(box, bucket), Now: s.clock, Settings: func() files.Settings { return s.settings },
	})
	require.NoError(t, err)
}

// do sends a request, whose answer the API document must allow.
func (s *fileService) do(method, path string, options ...option) answer {
	s.t.Helper()
	got := sendRequest(s.t, s.client, method, s.url+path, options)
	require.Empty(s.t, got.header.Get("No-Gzip-Compression"))
	return got
}

// requireRefusal sends a request that is refused, and returns the details.
func (s *fileService) requireRefusal(status int, code, method, path string, options ...option) map[string]any {
	s.t.Helper()
	got := s.do(method, path, options...)
	require.Equal(s.t, status, got.status, got.body)
	fields := got.fields(s.t)
	require.Equal(s.t, code, fields["error"], got.body)
	details, _ := fields["details"].(map[string]any)
	return details
}

// field is one part of a form: a file when it has a name or a type.
type field struct{ name, file, kind, content string }

// form is a multipart body.
func form(t *testing.T, fields ...field) option {
	t.Helper()
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	for _, f := range fields {
		head := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + f.name + `"`}}
		if f.file != "" {
			head.Set("Content-Disposition", `form-data; name="`+f.name+`"; filename="`+f.file+`"`)
		}
		if f.kind != "" {
			head.Set("Content-Type", f.kind)
		}
		out, err := w.CreatePart(head)
		require.NoError(t, err)
		_, err = io.WriteString(out, f.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text.Bytes())), int64(text.Len())
		r.Header.Set("Content-Type", w.FormDataContentType())
	}
}

// picture is how one begins.
const picture = "\x89PNG\r\n\x1a\n"

// items decodes an array of objects.
func (a answer) items(t *testing.T) (all []map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.body), &all), a.body)
	return all
}

// put uploads as alice and returns the first file.
func (s *fileService) put(fields ...field) map[string]any {
	s.t.Helper()
	got := s.do("POST", "/v2/workspaces/w1/files", as("alice"), form(s.t, fields...))
	require.Equal(s.t, http.StatusCreated, got.status, got.body)
	return got.items(s.t)[0]
}

// at is where a file is managed; address where it is downloaded.
func at(f map[string]any) string { return "/v2/workspaces/w1/files/" + f["id"].(string) }

func address(f map[string]any) string {
	return strings.TrimPrefix(f["url"].(string), "https://api.example.org")
}

// recorded returns all events of STATE but the totals, which nobody is shown.
func (s *fileService) recorded() (all []domain.Recorded) {
	s.t.Helper()
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	info, err := s.log.Log.Info(ctx, domain.State)
	require.NoError(s.t, err)
	if info.Last == 0 {
		return nil
	}
	_ = s.log.Log.Subscribe(ctx, domain.State, 1, func(b eventstore.Batch) error {
		if all = append(all, b.Events...); len(all) > 0 && all[len(all)-1].Seq >= info.Last {
			done()
		}
		return nil
	})
	return slices.DeleteFunc(all, func(r domain.Recorded) bool { return r.Stream.Kind == file.TotalDecider.Kind })
}

func (s *fileService) types() (types []string) {
	s.t.Helper()
	for _, r := range s.recorded() {
		types = append(types, r.Data.EventType())
	}
	return types
}

// members knows who may do what in two workspaces: alice owns them, bob edits,
// dora may change what is told about a file, carol is a stranger. The robot has a key for pictures, narrow a token without
// the scope of files.
type members struct {
	handler.Access
	workspaces map[string]*access.Workspace
	key        *access.Key
}

func newMembers(t *testing.T) *members {
	t.Helper()
	m := &members{workspaces: map[string]*access.Workspace{}}
	for _, id := range []string{"w1", "w2"} {
		security := access.Default(id)
		security.Authorizations.Roles["teller"] = access.Role{}
		security.Authorizations.Rules = append(security.Authorizations.Rules,
			access.Rule{Role: access.Word("teller"), Action: access.Word("read"), Subject: access.Word("files")},
			access.Rule{Role: access.Word("teller"), Action: access.Word("update"), Subject: access.Word("files"), Fields: []string{"metadata"}})
		if id == "w2" { // visitors may upload there
			security.Authorizations.Rules = append(security.Authorizations.Rules, access.Rule{Action: access.Word("create"), Subject: access.Word("files")})
		}
		policy, err := access.Compile(id, security)
		require.NoError(t, err)
		m.workspaces[id] = &access.Workspace{Policy: policy, Shares: []access.Share{
			access.OwnedBy("alice"), {Target: access.Target{ID: "bob"}, Permissions: access.Permissions{Role: "editor"}},
			{Target: access.Target{ID: "dora"}, Permissions: access.Permissions{Role: "teller"}},
		}}
	}
	rules, err := access.ScopeKey("w1", []access.KeyGrant{{
		Action: access.List("read", "create", "update"), Subject: access.Word("files"),
		Conditions: map[string]any{"mimetype": map[string]any{"$regex": "^image/"}, "createdBy": "key:key_1"},
	}})
	require.NoError(t, err)
	m.key, err = access.CompileKey("key_1", "w1", rules)
	require.NoError(t, err)
	return m
}

func (m *members) Authenticate(_ context.Context, c gateway.Credentials) (gateway.Caller, error) {
	switch {
	case c.APIKey == "robot":
		return gateway.Caller{Kind: gateway.KindAPIKey, KeyID: "key_1"}, nil
	case c.Bearer == "pending":
		return gateway.Caller{Kind: gateway.KindUser, UserID: "alice", MFAPending: true}, nil
	case c.Bearer == "narrow":
		return gateway.Caller{Kind: gateway.KindUser, UserID: "alice", Scopes: []string{"events:read"}}, nil
	}
	return gateway.Caller{Kind: gateway.KindUser, UserID: c.Bearer, SessionID: "s-" + c.Bearer}, nil
}

func (m *members) rights(c gateway.Caller, id string) *access.Rights {
	w, ok := m.workspaces[id]
	if !ok {
		return nil
	}
	p := access.Principal{UserID: c.UserID}
	if c.KeyID != "" {
		p.Key = m.key
	}
	return w.For(p)
}

func (m *members) Authorize(_ context.Context, c gateway.Caller, p gateway.Permission, id string) (gateway.Grant, error) {
	action, rights := p.(gateway.Action), m.rights(c, id)
	if rights == nil {
		return gateway.Grant{}, domain.Refuse(domain.CodeWorkspaceDenied, "you have no access to this workspace")
	}
	grant := gateway.Grant{InWorkspace: rights.IsMember(), WorkspaceID: id, Rights: rights}
	if !rights.Could(action.Action, action.Subject) {
		return grant, rights.Refusal(action.Action, action.Subject)
	}
	return grant, nil
}

func (m *members) Readable(c gateway.Caller, _ projections.Reader) func(string) (*access.Rights, bool, error) {
	return func(id string) (*access.Rights, bool, error) { return m.rights(c, id), false, nil }
}
