package projections_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/app"
	"svc/domain/automation"
	"svc/domain/catalog"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/projections"
)

// clocks is a log with the read model of schedules.
type clocks struct {
	*fixture
	t    *testing.T
	last map[domain.StreamID]uint64
}

func newClocks(t *testing.T) *clocks {
	t.Helper()
	return &clocks{fixture: newFixture(t, projections.Schedules{}), t: t, last: map[domain.StreamID]uint64{}}
}

// do records events of a workspace, and returns the sequence of the last.
func (c *clocks) do(id domain.StreamID, events ...domain.Event) (seq uint64) {
	c.t.Helper()
	for _, ev := range events {
		r := add(c.t, c.log.Log, id, c.last[id], ev)
		c.last[id] = r.Seqs[0]
		require.NoError(c.t, c.Reach(bounded(c.t), r.Position))
	}
	return c.last[id]
}

// changed lists the workspaces that changed after a sequence.
func (c *clocks) changed(after uint64) (ids []string) {
	c.t.Helper()
	require.NoError(c.t, c.View(func(r projections.Reader) error {
		return projections.Schedules{}.Changed(r, after, func(id string, seq uint64) bool {
			require.Greater(c.t, seq, after)
			ids = append(ids, id)
			return true
		})
	}))
	return ids
}

func (c *clocks) republished(after uint64) (slugs []string) {
	c.t.Helper()
	require.NoError(c.t, c.View(func(r projections.Reader) error {
		return projections.Schedules{}.Republished(r, after, func(slug string, _ uint64) bool {
			slugs = append(slugs, slug)
			return true
		})
	}))
	return slugs
}

func (c *clocks) users(slug string) (ids []string) {
	c.t.Helper()
	require.NoError(c.t, c.View(func(r projections.Reader) (err error) {
		ids, err = projections.Schedules{}.Users(r, slug)
		return err
	}))
	return ids
}

func written(path, body string) workspace.Entry {
	return workspace.Entry{Path: path, Hash: workspace.HashOf([]byte(body)), Body: json.RawMessage(body)}
}

func installed(slug, appSlug string) workspace.Entry {
	e := written("imports/"+slug, `{"appSlug":"`+appSlug+`"}`)
	e.App = appSlug
	return e
}

func TestSchedulesKnowWhereAutomationsMayFire(t *testing.T) {
	t.Parallel()
	fires, idle := written("automations/a", `{"when":{"schedules":["@daily"]}}`), written("automations/a", `{"do":[]}`)
	large := workspace.Entry{Path: "automations/a", Hash: fires.Hash, Apart: true}
	page := written("pages/a", `{"schedules":1}`)
	for name, of := range map[string]struct {
		events []domain.Event
		known  bool
	}{
		"nothing":                     {nil, false},
		"an automation without":       {[]domain.Event{workspace.AutomationCreated{Entry: idle}}, false},
		"an automation with one":      {[]domain.Event{workspace.AutomationCreated{Entry: fires}}, true},
		"one that is kept apart":      {[]domain.Event{workspace.AutomationCreated{Entry: large}}, true},
		"a page":                      {[]domain.Event{workspace.PageCreated{Entry: page}}, false},
		"an app":                      {[]domain.Event{workspace.Installed{Entry: installed("i", "crm")}}, true},
		"an import":                   {[]domain.Event{workspace.Imported{Switch: workspace.Switch{Entries: []workspace.Entry{idle, page, fires}}}}, true},
		"one that was put down first": {[]domain.Event{workspace.Staged{Name: "s", Entries: []workspace.Entry{fires}}, workspace.Imported{Switch: workspace.Switch{Stage: "s"}}}, true},
		"its end":                     {[]domain.Event{workspace.Deleted{ID: "w1"}, workspace.Undeleted{ID: "w1"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClocks(t)
			id := workspace.Stream("w1")
			c.do(id, append([]domain.Event{workspace.Created{Workspace: snapshot("w1", "W")}}, of.events...)...)
			require.Equal(t, of.known, len(c.changed(0)) == 1)
		})
	}
}

// listening is an automation that listens to patterns; nil: it was recorded without saying so.
func listening(patterns ...any) workspace.Entry {
	e := written("automations/a", `{"do":[]}`)
	if patterns != nil {
		e.Events = document.MapOf(document.Pair{Key: "listen", Value: patterns})
	}
	return e
}

func TestSchedulesKnowWhoListensToThePlatform(t *testing.T) {
	t.Parallel()
	custom, native := listening("paid", "orders.*"), listening("paid", "workspaces.automations.updated")
	staged := workspace.Staged{Name: "s", Entries: []workspace.Entry{native}}
	for name, of := range map[string]struct {
		events []domain.Event
		may    bool
	}{
		"nothing":                     {nil, false},
		"events of automations":       {[]domain.Event{workspace.AutomationCreated{Entry: custom}}, false},
		"an event of the platform":    {[]domain.Event{workspace.AutomationCreated{Entry: native}}, true},
		"a pattern that fits some":    {[]domain.Event{workspace.AutomationUpdated{Entry: listening("workspaces.pages.*")}}, true},
		"a wider pattern":             {[]domain.Event{workspace.AutomationUpdated{Entry: listening("workspaces.*")}}, true},
		"an automation of long ago":   {[]domain.Event{workspace.AutomationCreated{Entry: listening()}}, true},
		"something unexpected":        {[]domain.Event{workspace.AutomationCreated{Entry: listening(1.0)}}, true},
		"a page":                      {[]domain.Event{workspace.PageCreated{Entry: written("pages/a", `{}`)}}, false},
		"an app":                      {[]domain.Event{workspace.Installed{Entry: installed("i", "crm")}}, true},
		"an import":                   {[]domain.Event{workspace.Imported{Switch: workspace.Switch{Entries: []workspace.Entry{custom, native}}}}, true},
		"one that was put down first": {[]domain.Event{staged, workspace.Imported{Switch: workspace.Switch{Stage: "s"}}}, true},
		"one that has gone":           {[]domain.Event{workspace.AutomationCreated{Entry: native}, workspace.AutomationDeleted{Slug: "a"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClocks(t)
			c.do(workspace.Stream("w1"), append([]domain.Event{workspace.Created{Workspace: snapshot("w1", "W")}}, of.events...)...)
			may, err := c.MayListen("w1")
			require.NoError(t, err)
			require.Equal(t, of.may, may)
		})
	}
	t.Run("one that begins to listen", func(t *testing.T) {
		t.Parallel()
		c := newClocks(t)
		c.do(workspace.Stream("w1"), workspace.Created{Workspace: snapshot("w1", "W")}, workspace.AutomationCreated{Entry: custom})
		for range 2 {
			may, err := c.MayListen("w1")
			require.NoError(t, err)
			require.False(t, may)
		}
		c.do(workspace.Stream("w1"), workspace.AutomationUpdated{Entry: native})
		for range 2 {
			may, err := c.MayListen("w1")
			require.NoError(t, err)
			require.True(t, may)
		}
		may, err := c.MayListen("w2")
		require.NoError(t, err)
		require.False(t, may)
	})
	t.Run("a copy", func(t *testing.T) {
		t.Parallel()
		c := newClocks(t)
		c.do(workspace.Stream("w1"), workspace.Created{Workspace: snapshot("w1", "W"), Entries: []workspace.Entry{native}})
		may, err := c.MayListen("w1")
		require.NoError(t, err)
		require.True(t, may)
	})
}

// TestSchedulesHaveANumberForTheEventsOfThePlatform fails when the events of the platform have changed: workspaces that
// listened to a new one before are not known then. The read model gets another number, and the test the new list.
func TestSchedulesHaveANumberForTheEventsOfThePlatform(t *testing.T) {
	t.Parallel()
	var native []string
	for _, fact := range catalog.Table() {
		if automation.Native(fact.Name) {
			native = append(native, fact.Name)
		}
	}
	slices.Sort(native)
	require.Equal(t, "schedules.2 17a5bf742672d1c5", projections.Schedules{}.Name()+" "+workspace.HashOf([]byte(strings.Join(native, " ")))[:16])
}

func TestSchedulesTellWhatChangedInOrder(t *testing.T) {
	t.Parallel()
	c := newClocks(t)
	for _, id := range []string{"w1", "w2", "w3"} {
		c.do(workspace.Stream(id), workspace.Created{Workspace: snapshot(id, id), Entries: []workspace.Entry{written("automations/a", `{"when":{"schedules":[]}}`)}})
	}
	require.Equal(t, []string{"w1", "w2", "w3"}, c.changed(0))
	first := workspace.Stream("w1")
	at := c.last[workspace.Stream("w3")]
	for _, of := range []struct {
		name string
		ev   domain.Event
	}{
		{"an update", workspace.AutomationUpdated{Entry: written("automations/a", `{"do":[]}`)}},
		{"a rename", workspace.AutomationUpdated{Entry: workspace.Entry{Path: "automations/b", From: "automations/a", Hash: workspace.HashOf(nil), Body: json.RawMessage(`{}`)}}},
		{"a deletion", workspace.AutomationDeleted{Slug: "b"}},
		{"its end", workspace.Deleted{ID: "w1"}},
		{"its return", workspace.Undeleted{ID: "w1"}},
		{"configuration", workspace.InstanceConfigured{Entry: installed("x", "crm")}},
		{"an uninstall", workspace.Uninstalled{Slug: "x"}},
	} {
		now := c.do(first, of.ev)
		require.Equal(t, []string{"w1"}, c.changed(at), of.name)
		at = now
	}
	c.do(first, workspace.PageCreated{Entry: written("pages/a", `{}`)}, workspace.Updated{Workspace: snapshot("w1", "other")})
	require.Empty(t, c.changed(at))
	require.Equal(t, []string{"w2", "w3", "w1"}, c.changed(0))
}

func TestSchedulesKnowWhoHasAnApp(t *testing.T) {
	t.Parallel()
	c := newClocks(t)
	for id, entries := range map[string][]workspace.Entry{
		"inner": nil, "maker": {installed("in", "inner")}, "w1": {installed("a", "outer")}, "w2": {installed("b", "inner")}, "w3": {installed("c", "inner2")},
	} {
		c.do(workspace.Stream(id), workspace.Created{Workspace: snapshot(id, id), Entries: entries})
	}
	published := func(slug, home string) app.Published {
		return app.Published{App: app.App{Slug: slug, WorkspaceID: home}}
	}
	c.do(app.Stream("inner"), published("inner", "inner"))
	at := c.do(app.Stream("outer"), published("outer", "maker"))
	require.Equal(t, []string{"inner", "outer"}, c.republished(0))
	require.ElementsMatch(t, []string{"maker", "w1", "w2"}, c.users("inner"))
	require.Equal(t, []string{"w1"}, c.users("outer"))
	require.Empty(t, c.users("none"))
	c.do(workspace.Stream("w2"), workspace.Uninstalled{Slug: "b"})
	require.Contains(t, c.users("inner"), "w2", "it once had it, and may again")
	c.do(workspace.Stream("inner"), workspace.Deleted{ID: "inner"})
	require.Equal(t, []string{"inner"}, c.republished(at))
	c.do(app.Stream("outer"), app.Deleted{AppSlug: "outer"})
	require.Equal(t, []string{"inner", "outer"}, c.republished(at))
}
