package app_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/app"
	"svc/domain/document"
	"svc/domain/domaintest"
)

type scenario = domaintest.Scenario[app.State, app.Command]

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// events are the types of this aggregate as the log knows them.
var events = domain.NewRegistry(
	domain.Describe[app.Published](domain.State, ""),
	domain.Describe[app.Deleted](domain.State, ""),
)

// mail publishes the app of the workspace w1 at a revision.
func mail(revision uint64, version string, change ...func(*app.Publish)) app.Publish {
	c := app.Publish{
		Slug: "Mail", WorkspaceID: "w1", Revision: revision, Version: version, Name: document.InEveryLanguage("Mail"),
		Description: document.InEveryLanguage("sends mail"), Photo: "/mail.png", Labels: []string{"core"}, Now: noon, By: "ada",
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

// published is the fact that c causes, under the name of its version.
func published(c app.Publish, version string) app.Published {
	return app.Published{App: app.App{
		Slug: c.Slug, WorkspaceID: c.WorkspaceID, Name: c.Name, Description: c.Description, Photo: c.Photo,
		Labels: c.Labels, Documentation: c.Documentation,
		Versions: []app.Version{{Name: version, Revision: c.Revision, CreatedAt: c.Now, CreatedBy: c.By}},
	}}
}

func TestPublishing(t *testing.T) {
	first := published(mail(7, "v1"), "v1")
	once := []domain.Event{first}
	other := func(c *app.Publish) { c.WorkspaceID = "w2" }
	renamed := func(c *app.Publish) { c.Name = document.InEveryLanguage("Post") }
	guide := func(c *app.Publish) {
		c.Documentation = &app.Documentation{WorkspaceSlug: "docs/mail", Slug: "guides/start here"}
	}
	for name, sc := range map[string]scenario{
		"a workspace becomes an app": {
			When: mail(7, "v1"), Then: once,
		},
		"what has no version is given a name": {
			When: mail(47, ""), Then: []domain.Event{published(mail(47, ""), "20261115-120000-00001b")},
		},
		"publishing it again as it is does nothing": {
			Given: once, When: mail(7, "v1", func(c *app.Publish) { c.Now, c.By = noon.Add(time.Hour), "bob" }),
		},
		"publishing the same content without a name does nothing": {
			Given: once, When: mail(7, ""),
		},
		"other content is another version": {
			Given: once, When: mail(9, "v2"), Then: []domain.Event{published(mail(9, "v2"), "v2")},
		},
		"another name of the same content is another version": {
			Given: once, When: mail(7, "v2"), Then: []domain.Event{published(mail(7, "v2"), "v2")},
		},
		"another text about the same content is published": {
			Given: once, When: mail(7, "v1", renamed), Then: []domain.Event{published(mail(7, "v1", renamed), "v1")},
		},
		"an old version is published again": {
			Given: []domain.Event{first, published(mail(9, "v2"), "v2")}, When: mail(7, "v1"), Then: once,
		},
		"the name of a version is not given to other content": {
			Given: once, When: mail(9, "v1"), Refuse: domain.CodeAlreadyExists,
		},
		"an app belongs to one workspace": {
			Given: once, When: mail(7, "v1", other), Refuse: domain.CodeAlreadyExists,
		},
		"a deleted app may be published by another workspace": {
			Given: []domain.Event{first, app.Deleted{AppSlug: "Mail"}}, When: mail(3, "v1", other),
			Then: []domain.Event{published(mail(3, "v1", other), "v1")},
		},
		"labels are a set": {
			When: mail(7, "v1", func(c *app.Publish) { c.Labels = []string{"zz", "core", "zz"} }),
			Then: []domain.Event{published(mail(7, "v1", func(c *app.Publish) { c.Labels = []string{"core", "zz"} }), "v1")},
		},
		"an app has a page that explains it": {
			Given: once, When: mail(7, "v1", guide), Then: []domain.Event{published(mail(7, "v1", guide), "v1")},
		},
		"an app is deleted": {
			Given: once, When: app.Delete{}, Then: []domain.Event{app.Deleted{AppSlug: "Mail"}},
		},
		"what is not there is not deleted": {
			When: app.Delete{}, Refuse: domain.CodeNotFound,
		},
		"an app is deleted once": {
			Given: []domain.Event{first, app.Deleted{AppSlug: "Mail"}}, When: app.Delete{}, Refuse: domain.CodeNotFound,
		},
		"part of a commit that never counted changes nothing": {
			Given: []domain.Event{domain.Void{Name: "apps.published"}}, When: mail(7, "v1"), Then: once,
		},
		"an unknown command is the operator's fault": {
			When: nil, Refuse: domain.CodeInternal,
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, app.Decider) })
	}
}

func TestEveryFaultIsNamed(t *testing.T) {
	long := strings.Repeat("é", 10001)
	for name, c := range map[string]struct {
		change func(*app.Publish)
		fields []string
	}{
		"nothing":               {func(c *app.Publish) { *c = app.Publish{} }, []string{"slug", "description", "photo"}},
		"no description":        {func(c *app.Publish) { c.Description = document.Localized{} }, []string{"description"}},
		"a blank description":   {func(c *app.Publish) { c.Description = document.InEveryLanguage(" \n") }, []string{"description"}},
		"a long description":    {func(c *app.Publish) { c.Description = document.InEveryLanguage(long) }, []string{"description"}},
		"no photo":              {func(c *app.Publish) { c.Photo = "" }, []string{"photo"}},
		"a photo that runs":     {func(c *app.Publish) { c.Photo = "javascript:alert(1)" }, []string{"photo"}},
		"a blank name":          {func(c *app.Publish) { c.Name = document.InEveryLanguage(" ") }, []string{"name"}},
		"a name of two lines":   {func(c *app.Publish) { c.Name = document.InEveryLanguage("a\nb") }, []string{"name"}},
		"a label of one letter": {func(c *app.Publish) { c.Labels = []string{"a"} }, []string{"labels"}},
		"no version":            {func(c *app.Publish) { c.Version = "latest" }, []string{"workspaceVersion"}},
		"no page":               {func(c *app.Publish) { c.Documentation = &app.Documentation{WorkspaceSlug: "docs"} }, []string{"documentation"}},
		"no workspace": {func(c *app.Publish) {
			c.Documentation = &app.Documentation{WorkspaceSlug: "Docs", Slug: "start"}
		}, []string{"documentation"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := app.Decider.Decide(app.State{}, mail(1, "v1", c.change))
			var refusal *domain.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, domain.CodeValidation, refusal.Code)
			var fields []string
			for _, f := range refusal.Details["errors"].([]domain.FieldError) {
				fields = append(fields, f.Field)
			}
			require.Equal(t, c.fields, fields)
		})
	}
}

func TestTheSlugOfAnApp(t *testing.T) {
	for slug, fine := range map[string]bool{
		"Mail": true, "my mail_2-x": true, strings.Repeat("a", 60): true,
		"": false, " mail": false, "mail ": false, "a/b": false, "a.b": false, "mаil": false, "a\n": false,
		strings.Repeat("a", 61): false, "__index__": false,
	} {
		_, err := app.Decider.Decide(app.State{}, mail(1, "v1", func(c *app.Publish) { c.Slug = slug }))
		require.Equal(t, fine, err == nil, "%q: %v", slug, err)
	}
}

func TestARefusalTellsWhatIsTaken(t *testing.T) {
	s := app.Decider.Fold(app.State{}, published(mail(7, "v1"), "v1"))
	for cmd, want := range map[*app.Publish][2]string{
		new(mail(7, "v1", func(c *app.Publish) { c.WorkspaceID = "w2" })): {"slug", "Mail"},
		new(mail(8, "v1")): {"workspaceVersion", "v1"},
	} {
		_, err := app.Decider.Decide(s, *cmd)
		var refusal *domain.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, want, [2]string{refusal.Details["field"].(string), refusal.Details["value"].(string)})
	}
}

func TestVersionsAreListedNewestFirst(t *testing.T) {
	s := app.Decider.Fold(app.State{}, published(mail(7, "v1"), "v1"), published(mail(9, "v2"), "v2"), published(mail(12, "v3"), "v3"), published(mail(9, "v2"), "v2"))
	var names []string
	for _, v := range s.Versions {
		names = append(names, v.Name)
	}
	require.Equal(t, []string{"v2", "v3", "v1"}, names)
	require.EqualValues(t, 4, s.Publications)

	newest, ok := s.Find("")
	require.True(t, ok)
	require.Equal(t, s.Versions[0], newest)
	v1, ok := s.Find("v1")
	require.True(t, ok)
	require.EqualValues(t, 7, v1.Revision)
	_, ok = s.Find("v4")
	require.False(t, ok)
	_, ok = app.State{}.Find("")
	require.False(t, ok)
}

func TestAThousandVersionsAreKnown(t *testing.T) {
	var s app.State
	for i := range uint64(1100) {
		version := fmt.Sprint("v", i)
		s = app.Decider.Evolve(s, published(mail(i, version), version))
	}
	require.Len(t, s.Versions, 1000)
	require.Equal(t, "v1099", s.Versions[0].Name)
	require.Equal(t, "v100", s.Versions[999].Name)
}

func TestAnAppHoldsItsNames(t *testing.T) {
	s := app.Decider.Fold(app.State{}, published(mail(7, "v1"), "v1"))
	require.Equal(t, []app.Name{{Kind: "appOf", Value: "w1"}, {Kind: "appSlug", Value: "mail"}}, app.Names(s))
	require.Empty(t, app.Names(app.Decider.Evolve(s, app.Deleted{AppSlug: "Mail"})))
	require.Equal(t, domain.StreamID{Scope: domain.Platform, Kind: "app", ID: "Mail"}, app.Stream("Mail"))
}

func TestTheOrderOfLanguagesIsKept(t *testing.T) {
	texts := document.MapOf(document.Pair{Key: "fr", Value: "envoie"}, document.Pair{Key: "en", Value: "sends"})
	described, ok := document.AsLocalized(texts)
	require.True(t, ok)
	c := mail(7, "v1", func(c *app.Publish) { c.Description = described })
	body, err := json.Marshal(published(c, "v1"))
	require.NoError(t, err)
	require.Equal(t, `{"app":{"slug":"Mail","workspaceId":"w1","name":"Mail","description":{"fr":"envoie","en":"sends"},"photo":"/mail.png",`+
		`"labels":["core"],"versions":[{"name":"v1","contentRevision":7,"createdAt":"2026-11-15T12:00:00Z","createdBy":"ada"}]}}`, string(body))
	scenario{Given: []domain.Event{stored(t, published(c, "v1"))}, When: c}.Check(t, app.Decider)
}

// stored returns an event as the log hands it back.
func stored(t *testing.T, ev domain.Event) domain.Event {
	t.Helper()
	body, err := json.Marshal(ev)
	require.NoError(t, err)
	back, err := events.Decode(ev.EventType(), body)
	require.NoError(t, err)
	return back
}

// Whatever commands arrive, in whatever order, an app keeps the contract and its
// workspace, each version has one content, and the log tells the same story as
// the state.
func FuzzAppsStayValid(f *testing.F) {
	f.Add("Mail", "sends", "v1", []byte{0, 1, 2, 3, 128, 0})
	f.Add("", " ", "latest", []byte{0, 8, 16, 255})
	f.Add("a\x00", "d", "", []byte{1, 1, 9, 64, 128, 192})
	f.Fuzz(func(t *testing.T, slug, text, version string, script []byte) {
		// Bodies are checked UTF-8 long before they are a command.
		slug, text, version = strings.ToValidUTF8(slug, "?"), strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(version, "?")
		var s, told app.State
		for _, b := range script {
			before := s
			made, err := app.Decider.Decide(s, scripted(b, slug, text, version))
			if err != nil {
				require.Empty(t, made)
				require.NotEqual(t, domain.CodeInternal, domain.CodeOf(err), "%v", err)
			}
			s = app.Decider.Fold(s, made...)
			for _, ev := range made {
				told = app.Decider.Evolve(told, stored(t, ev))
			}
			if len(made) == 0 {
				require.Equal(t, before, s)
			}
			if before.Slug != "" && s.Slug != "" {
				require.Equal(t, before.WorkspaceID, s.WorkspaceID)
			}
			requireValid(t, s)
		}
		require.True(t, domain.Same(s, told), "%+v\n%+v", s, told)
	})
}

// scripted is the command that one byte of a script stands for.
func scripted(b byte, slug, text, version string) app.Command {
	if b >= 240 {
		return app.Delete{}
	}
	return mail(uint64(b&3), version, func(c *app.Publish) {
		c.Slug, c.Description = slug, document.InEveryLanguage(text)
		c.WorkspaceID = fmt.Sprint("w", b>>7)
		if b&4 != 0 {
			c.Version = ""
			c.Labels = []string{text, "plain"}
		}
		if b&8 != 0 {
			c.Name = document.InEveryLanguage(text)
		}
		if b&16 != 0 {
			c.Documentation = &app.Documentation{WorkspaceSlug: text, Slug: slug}
		}
		c.Now = noon.Add(time.Duration(b) * time.Second)
	})
}

var (
	slugForm    = regexp.MustCompile(`^[A-Za-z0-9 _-]{1,60}$`)
	versionForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,63}$`)
)

// requireValid is the contract of an app, written a second time.
func requireValid(t *testing.T, s app.State) {
	t.Helper()
	if s.Slug == "" {
		require.Equal(t, app.State{}, s, "what is not published is nothing")
		return
	}
	require.Regexp(t, slugForm, s.Slug)
	require.NotEmpty(t, strings.TrimSpace(s.Description.First()))
	require.NotEmpty(t, s.Photo)
	require.NotEmpty(t, s.Versions)
	names := map[string]bool{}
	for _, v := range s.Versions {
		require.Regexp(t, versionForm, v.Name)
		require.False(t, names[v.Name], "a name stands for one content")
		names[v.Name] = true
	}
}

func BenchmarkFold(b *testing.B) {
	history := make([]domain.Event, 0, 100)
	for i := range uint64(cap(history)) {
		version := fmt.Sprint("v", i)
		history = append(history, published(mail(i, version), version))
	}
	b.ReportAllocs()
	for b.Loop() {
		app.Decider.Fold(app.State{}, history...)
	}
}

// A version in the place of a name does not rename an app.
func TestAVersionIsNoName(t *testing.T) {
	for name, want := range map[string]bool{
		"1.2.0": true, "v3": true, "V1.0": true, "2": true, "2.0.0-rc.1": true, "20261115-120000-00001f": true,
		"Mail": false, "Mail 2": false, "7-eleven": false, "v": false, "3D": false, "": false,
	} {
		require.Equal(t, want, app.IsVersionLike(document.InEveryLanguage(name)), name)
	}
	keep := func(c *app.Publish) { c.KeepName, c.Name = true, document.InEveryLanguage("Workspace") }
	named := mail(8, "v2")
	for name, sc := range map[string]scenario{
		"the first publication has that of the workspace": {When: mail(7, "v1", keep), Then: []domain.Event{published(mail(7, "v1", keep), "v1")}},
		"the next keep what it is called": {
			Given: []domain.Event{published(mail(7, "v1"), "v1")}, When: mail(8, "v2", keep), Then: []domain.Event{published(named, "v2")},
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, app.Decider) })
	}
}
