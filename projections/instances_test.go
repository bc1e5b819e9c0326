package projections_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
	"svc/projections"
)

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
	type none = projections.Kept
	tests := map[string]struct {
		events []domain.Event
		want   projections.Kept
	}{
		"what was never renamed is kept under its own slug": {
			[]domain.Event{workspace.Installed{Entry: instance("p", "a", "")}, workspace.InstanceConfigured{Entry: instance("p", "a", "")}}, none{},
		},
		"an instance takes along what it keeps": {
			[]domain.Event{renamed("p", "a", "b")}, projections.Kept{"p": {"a": "b", "b": "a"}},
		},
		"twice": {
			[]domain.Event{renamed("p", "a", "b"), renamed("p", "b", "c")}, projections.Kept{"p": {"a": "b", "b": "c", "c": "a"}},
		},
		"and back": {
			[]domain.Event{renamed("p", "a", "b"), renamed("p", "b", "a")}, none{},
		},
		"another one under the old slug has its own": {
			[]domain.Event{renamed("p", "a", "b"), workspace.Installed{Entry: instance("p", "a", "")}, renamed("p", "a", "c")},
			projections.Kept{"p": {"a": "c", "b": "a", "c": "b"}},
		},
		"apps do not meet": {
			[]domain.Event{renamed("p", "a", "b"), renamed("q", "a", "c")},
			projections.Kept{"p": {"a": "b", "b": "a"}, "q": {"a": "c", "c": "a"}},
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
			[]domain.Event{renamed("p", "a", "b"), back(nil, instance("p", "a", ""))}, projections.Kept{"p": {"a": "b", "b": "a"}},
		},
		"nor for another app": {
			[]domain.Event{renamed("p", "a", "b"), back([]string{"imports/b"}, instance("q", "a", ""))}, projections.Kept{"p": {"a": "b", "b": "a"}},
		},
		"two change places": {
			[]domain.Event{back(nil, instance("p", "b", "a"), instance("p", "a", "b"))}, projections.Kept{"p": {"a": "b", "b": "a"}},
		},
		"one takes the place of another that moves on": {
			[]domain.Event{back(nil, instance("p", "b", "a"), instance("p", "c", "b"))}, projections.Kept{"p": {"a": "c", "b": "a", "c": "b"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, projections.Instances{})
			r := newRecorder(t, h)
			r.state(workspace.Stream("w1"), workspace.Created{Workspace: snapshot("w1", "Shop")})
			r.state(workspace.Stream("w2"), workspace.Created{Workspace: snapshot("w2", "Shop")})
			r.state(workspace.Stream("w1"), test.events...)
			require.NoError(t, h.View(func(rd projections.Reader) error {
				kept, err := projections.Instances{}.Kept(rd, "w1")
				require.NoError(t, err)
				require.Equal(t, test.want, kept)
				require.Equal(t, "z", kept.Slug("p", "z"))
				kept, err = projections.Instances{}.Kept(rd, "w2")
				require.Empty(t, kept)
				return err
			}))
		})
	}
}
