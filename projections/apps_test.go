package projections_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/app"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// appsFixture is a log with the read model of apps.
type appsFixture struct {
	t      *testing.T
	log    *jetstream.Store
	models *projections.Models
	last   map[domain.StreamID]uint64
}

func newAppsFixture(t *testing.T) *appsFixture {
	t.Helper()
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	models, _ := start(t, projections.Options{DB: db, Store: log.Log, Projections: []projections.Projection{projections.Apps{}}, Known: log.Log.Known})
	return &appsFixture{t: t, log: log, models: models, last: map[domain.StreamID]uint64{}}
}

// do decides cmd on the app with this slug, records what it causes and waits
// until that can be read.
func (s *appsFixture) do(slug string, cmd app.Command) {
	s.t.Helper()
	history, err := s.log.Log.Load(s.t.Context(), app.Stream(slug), 0)
	require.NoError(s.t, err)
	var state app.State
	for _, ev := range history {
		state = app.Decider.Evolve(state, ev.Data)
	}
	made, err := app.Decider.Decide(state, cmd)
	require.NoError(s.t, err)
	for _, ev := range made {
		r := add(s.t, s.log.Log, app.Stream(slug), s.last[app.Stream(slug)], ev)
		s.last[app.Stream(slug)] = r.Position.State
		require.NoError(s.t, s.models.Reach(bounded(s.t), r.Position))
	}
}

func (s *appsFixture) publish(slug, workspaceID string, revision uint64, change ...func(*app.Publish)) {
	s.t.Helper()
	c := app.Publish{
		Slug: slug, WorkspaceID: workspaceID, Revision: revision, Name: document.InEveryLanguage(slug + " app"),
		Description: document.InEveryLanguage("does something"), Photo: "/" + workspaceID + ".png",
		Now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), By: "ada",
	}
	for _, f := range change {
		f(&c)
	}
	s.do(slug, c)
}

func (s *appsFixture) view(read func(projections.Reader) error) {
	s.t.Helper()
	require.NoError(s.t, s.models.View(read))
}

func (s *appsFixture) get(slug string) (a projections.App, ok bool) {
	s.t.Helper()
	s.view(func(r projections.Reader) (err error) {
		a, ok, err = projections.Apps{}.Get(r, slug)
		return err
	})
	return a, ok
}

func (s *appsFixture) of(workspaceID string) (slug string) {
	s.t.Helper()
	s.view(func(r projections.Reader) error {
		a, _, err := projections.Apps{}.Of(r, workspaceID)
		slug = a.Slug
		return err
	})
	return slug
}

func (s *appsFixture) list(q projections.AppQuery) (slugs []string) {
	s.t.Helper()
	s.view(func(r projections.Reader) error {
		return projections.Apps{}.List(r, q, func(a projections.App) bool {
			slugs = append(slugs, a.Slug)
			return true
		})
	})
	return slugs
}

func TestAnAppIsServedAsTheContractShowsIt(t *testing.T) {
	s := newAppsFixture(t)
	s.publish("Mail", "w1", 7, func(c *app.Publish) {
		c.Version, c.Labels = "v1", []string{"core"}
		c.Documentation = &app.Documentation{WorkspaceSlug: "docs", Slug: "mail"}
		c.Description, _ = document.AsLocalized(document.MapOf(document.Pair{Key: "fr", Value: "envoie"}, document.Pair{Key: "en", Value: "sends"}))
	})
	first, ok := s.get("Mail")
	require.True(t, ok)
	s.publish("Mail", "w1", 9)
	a, ok := s.get("Mail")
	require.True(t, ok)
	require.Equal(t, first.CreatedAt, a.CreatedAt)
	v1, ok := a.Find("v1")
	require.True(t, ok)
	require.EqualValues(t, 7, v1.Revision)

	first.CreatedAt, first.UpdatedAt = "then", "then"
	body, err := json.Marshal(first)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"Mail","slug":"Mail","workspaceId":"w1","name":"Mail app","description":{"fr":"envoie","en":"sends"},
		"photo":"/w1.png","labels":["core"],"documentation":{"workspaceSlug":"docs","slug":"mail"},
		"versions":[{"name":"v1","contentRevision":7,"createdAt":"2026-11-15T12:00:00.000Z","createdBy":"ada"}],
		"createdAt":"then","createdBy":"u1","updatedAt":"then","updatedBy":"u1"}`, string(body))
	require.Contains(t, string(body), `{"fr":"envoie","en":"sends"}`, "in the order it was written")

	require.Len(t, a.Versions, 2)
	require.Equal(t, "20261115-120000-000009", a.Versions[0].Name, "the newest first")
	require.Nil(t, a.Documentation, "what the last publication says")
}

func TestAppsAreFound(t *testing.T) {
	s := newAppsFixture(t)
	s.publish("Mail", "w1", 1, func(c *app.Publish) { c.Labels = []string{"core", "mail"} })
	s.publish("Billing", "w2", 2, func(c *app.Publish) {
		c.Labels = []string{"money"}
		c.Description, _ = document.AsLocalized(document.MapOf(document.Pair{Key: "en", Value: "Sends invoices"}, document.Pair{Key: "de", Value: "Schickt Rechnungen"}))
	})
	s.publish("Chat", "w3", 3)
	s.publish("Mail", "w1", 4, func(c *app.Publish) { c.Labels = []string{"core", "mail"} })
	for name, c := range map[string]struct {
		query projections.AppQuery
		slugs []string
	}{
		"all, the last published first":  {projections.AppQuery{}, []string{"Mail", "Chat", "Billing", "Collection", "Custom Code"}},
		"a word of the slug":             {projections.AppQuery{Text: "mAI"}, []string{"Mail"}},
		"a word of the name":             {projections.AppQuery{Text: "chat APP"}, []string{"Chat"}},
		"a word in another language":     {projections.AppQuery{Text: "rechnungen"}, []string{"Billing"}},
		"words of several fields":        {projections.AppQuery{Text: "billing invoices"}, []string{"Billing"}},
		"a word that nothing says":       {projections.AppQuery{Text: "mail invoices"}, nil},
		"a workspace":                    {projections.AppQuery{WorkspaceID: "w2"}, []string{"Billing"}},
		"a workspace without an app":     {projections.AppQuery{WorkspaceID: "w9"}, nil},
		"a workspace, and other words":   {projections.AppQuery{WorkspaceID: "w2", Text: "mail"}, nil},
		"any of some labels":             {projections.AppQuery{Labels: []string{"money", "mail"}}, []string{"Mail", "Billing"}},
		"a label that nobody has":        {projections.AppQuery{Labels: []string{"mon"}}, nil},
		"a label and words":              {projections.AppQuery{Labels: []string{"core", "money"}, Text: "sends"}, []string{"Billing"}},
		"a word is no pattern of bytes":  {projections.AppQuery{Text: ".*"}, nil},
		"nothing but blanks is no query": {projections.AppQuery{Text: "  "}, []string{"Mail", "Chat", "Billing", "Collection", "Custom Code"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.slugs, s.list(c.query)) })
	}
	require.Equal(t, "Chat", s.of("w3"))
	_, ok := s.get("chat")
	require.False(t, ok, "a slug has a case")

	seen := 0
	s.view(func(r projections.Reader) error {
		return projections.Apps{}.List(r, projections.AppQuery{}, func(projections.App) bool {
			seen++
			return seen < 2
		})
	})
	require.Equal(t, 2, seen, "whoever has enough says so")
}

func TestADeletedAppVanishesAndItsSlugIsFree(t *testing.T) {
	s := newAppsFixture(t)
	s.publish("Mail", "w1", 1)
	s.publish("Mail", "w1", 2)
	s.do("Mail", app.Delete{})
	_, ok := s.get("Mail")
	require.False(t, ok)
	require.Empty(t, s.of("w1"))
	require.Equal(t, []string{"Collection", "Custom Code"}, s.list(projections.AppQuery{}), "those that are built in")

	s.publish("Mail", "w2", 3)
	a, ok := s.get("Mail")
	require.True(t, ok)
	require.Len(t, a.Versions, 1, "nothing of what was")
	require.Equal(t, "Mail", s.of("w2"))
	require.Empty(t, s.of("w1"))
	require.Equal(t, []string{"Mail", "Collection", "Custom Code"}, s.list(projections.AppQuery{}))
}

func TestAnAppThatWasNeverPublishedStopsTheLog(t *testing.T) {
	s := newAppsFixture(t)
	r := add(t, s.log.Log, app.Stream("Mail"), 0, app.Deleted{AppSlug: "Mail"})
	require.ErrorContains(t, s.models.Reach(bounded(t), r.Position), "app Mail was never published")
}

func TestRebuiltAppsAreTheSame(t *testing.T) {
	s := newAppsFixture(t)
	s.publish("Mail", "w1", 1)
	s.publish("Chat", "w2", 2)
	s.publish("Mail", "w1", 3)
	s.do("Chat", app.Delete{})
	report, err := s.models.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, report.OK, "%+v", report)
}

func TestWhatInstancesKeepIsFoundAfterRenames(t *testing.T) {
	t.Parallel()
	instance := func(app, slug, from string) workspace.Entry {
		e := workspace.Entry{Path: "imports/" + slug, App: app, Hash: "h", Body: []byte(`{}`)}
		if from != "" {
			e.From = "imports/" + from
		}
		return e
	}
	renamed := func(app, from, to string) domain.Event {
		return workspace.InstanceConfigured{Entry: instance(app, to, from)}
	}
	back := func(deleted []string, entries ...workspace.Entry) domain.Event {
		return workspace.Restored{Switch: workspace.Switch{Entries: entries, Deleted: deleted}}
	}
	type none = projections.StorageSlugs
	tests := map[string]struct {
		events []domain.Event
		want   projections.StorageSlugs
	}{
		"what was never renamed is kept under its own slug": {
			[]domain.Event{workspace.Installed{Entry: instance("p", "a", "")}, workspace.InstanceConfigured{Entry: instance("p", "a", "")}}, none{},
		},
		"an instance takes along what it keeps": {
			[]domain.Event{renamed("p", "a", "b")}, projections.StorageSlugs{"p": {"a": "b", "b": "a"}},
		},
		"twice": {
			[]domain.Event{renamed("p", "a", "b"), renamed("p", "b", "c")}, projections.StorageSlugs{"p": {"a": "b", "b": "c", "c": "a"}},
		},
		"and back": {
			[]domain.Event{renamed("p", "a", "b"), renamed("p", "b", "a")}, none{},
		},
		"another one under the old slug has its own": {
			[]domain.Event{renamed("p", "a", "b"), workspace.Installed{Entry: instance("p", "a", "")}, renamed("p", "a", "c")},
			projections.StorageSlugs{"p": {"a": "c", "b": "a", "c": "b"}},
		},
		"apps do not meet": {
			[]domain.Event{renamed("p", "a", "b"), renamed("q", "a", "c")},
			projections.StorageSlugs{"p": {"a": "b", "b": "a"}, "q": {"a": "c", "c": "a"}},
		},
		"other documents keep nothing": {
			[]domain.Event{workspace.AutomationUpdated{Entry: workspace.Entry{Path: "automations/b", From: "automations/a", Hash: "h", Body: []byte(`{}`)}}}, none{},
		},
		"an undone renaming is one": {
			[]domain.Event{renamed("p", "a", "b"), back(nil, instance("p", "a", "b"))}, none{},
		},
		"what was before a renaming comes back with what it kept": {
			[]domain.Event{renamed("p", "a", "b"), back([]string{"imports/b"}, instance("p", "a", ""))}, none{},
		},
		"but not while the instance stays": {
			[]domain.Event{renamed("p", "a", "b"), back(nil, instance("p", "a", ""))}, projections.StorageSlugs{"p": {"a": "b", "b": "a"}},
		},
		"nor for another app": {
			[]domain.Event{renamed("p", "a", "b"), back([]string{"imports/b"}, instance("q", "a", ""))}, projections.StorageSlugs{"p": {"a": "b", "b": "a"}},
		},
		"two change places": {
			[]domain.Event{back(nil, instance("p", "b", "a"), instance("p", "a", "b"))}, projections.StorageSlugs{"p": {"a": "b", "b": "a"}},
		},
		"one takes the place of another that moves on": {
			[]domain.Event{back(nil, instance("p", "b", "a"), instance("p", "c", "b"))}, projections.StorageSlugs{"p": {"a": "c", "b": "a", "c": "b"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, projections.Instances{})
			r := newRecorder(t, h)
			r.state(workspace.Stream("w1"), workspace.Created{Workspace: snapshot("w1", "Shop")})
			r.state(workspace.Stream("w2"), workspace.Created{Workspace: snapshot("w2", "Shop")})
			r.state(workspace.Stream("w1"), test.events...)
			require.NoError(t, h.View(func(rd projections.Reader) error {
				kept, err := projections.Instances{}.StorageSlugs(rd, "w1")
				require.NoError(t, err)
				require.Equal(t, test.want, kept)
				kept, err = projections.Instances{}.StorageSlugs(rd, "w2")
				require.Empty(t, kept)
				return err
			}))
		})
	}
}
