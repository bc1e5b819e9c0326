package files_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	"svc/domain/file"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

// library is files over a real log, real blobs and a real vault.
type library struct {
	*files.Files
	t        *testing.T
	log      *jetstream.Store
	vault    *vault.Vault
	settings files.Settings
	options  files.Options
	now      time.Time
}

// open builds a library; each change is made to its options before.
func open(t *testing.T, changes ...func(*files.Options)) *library {
	t.Helper()
	l := &library{t: t, now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	l.log = livetest.Store(t, jetstream.Options{})
	bucket, err := l.log.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte("k"), 32), Active: true}})
	require.NoError(t, err)
	l.vault = vault.New(box, bucket)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: l.log.Log})
	require.NoError(t, err)
	o := files.Options{
		Engine: engine, Store: l.log.Log, Blobs: l.log.Blobs, Vault: l.vault, Settings: func() files.Settings { return l.settings },
		Now: func() time.Time { return l.now }, Host: domain.Host{Service: "test"},
	}
	for _, change := range changes {
		change(&o)
	}
	if o.Store != l.log.Log {
		o.Engine, err = commands.NewEngine(commands.EngineOptions{Store: o.Store})
		require.NoError(t, err)
	}
	l.options = o
	l.Files, err = files.New(o)
	require.NoError(t, err)
	return l
}

func anyone(file.State) error { return nil }

func nobody(file.State) error { return domain.Refuse(domain.CodePermissionDenied, "no") }

// content is what an upload holds.
func content(text, mimetype string) files.Content {
	sum := sha256.Sum256([]byte(text))
	return files.Content{
		Content: file.Content{Mimetype: mimetype, Size: int64(len(text)), Checksum: hex.EncodeToString(sum[:])},
		Reader:  strings.NewReader(text),
	}
}

func upload(name, text string) files.Upload {
	return files.Upload{Name: name, Content: content(text, "text/plain")}
}

// one uploads a file.
func (l *library) one(u files.Upload) file.State {
	l.t.Helper()
	made, err := l.Upload(l.t.Context(), "w1", []files.Upload{u}, anyone)
	require.NoError(l.t, err)
	require.Len(l.t, made, 1)
	return made[0]
}

func (l *library) history(id string) []domain.Recorded {
	l.t.Helper()
	all, err := l.log.Log.Load(l.t.Context(), file.Stream("w1", id), 0)
	require.NoError(l.t, err)
	return all
}

// length is how many events the log has.
func (l *library) length() uint64 {
	l.t.Helper()
	info, err := l.log.Log.Info(l.t.Context(), domain.State)
	require.NoError(l.t, err)
	return info.Last
}

func TestFilesComeTogether(t *testing.T) {
	t.Parallel()
	l := open(t)
	req := &commands.Request{Meta: domain.Meta{UserID: "u1"}}
	made, err := l.Upload(commands.WithRequest(t.Context(), req), "w1", []files.Upload{upload("a.txt", "A"), upload("b.txt", "B"), upload("c.txt", "A")}, anyone)
	require.NoError(t, err)
	require.Len(t, made, 3)
	require.LessOrEqual(t, uint64(3), req.Position().State)
	for i, name := range []string{"a.txt", "b.txt", "c.txt"} {
		require.Regexp(t, `^[0-9A-Za-z_-]{21}$`, made[i].ID)
		facts := l.history(made[i].ID)
		require.Len(t, facts, 1)
		require.Equal(t, file.Uploaded{File: made[i].Facts}, facts[0].Data)
		require.Equal(t, "u1", facts[0].Meta.UserID)
		require.Equal(t, "test", facts[0].Meta.Host.Service)
		require.Equal(t, name, made[i].Name)
		require.Equal(t, "u1", made[i].CreatedBy)
		kept, err := l.log.Blobs.Get(t.Context(), made[i].Checksum)
		require.NoError(t, err)
		require.Len(t, kept, 1)
	}
	require.Equal(t, made[0].Checksum, made[2].Checksum, "one content is kept once")
}

func TestOneBadFileKeepsAllOut(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.settings.Forbidden = []string{"application/zip"}
	good, odd := upload("a.txt", "good"), files.Upload{Name: "b.zip", Content: content("zip", "application/zip")}
	picky := func(s file.State) error {
		if s.Name == "c.txt" {
			return domain.Refuse(domain.CodePermissionDenied, "no")
		}
		return nil
	}
	wrong := upload("d.txt", "wrong")
	wrong.Content.Checksum = content("x", "").Checksum
	for name, test := range map[string]struct {
		bad  files.Upload
		code domain.Code
	}{
		"a name":  {upload("a/b", "x"), domain.CodeValidation},
		"a type":  {odd, domain.CodeValidation},
		"a right": {upload("c.txt", "x"), domain.CodePermissionDenied},
		"a token": {files.Upload{Name: "a", Content: content("x", "text/plain"), ShareToken: &files.ShareToken{Text: "short"}}, domain.CodeValidation},
	} {
		_, err := l.Upload(t.Context(), "w1", []files.Upload{good, test.bad}, picky)
		require.Equal(t, test.code, domain.CodeOf(err), name)
		require.Zero(t, l.length(), name)
		_, err = l.log.Blobs.Get(t.Context(), good.Content.Checksum)
		require.ErrorIs(t, err, jetstream.ErrNoBlob, "nothing is kept before all are known to be good")
	}
	_, err := l.Upload(t.Context(), "w1", []files.Upload{good, wrong}, anyone)
	require.ErrorContains(t, err, "does not match its name")
	require.Zero(t, l.length())
}

func TestTypesAreTakenAsTheSettingsSay(t *testing.T) {
	t.Parallel()
	l := open(t)
	for _, test := range []struct {
		allowed, forbidden []string
		mimetype           string
		taken              bool
	}{
		{nil, nil, "application/x-anything", true},
		{[]string{"image/*", "application/pdf"}, nil, "image/png", true},
		{[]string{"image/*", "application/pdf"}, nil, "application/pdf", true},
		{[]string{"image/*", "application/pdf"}, nil, "text/html", false},
		{[]string{"image/*"}, nil, "image/svg+xml", false},
		{[]string{"image/svg+xml"}, nil, "image/svg+xml", true},
		{[]string{"*/*"}, nil, "image/svg+xml", true},
		{nil, []string{"image/*"}, "image/svg+xml", false},
		{nil, []string{"Text/HTML"}, "text/html", false},
		{nil, []string{"text/html"}, "text/plain", true},
		{[]string{"image/*"}, []string{"image/gif"}, "image/gif", false},
		{nil, []string{"*/*"}, "a/b", false},
	} {
		l.settings = files.Settings{Allowed: test.allowed, Forbidden: test.forbidden}
		_, err := l.Upload(t.Context(), "w1", []files.Upload{{Name: "a", Content: content("x", test.mimetype)}}, anyone)
		require.Equal(t, test.taken, err == nil, "%+v: %v", test, err)
		if !test.taken {
			require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
		}
	}
	l.settings = files.Settings{}
	made := l.one(upload("a", "x"))
	l.settings = files.Settings{Forbidden: []string{"text/html"}}
	_, err := l.Replace(t.Context(), "w1", made.ID, content("<html>", "text/html"), anyone)
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err), "a replacement is held to the same rules")
}

func TestVisibilityFollowsTheSettingsUnlessSaid(t *testing.T) {
	t.Parallel()
	l := open(t)
	require.False(t, l.one(upload("a", "x")).Public)
	l.settings.Public = true
	require.True(t, l.one(upload("a", "x")).Public)
	private := upload("a", "x")
	private.Public = new(false)
	require.False(t, l.one(private).Public)
}

func TestARepeatedUploadMeetsItself(t *testing.T) {
	t.Parallel()
	l := open(t)
	shared := upload("a", "x")
	shared.ShareToken = &files.ShareToken{Generate: true}
	again := func() ([]file.State, error) {
		return l.Upload(commands.WithRequest(t.Context(), &commands.Request{Seed: "s1"}), "w1", []files.Upload{shared, upload("b", "y")}, anyone)
	}
	first, err := again()
	require.NoError(t, err)
	_, err = l.Change(t.Context(), "w1", first[0].ID, files.Change{Name: new("renamed")}, anyone)
	require.NoError(t, err)
	second, err := again()
	require.NoError(t, err)
	require.EqualValues(t, 4, l.length(), "two files, their total, and a new name")
	require.Equal(t, []string{first[0].ID, first[1].ID}, []string{second[0].ID, second[1].ID})
	one, err := l.ShareToken(t.Context(), first[0])
	require.NoError(t, err)
	two, err := l.ShareToken(t.Context(), second[0])
	require.NoError(t, err)
	require.Equal(t, one, two)
	other, err := l.Upload(commands.WithRequest(t.Context(), &commands.Request{Seed: "s2"}), "w1", []files.Upload{upload("a", "x")}, anyone)
	require.NoError(t, err)
	require.NotEqual(t, first[0].ID, other[0].ID)
}

// odd is the real log with a fault put in.
type odd struct {
	eventstore.Store
	append func(...eventstore.Commit) error
	load   func(domain.StreamID) []domain.Recorded
}

func (o *odd) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	if o.append != nil {
		if err := o.append(commits...); err != nil {
			return eventstore.Receipt{}, err
		}
	}
	return o.Store.Append(ctx, commits...)
}

func (o *odd) Load(ctx context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error) {
	if o.load != nil {
		if events := o.load(id); events != nil {
			return events, nil
		}
	}
	return o.Store.Load(ctx, id, after)
}

func TestIDsThatCannotBeUsedAreDrawnAnew(t *testing.T) {
	t.Parallel()
	var burned string
	appends := 0
	tried := map[string]bool{}
	l := open(t, func(o *files.Options) {
		o.Store = &odd{Store: o.Store, load: func(id domain.StreamID) []domain.Recorded {
			if id.Kind == file.Decider.Kind && (burned == "" || burned == id.ID) { // a power cut took the first attempt
				burned = id.ID
				return []domain.Recorded{{Data: domain.Void{Name: "workspaces.files.uploaded"}}}
			}
			return nil
		}, append: func(commits ...eventstore.Commit) error {
			for _, c := range commits {
				tried[c.Stream.ID] = true
			}
			if appends++; appends == 1 {
				return eventstore.ErrConflict // another upload was counted meanwhile
			}
			return nil
		}}
	})
	made, err := l.Upload(commands.WithRequest(t.Context(), &commands.Request{Seed: "s1"}), "w1", []files.Upload{upload("a", "x")}, anyone)
	require.NoError(t, err)
	require.NotEqual(t, burned, made[0].ID)
	require.False(t, tried[burned])
	require.Equal(t, map[string]bool{made[0].ID: true, "w1": true}, tried, "the file and the total, twice the same")
	require.Equal(t, 2, appends)
}

func TestALogThatTakesNothingIsToldSo(t *testing.T) {
	t.Parallel()
	fault := eventstore.ErrUnavailable
	l := open(t, func(o *files.Options) {
		o.Store = &odd{Store: o.Store, append: func(...eventstore.Commit) error { return fault }}
	})
	_, err := l.Upload(t.Context(), "w1", []files.Upload{upload("a", "x")}, anyone)
	_, ok := errors.AsType[*commands.Unavailable](err)
	require.True(t, ok, "%v", err)
	fault = eventstore.ErrConflict
	_, err = l.Upload(t.Context(), "w1", []files.Upload{upload("a", "x")}, anyone)
	require.Equal(t, domain.CodeConflict, domain.CodeOf(err))
	fault = errors.New("odd")
	_, err = l.Upload(t.Context(), "w1", []files.Upload{upload("a", "x")}, anyone)
	require.ErrorIs(t, err, fault)
}

func TestAFileChanges(t *testing.T) {
	t.Parallel()
	l := open(t)
	made := l.one(upload("a.txt", "x"))
	changed, err := l.Change(t.Context(), "w1", made.ID, files.Change{
		Name: new("b.txt"), Public: new(true), Metadata: &map[string]any{"k": "v"}, ExpiresAfter: new(int64(60)),
	}, anyone)
	require.NoError(t, err)
	require.Equal(t, file.Terms{Name: "b.txt", Public: true, Metadata: map[string]any{"k": "v"}, ExpiresAfter: 60, ExpiresAt: l.now.Add(time.Minute)}, changed.Terms)

	replaced, err := l.Replace(t.Context(), "w1", made.ID, content("<html>", "text/html"), anyone)
	require.NoError(t, err)
	require.Equal(t, made.ID, replaced.ID)
	require.Equal(t, "text/html", replaced.Mimetype)
	kept, err := l.log.Blobs.Get(t.Context(), replaced.Checksum)
	require.NoError(t, err)
	require.Equal(t, "<html>", string(kept))

	for name, try := range map[string]func(may files.May) error{
		"find": func(may files.May) error { _, err := l.Find(t.Context(), "w1", made.ID, may); return err },
		"change": func(may files.May) error {
			_, err := l.Change(t.Context(), "w1", made.ID, files.Change{Public: new(false)}, may)
			return err
		},
		"token": func(may files.May) error {
			_, err := l.Change(t.Context(), "w1", made.ID, files.Change{ShareToken: &files.ShareToken{Text: strings.Repeat("a", 16)}}, may)
			return err
		},
		"replace": func(may files.May) error {
			_, err := l.Replace(t.Context(), "w1", made.ID, content("z", "a/b"), may)
			return err
		},
		"delete": func(may files.May) error { _, err := l.Delete(t.Context(), "w1", made.ID, may); return err },
	} {
		require.Equal(t, domain.CodePermissionDenied, domain.CodeOf(try(nobody)), name)
	}
	_, err = l.log.Blobs.Get(t.Context(), content("z", "").Checksum)
	require.ErrorIs(t, err, jetstream.ErrNoBlob, "what may not be is not kept")
	_, err = l.Find(t.Context(), "w2", made.ID, nobody)
	refusal, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok)
	require.Equal(t, domain.CodeNotFound, refusal.Code, "a file belongs to its workspace")
	require.Equal(t, map[string]any{"resource": "file", "id": made.ID}, refusal.Details)

	_, err = l.Delete(t.Context(), "w1", made.ID, anyone)
	require.NoError(t, err)
	_, err = l.Find(t.Context(), "w1", made.ID, anyone)
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(err))
	types := []string{}
	for _, r := range l.history(made.ID) {
		types = append(types, r.Data.EventType())
	}
	require.Equal(t, []string{"workspaces.files.uploaded", "workspaces.files.updated", "workspaces.files.updated", "workspaces.files.deleted"}, types)
}

// finder is a Finder from what it is given.
type finder struct {
	refs []files.Ref
	err  error
}

func (f finder) Due(context.Context, time.Time, int) ([]files.Ref, error) { return f.refs, f.err }

func TestExpiredFilesAreSwept(t *testing.T) {
	t.Parallel()
	l := open(t)
	brief := upload("a", "x")
	brief.ExpiresAfter = 60
	one, two, kept := l.one(brief), l.one(brief), l.one(upload("b", "y"))
	prolonged := l.one(brief)
	_, err := l.Change(t.Context(), "w1", prolonged.ID, files.Change{ExpiresAfter: new(int64(3600))}, anyone)
	require.NoError(t, err)
	l.now = l.now.Add(time.Minute)
	_, err = l.Find(t.Context(), "w1", one.ID, anyone)
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(err), "it is gone before it is swept")
	due := finder{refs: []files.Ref{{WorkspaceID: "w1", ID: one.ID}, {WorkspaceID: "w1", ID: two.ID}, {WorkspaceID: "w1", ID: kept.ID}, {WorkspaceID: "w1", ID: prolonged.ID}, {WorkspaceID: "w1", ID: "nothing"}}}
	n, err := l.Expire(t.Context(), due, l.now)
	require.NoError(t, err)
	require.Equal(t, 2, n, "the log has the last word, not the finder")
	n, err = l.Expire(t.Context(), due, l.now)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, file.Deleted{ID: one.ID, Name: "a"}, l.history(one.ID)[1].Data)
	require.Len(t, l.history(kept.ID), 1)

	_, err = l.Expire(t.Context(), finder{err: errors.New("odd")}, l.now)
	require.ErrorContains(t, err, "odd")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Expire(ended, finder{refs: []files.Ref{{WorkspaceID: "w1", ID: prolonged.ID}}}, l.now.Add(2*time.Hour))
	require.Error(t, err)
}

func TestConcurrentChangesAllCount(t *testing.T) {
	t.Parallel()
	l := open(t)
	made := l.one(upload("a", "x"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := l.Change(t.Context(), "w1", made.ID, files.Change{ShareToken: &files.ShareToken{Generate: true}}, anyone); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := l.Find(t.Context(), "w1", made.ID, anyone)
	require.NoError(t, err)
	require.EqualValues(t, 8, got.Share.Generation)
}

func TestOptionsMustBeComplete(t *testing.T) {
	t.Parallel()
	_, err := files.New(files.Options{})
	require.Error(t, err)
}

// The limit of all files of a workspace holds however many come at once, on several nodes.
func TestFilesOfAWorkspaceHaveALimit(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.settings.MaxTotal = 10
	second, err := files.New(l.options) // another node over the same log
	require.NoError(t, err)
	var mu sync.Mutex
	var stored, refused int
	var running sync.WaitGroup
	for i := range 16 {
		running.Go(func() {
			node := []*files.Files{l.Files, second}[i%2]
			_, err := node.Upload(t.Context(), "w1", []files.Upload{upload("a", "xy"), upload("b", "z")}, anyone)
			mu.Lock()
			defer mu.Unlock()
			switch domain.CodeOf(err) {
			case "":
				stored++
			case domain.CodeQuota:
				refused++
			default:
				t.Errorf("%v", err)
			}
		})
	}
	running.Wait()
	require.Equal(t, 3, stored)
	require.Equal(t, 13, refused)

	other, err := l.Upload(t.Context(), "w2", []files.Upload{upload("a", "0123456789")}, anyone)
	require.NoError(t, err, "each workspace has its own")
	_, err = l.Upload(t.Context(), "w2", []files.Upload{upload("e", "")}, anyone)
	require.NoError(t, err, "an empty file has room")
	_, err = l.Replace(t.Context(), "w2", other[0].ID, content("0123456789+", "text/plain"), anyone)
	require.Equal(t, domain.CodeQuota, domain.CodeOf(err))
	_, err = l.Replace(t.Context(), "w2", other[0].ID, content("012", "text/plain"), anyone)
	require.NoError(t, err)
	expiring := upload("x", "7 bytes")
	expiring.ExpiresAfter = 1
	made, err := l.Upload(t.Context(), "w2", []files.Upload{expiring}, anyone)
	require.NoError(t, err)
	require.Equal(t, domain.CodeQuota, domain.CodeOf(l.uploadRefused(upload("y", "y"))))
	l.now = l.now.Add(time.Minute)
	_, err = l.Expire(t.Context(), finder{refs: []files.Ref{{WorkspaceID: "w2", ID: made[0].ID}}}, l.now)
	require.NoError(t, err)
	_, err = l.Delete(t.Context(), "w2", other[0].ID, anyone)
	require.NoError(t, err)
	_, err = l.Upload(t.Context(), "w2", []files.Upload{upload("z", "0123456789")}, anyone)
	require.NoError(t, err, "what was deleted and what expired gave its room back")
	l.settings.MaxTotal = 0
	_, err = l.Upload(t.Context(), "w2", []files.Upload{upload("z", "0123456789")}, anyone)
	require.NoError(t, err, "0 is no limit")
}

// uploadRefused uploads a file to w2 and returns the refusal.
func (l *library) uploadRefused(u files.Upload) error {
	l.t.Helper()
	_, err := l.Upload(l.t.Context(), "w2", []files.Upload{u}, anyone)
	require.Error(l.t, err)
	return err
}

// Files of before totals were recorded count, and are asked for once.
func TestFilesOfBeforeTheLimitCount(t *testing.T) {
	t.Parallel()
	asked := 0
	l := open(t, func(o *files.Options) {
		o.Before = func(context.Context, string) (int64, error) { asked++; return 8, nil }
	})
	l.settings.MaxTotal = 10
	require.Equal(t, domain.CodeQuota, domain.CodeOf(l.uploadRefused(upload("a", "xyz"))))
	_, err := l.Upload(t.Context(), "w2", []files.Upload{upload("a", "xy")}, anyone)
	require.NoError(t, err)
	before := asked
	require.Equal(t, domain.CodeQuota, domain.CodeOf(l.uploadRefused(upload("a", "x"))))
	require.Equal(t, before, asked)
}
