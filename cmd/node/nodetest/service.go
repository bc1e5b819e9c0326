package nodetest

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"svc/cmd/node"
	"svc/cmd/process"
	"svc/cmd/settings"
	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/catalog"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/http/api/apitest"
	"svc/http/gateway"
	"svc/projections/livetest"
)

// ZipOf makes an archive of texts by path.
func ZipOf(t *testing.T, texts map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range texts {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.String()
}

// Upload sends an archive, raw or as a form.
func (s *Service) Upload(t *testing.T, path string, caller http.Header, data string, form bool) Answer {
	t.Helper()
	media, body := "application/zip", []byte(data)
	if form {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, err := w.CreateFormFile("archive", "a.zip")
		require.NoError(t, err)
		_, err = part.Write(body)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		media, body = w.FormDataContentType(), b.Bytes()
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Base+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header = caller.Clone()
	req.Header.Set("Content-Type", media)
	res, err := s.Client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	var got bytes.Buffer
	_, err = got.ReadFrom(res.Body)
	require.NoError(t, err)
	apitest.Validate(t, res, got.Bytes())
	return Answer{res, got.Bytes()}
}

// StartBroker starts a broker as an operator would run one beside the service.
func StartBroker(t *testing.T) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, Username: "svc", Password: "hunter2",
	})
	require.NoError(t, err)
	srv.Start()
	require.True(t, srv.ReadyForConnections(time.Minute))
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	return srv
}

// StartCluster starts three nodes whose own brokers are joined, in one process. env has the
// settings that differ.
func StartCluster(t *testing.T, env func(i int) []string) []*Service {
	t.Helper()
	ports := livetest.Ports(3)
	nodes := make([]*Service, 3)
	for i := range nodes {
		var routes []string
		for j, port := range ports {
			if j != i {
				routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
			}
		}
		nodes[i] = NewService(t, append(env(i), fmt.Sprintf("NODE_NAME=n%d", i), fmt.Sprintf("NATS_CLUSTER_LISTEN=127.0.0.1:%d", ports[i]),
			"NATS_CLUSTER_ROUTES="+strings.Join(routes, ","), "STREAM_REPLICAS=3", "SECRETS_MASTER_KEYS="+MasterKeys, "PUBLISH_TIMEOUT_MS=10000")...)
	}
	var starting sync.WaitGroup
	for _, n := range nodes {
		starting.Go(func() { n.Start(t) })
	}
	starting.Wait()
	for _, n := range nodes {
		n.Await(t, "/readyz", http.StatusOK)
	}
	return nodes
}

// RunCleanup runs a cleanup job as the platform itself does.
func (s *Service) RunCleanup(t *testing.T, job, body string) activity.Cleaned {
	t.Helper()
	got := Workspace{Service: s, Auth: AsInternal}.Do(t, 200, "POST", "/sys/cleanup/"+job, body)
	var done activity.Cleaned
	require.NoError(t, json.Unmarshal(got.Body, &done))
	require.Empty(t, done.Errors, "%s", got.Body)
	return done
}

// AdminPassword is the password of admin@localhost in these tests.
const AdminPassword = "correct horse battery staple"

// accountSettings are the settings of a service that authenticates users itself.
var accountSettings = []string{"ADMIN_PASSWORD=" + AdminPassword, "ACCOUNT_VALIDATION_METHOD=auto", "DISABLE_RATE_LIMIT=yes"}

// NewServiceWithAccounts prepares a service that authenticates users itself.
func NewServiceWithAccounts(t *testing.T, env ...string) *Service {
	t.Helper()
	s := NewService(t, append(slices.Clone(accountSettings), env...)...)
	s.Authenticator = nil
	return s
}

// StartPair starts two nodes over one broker.
func StartPair(t *testing.T, env ...string) (one, other *Service) {
	t.Helper()
	address := strings.Replace(StartBroker(t).ClientURL(), "nats://", "nats://svc:hunter2@", 1)
	port := livetest.Ports(1)[0] // the platform has one public address
	shared := append([]string{
		"NATS_URL=" + address, "STREAM_REPLICAS=1", "SECRETS_MASTER_KEYS=" + MasterKeys, fmt.Sprintf("API_URL=http://127.0.0.1:%d/v2", port),
	}, env...)
	one = NewServiceWithAccounts(t, append(shared, "NODE_NAME=one")...).Start(t)
	other = NewServiceWithAccounts(t, append(shared, "NODE_NAME=other")...).Start(t)
	return one, other
}

// Bearer shows a token.
func Bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// Login signs in and returns the answer's fields.
func (s *Service) Login(t *testing.T, email, password string) map[string]any {
	t.Helper()
	got := s.Call(t, "POST", "/v2/login", nil, fmt.Sprintf(`{"email":%q,"password":%q}`, email, password))
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
	return got.JSON(t)
}

// SignInAdmin signs the super admin in and returns the token.
func (s *Service) SignInAdmin(t *testing.T) string {
	t.Helper()
	return s.Login(t, "admin@localhost", AdminPassword)["token"].(string)
}

// Must sends a request that succeeds.
func (s *Service) Must(t *testing.T, method, path string, h http.Header, body string) map[string]any {
	t.Helper()
	got := s.Call(t, method, path, h, body)
	require.Less(t, got.StatusCode, 300, "%s %s: %s", method, path, got.Body)
	return got.JSON(t)
}

// The keys of every service under test. They are searched for where no secret
// may be.
const (
	InternalKey = "k7Qm2ZxVt9LbRw4Jd8NcPf3HgYs6TuAe"
	MasterKey   = "c41f8a2e93d705b6e8217fa4d0593bc6127e4f98ab35d06c71e2840fb9635ad1"
	MasterKeys  = `[{"kid":"k1","key":"` + MasterKey + `","active":true}]`
)

// Service is a node that serves, and its data.
type Service struct {
	Node  *node.Node
	Live  *settings.Live
	Level *slog.LevelVar
	Log   *livetest.Lines
	Dir   string
	Base  string
	Env   []string

	Authenticator gateway.Authenticator // nil: the platform's own
	Lease         time.Duration         // 0: as long as usual
	Clock         func() time.Time      // of schedules and of messages to agents; nil: the usual one

	Root    http.Header // of a super admin, once SignUp needed one
	Client  *http.Client
	End     context.CancelFunc
	Outcome chan error // of Serve
	Ended   bool
}

// NewService prepares a service on a free port. What env says wins.
func NewService(t *testing.T, env ...string) *Service {
	t.Helper()
	s := newService(filepath.Join(t.TempDir(), "data"), env...)
	t.Cleanup(func() {
		defer s.showLog(t)
		s.Stop(t)
	})
	return s
}

// showLog shows what the service logged when a test failed.
func (s *Service) showLog(t *testing.T) {
	if t.Failed() {
		t.Logf("log of the service:\n%s", s.Log)
	}
}

// newService returns a service with a data directory on a free port.
func newService(dir string, env ...string) *Service {
	port := livetest.Ports(1)[0]
	s := &Service{Dir: dir, Base: fmt.Sprintf("http://127.0.0.1:%d", port), Log: new(livetest.Lines), Level: new(slog.LevelVar)}
	s.Env = append([]string{
		"DATA_DIR=" + s.Dir, "ADDR=127.0.0.1", fmt.Sprintf("PORT=%d", port), "NODE_NAME=n1", "INTERNAL_API_KEY=" + InternalKey,
		"DISK_MIN_FREE_MB=1", "BADGER_MEMTABLE_MB=16", "BADGER_BLOCK_CACHE_MB=1", "JWKS_ALG=ES256", "JWKS_KTY=EC",
		livetest.Patient,
	}, env...)
	s.Authenticator = namedUsers{}
	s.Client = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{}}
	return s
}

func (s *Service) source(more ...string) settings.Source {
	return settings.Source{Environ: append(append([]string(nil), s.Env...), more...), Hostname: "test"}
}

// Port is the port that the service listens at.
func (s *Service) Port() string { return s.Base[strings.LastIndexByte(s.Base, ':')+1:] }

// Open starts the parts and does not serve yet. The settings must be valid.
func (s *Service) Open(t *testing.T) error {
	t.Helper()
	_, err := settings.Load(s.source())
	require.NoError(t, err)
	return s.TryOpen(t)
}

// TryOpen starts the parts and does not serve yet. The settings may be wrong.
func (s *Service) TryOpen(t *testing.T) error {
	t.Helper()
	return s.open(t.Context())
}

func (s *Service) open(ctx context.Context) error {
	loaded, err := settings.Load(s.source())
	if err != nil {
		return err
	}
	s.Live = settings.NewLive(loaded)
	s.Level.Set(slog.LevelDebug)
	s.Node, err = node.Open(ctx, node.Options{
		Settings: s.Live, Log: process.NewLog(s.Log, "json", s.Level), Level: s.Level, Version: "1.2.3",
		Authenticator: s.Authenticator, Hashing: accounts.Hashing{Memory: 64, Iterations: 1}, Lease: s.Lease, Clock: s.Clock,
	})
	return err
}

// Start opens the service and serves.
func (s *Service) Start(t *testing.T) *Service {
	t.Helper()
	require.NoError(t, s.Open(t))
	s.serve()
	return s
}

func (s *Service) serve() {
	var ctx context.Context
	ctx, s.End = context.WithCancel(context.Background())
	s.Outcome, s.Ended = make(chan error, 1), false
	go func() { s.Outcome <- s.Node.Serve(ctx) }()
}

// Stop stops the service cleanly.
func (s *Service) Stop(t *testing.T) {
	t.Helper()
	s.Client.CloseIdleConnections()
	if s.End == nil || s.Ended {
		return
	}
	s.Ended = true
	s.End()
	select {
	case err := <-s.Outcome:
		require.NoError(t, err)
	case <-time.After(3 * time.Minute):
		t.Error("the service did not stop")
	}
}

// Reload puts other live settings in force, as SIGHUP does.
func (s *Service) Reload(t *testing.T, env ...string) {
	t.Helper()
	_, _, err := s.Live.Reload(s.source(env...))
	require.NoError(t, err)
}

// Answer is a response that was read.
type Answer struct {
	*http.Response
	Body []byte
}

// JSON is the body, which is an object.
func (a Answer) JSON(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal(a.Body, &v), "%s", a.Body)
	return v
}

// Code is the error code of a refusal.
func (a Answer) Code(t *testing.T) string {
	t.Helper()
	code, _ := a.JSON(t)["error"].(string)
	return code
}

// AsInternal shows the internal key.
var AsInternal = http.Header{"X-Svc-Api-Key": {InternalKey}}

// As shows the token of a user.
func As(user string, more ...string) http.Header {
	h := http.Header{"Authorization": {"Bearer " + TokenOf(user)}}
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

// patience is how long a read comes back while the read model is behind.
const patience = 2 * time.Minute

// Request sends a request and returns what came. A read that is asked to come back because the read model of a busy machine
// is behind does so, as clients do, unless it names a position itself.
func (s *Service) Request(ctx context.Context, method, path string, h http.Header, body string) (Answer, error) {
	for deadline := time.Now().Add(patience); ; {
		got, err := s.requestOnce(ctx, method, path, h, body)
		behind := err == nil && got.StatusCode == http.StatusServiceUnavailable && bytes.Contains(got.Body, []byte("read_model_behind"))
		if !behind || method != http.MethodGet || h.Get("X-Svc-Min-Seq") != "" || time.Now().After(deadline) {
			return got, err
		}
	}
}

func (s *Service) requestOnce(ctx context.Context, method, path string, h http.Header, body string) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.Base+path, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	for name, values := range h {
		req.Header[name] = values
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := s.Client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return Answer{res, got}, err
}

// Call sends a request and validates the answer against the API document.
func (s *Service) Call(t *testing.T, method, path string, h http.Header, body string) Answer {
	t.Helper()
	got, err := s.Request(t.Context(), method, path, h, body)
	require.NoError(t, err)
	apitest.Validate(t, got.Response, got.Body)
	return got
}

// Get sends a GET and validates the answer against the API document.
func (s *Service) Get(t *testing.T, path string, h http.Header) Answer {
	t.Helper()
	return s.Call(t, http.MethodGet, path, h, "")
}

// CreateWorkspace creates a workspace as the super admin and returns its id.
func (s *Service) CreateWorkspace(t *testing.T, name string) (id string, made Answer) {
	t.Helper()
	made = s.Call(t, http.MethodPost, "/v2/workspaces", As("root"), `{"name":"`+name+`"}`)
	require.Equal(t, http.StatusCreated, made.StatusCode, "%s", made.Body)
	return made.JSON(t)["id"].(string), made
}

// Await waits until GET path answers with a status.
func (s *Service) Await(t *testing.T, path string, status int) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, err := s.Request(t.Context(), http.MethodGet, path, AsInternal, "")
		return err == nil && got.StatusCode == status
	}, time.Minute, 5*time.Millisecond, "%s must answer %d", path, status)
}

// TokenOf is the credential of a user.
func TokenOf(user string) string { return "tok-3kFv9ZqLx7-" + user }

// namedUsers authenticates users by their name: root is a super admin.
type namedUsers struct{}

// Authenticate implements gateway.Authenticator.
func (namedUsers) Authenticate(ctx context.Context, c gateway.Credentials) (gateway.Caller, error) {
	user, ok := strings.CutPrefix(c.Bearer, TokenOf(""))
	if !ok {
		return gateway.Caller{}, domain.Refuse(domain.CodeInvalidToken, "unknown token")
	}
	if gate, ok := heldUsers.Load(user); ok {
		return gateway.Caller{}, gate.(*RequestHold).wait(ctx)
	}
	return gateway.Caller{Kind: gateway.KindUser, UserID: user, SessionID: "session-" + user, Super: user == "root"}, nil
}

// heldUsers has the RequestHold of each user whose requests wait.
var heldUsers sync.Map

// RequestHold makes the requests of a user wait until Open is closed.
type RequestHold struct{ Entered, Open chan struct{} }

// HoldRequests makes the requests of user wait.
func HoldRequests(t *testing.T, user string) *RequestHold {
	ts := &RequestHold{make(chan struct{}, 8), make(chan struct{})}
	heldUsers.Store(user, ts)
	t.Cleanup(func() { heldUsers.Delete(user) })
	return ts
}

func (ts *RequestHold) wait(ctx context.Context) error {
	ts.Entered <- struct{}{}
	select {
	case <-ts.Open:
		return domain.Refuse(domain.CodeInvalidToken, "slow, and unknown")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// StoredEvents returns every event of a log in a data directory that nobody uses.
func StoredEvents(t *testing.T, dir string, log domain.Log) (events []domain.Recorded) {
	t.Helper()
	store, err := jetstream.Open(t.Context(), jetstream.Options{Dir: filepath.Join(dir, "log"), Events: catalog.Events(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close(context.Background())) }()
	ctx, done := context.WithCancel(t.Context())
	defer done()
	err = store.Log.Subscribe(ctx, log, 1, func(b eventstore.Batch) error {
		if events = append(events, b.Events...); b.Pending == 0 {
			done()
		}
		return nil
	})
	require.NoError(t, err)
	return events
}

// RequireNoSecret searches every file below dir but the keys.
func RequireNoSecret(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == "keys" {
				return filepath.SkipDir
			}
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range secrets {
			require.False(t, bytes.Contains(content, []byte(secret)), "%q is in %s", secret, path)
		}
		return err
	})
	require.NoError(t, err)
}

// Certificate makes a self-signed pair for the given names.
func Certificate(t *testing.T, names ...string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "svc test"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(cert, certPEM, 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	pool = x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(certPEM))
	return cert, key, pool
}

// SignUp creates an account with a validated address and returns its id.
func (s *Service) SignUp(t *testing.T, email string) string {
	t.Helper()
	id := s.Must(t, "POST", "/v2/signup", nil, fmt.Sprintf(`{"email":%q,"password":"long enough","firstName":"F","lastName":"L"}`, email))["id"].(string)
	if s.Root == nil {
		s.Root = Bearer(s.SignInAdmin(t))
	}
	s.Must(t, "PATCH", "/v2/users/"+id, s.Root, `{"status":"validated"}`)
	return id
}

// NewUsers signs users up and in, and returns their headers and ids.
func (s *Service) NewUsers(t *testing.T, names ...string) (headers map[string]http.Header, ids map[string]string) {
	t.Helper()
	headers, ids = map[string]http.Header{}, map[string]string{}
	for _, name := range names {
		email := name + "@example.org"
		s.SignUp(t, email)
		in := s.Login(t, email, "long enough")
		headers[name], ids[name] = Bearer(in["token"].(string)), in["userId"].(string)
	}
	return headers, ids
}

// EventTypes returns the types of the events of the aggregate of a workspace.
func (s *Service) EventTypes(t *testing.T, id string) (types []string) {
	t.Helper()
	events, err := s.Node.Store().Log.Load(t.Context(), workspace.Stream(id), 0)
	require.NoError(t, err)
	for _, ev := range events {
		types = append(types, ev.Data.EventType())
	}
	return types
}

// Reason is the stable sub-code of a refusal.
func (a Answer) Reason(t *testing.T) string {
	t.Helper()
	details, _ := a.JSON(t)["details"].(map[string]any)
	reason, _ := details["reason"].(string)
	return reason
}

// List returns the items of a list.
func (a Answer) List(t *testing.T) (items []map[string]any) {
	t.Helper()
	require.Equal(t, http.StatusOK, a.StatusCode, "%s", a.Body)
	require.NoError(t, json.Unmarshal(a.Body, &items), "%s", a.Body)
	return items
}
