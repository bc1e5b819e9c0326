package workspace_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/catalog"
	"svc/domain/document"
	"svc/domain/domaintest"
	"svc/domain/workspace"
)

type scenario = domaintest.Scenario[workspace.State, workspace.Command]

const id = "aB3dE6g"

var (
	shop    = workspace.Settings{Name: "Shop", Description: document.InEveryLanguage("sells"), Labels: []string{"core"}}
	created = createdEvent(id, shop)
	made    = []domain.Event{created}
)

// createdEvent is the fact that a workspace without an owner was created.
func createdEvent(id string, s workspace.Settings) workspace.Created {
	ev := workspace.Created{Workspace: workspace.Snapshot{ID: id, Settings: s}, Security: access.Default(id)}
	ev.Security.Authentication.ClientID = workspace.ClientID(id)
	return ev
}

// updated is the fact that the settings became s.
func updated(s workspace.Settings) []domain.Event {
	return []domain.Event{workspace.Updated{Workspace: workspace.Snapshot{ID: id, Settings: s}}}
}

// patch changes settings.
func patch(pairs ...document.Pair) workspace.Command {
	return workspace.Update{Patch: document.MapOf(pairs...)}
}

func create(s workspace.Settings) workspace.Command { return workspace.Create{ID: id, Settings: s} }

func TestWorkspace(t *testing.T) {
	renamed := workspace.Settings{Name: "Store", Description: document.InEveryLanguage("sells"), Labels: []string{"core"}}
	bare := workspace.Settings{Name: "Shop"}
	for name, sc := range map[string]scenario{
		"a workspace is created with its settings": {
			When: create(shop), Then: made,
		},
		"a workspace is created once": {
			Given: made, When: create(shop), Refuse: domain.CodeAlreadyExists,
		},
		"a name is required": {
			When: create(workspace.Settings{}), Refuse: domain.CodeValidation,
		},
		"a name of sixty characters is long enough": {
			When: create(workspace.Settings{Name: strings.Repeat("é", 60)}),
			Then: []domain.Event{createdEvent(id, workspace.Settings{Name: strings.Repeat("é", 60)})},
		},
		"a name of sixty-one characters is too long": {
			When: create(workspace.Settings{Name: strings.Repeat("a", 61)}), Refuse: domain.CodeValidation,
		},
		"a name is one line": {
			When: create(workspace.Settings{Name: "a\nb"}), Refuse: domain.CodeValidation,
		},
		"a label has no blank": {
			When: create(workspace.Settings{Name: "a", Labels: []string{"ok", "not ok"}}), Refuse: domain.CodeValidation,
		},
		"a label of one character is too short": {
			When: create(workspace.Settings{Name: "a", Labels: []string{"a"}}), Refuse: domain.CodeValidation,
		},
		"a look-alike letter is no label": {
			When: create(workspace.Settings{Name: "a", Labels: []string{"сore"}}), Refuse: domain.CodeValidation,
		},
		"a description of ten thousand characters is long enough": {
			Given: made, When: patch(document.Pair{Key: "description", Value: strings.Repeat("é", 10000)}),
			Then: updated(workspace.Settings{Name: "Shop", Description: document.InEveryLanguage(strings.Repeat("é", 10000)), Labels: []string{"core"}}),
		},
		"a longer description is too long": {
			Given: made, When: patch(document.Pair{Key: "description", Value: strings.Repeat("é", 10001)}), Refuse: domain.CodeValidation,
		},
		"what does not exist is not updated": {
			When: patch(document.Pair{Key: "name", Value: "Store"}), Refuse: domain.CodeNotFound,
		},
		"an update changes what it names and nothing else": {
			Given: made, When: patch(document.Pair{Key: "name", Value: "Store"}), Then: updated(renamed),
		},
		"an update with the same values records nothing": {
			Given: made, When: patch(document.Pair{Key: "name", Value: "Shop"}, document.Pair{Key: "labels", Value: []any{"core"}}),
		},
		"an update that names nothing records nothing": {
			Given: made, When: patch(),
		},
		"an optional setting is removed by an empty value": {
			Given: made, When: patch(document.Pair{Key: "description", Value: nil}, document.Pair{Key: "labels", Value: nil}), Then: updated(bare),
		},
		"an update that would break the rules is refused whole": {
			Given: made, When: patch(document.Pair{Key: "description", Value: "new"}, document.Pair{Key: "name", Value: ""}), Refuse: domain.CodeValidation,
		},
		"the last word counts": {
			Given: append(append(made[:1:1], updated(renamed)...), updated(shop)...), When: patch(document.Pair{Key: "name", Value: "Store"}), Then: updated(renamed),
		},
		"part of a commit that never counted changes nothing": {
			Given: []domain.Event{domain.Void{Name: "workspaces.created"}}, When: create(shop), Then: made,
		},
		"an unknown command is the operator's fault": {
			Given: made, When: nil, Refuse: domain.CodeInternal,
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, workspace.Decider) })
	}
}

func TestThePlatformWorkspaceMayBeAskedForAgain(t *testing.T) {
	again := workspace.Create{ID: domain.Platform, Settings: workspace.Settings{Name: "Platform"}}
	scenario{
		Given: []domain.Event{createdEvent(again.ID, again.Settings)},
		When:  again,
	}.Check(t, workspace.Decider)
}

func TestEveryFaultOfTheSettingsIsNamed(t *testing.T) {
	_, err := workspace.Decider.Decide(workspace.State{}, create(workspace.Settings{Labels: []string{"!"}}))
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	var fields []string
	for _, f := range refusal.Details["errors"].([]domain.FieldError) {
		fields = append(fields, f.Field)
	}
	require.Equal(t, []string{"name", "labels"}, fields)
}

func TestAPhotoIsAnAddress(t *testing.T) {
	for photo, fine := range map[string]bool{
		"https://example.com/a.png":                 true,
		"http://localhost:3000/a?b=c#d":             true,
		"HTTPS://EXAMPLE.COM/é":                     true,
		"/v2/files/w/f.png":                         true,
		"/" + strings.Repeat("é", 2047):             true,
		"":                                          true,
		"/" + strings.Repeat("é", 2048):             false,
		"//evil.example/a.png":                      false,
		`/\evil.example/a.png`:                      false,
		"/a\nb":                                     false,
		"javascript:alert(1)":                       false,
		"java\tscript:alert(1)":                     false,
		"data:image/svg+xml;base64,PHN2Zz4=":        false,
		"ftp://example.com/a.png":                   false,
		"https:///a.png":                            false,
		"https:a.png":                               false,
		"https://:443/a.png":                        false,
		"https://exa mple.com/a.png":                false,
		" https://example.com/a.png":                false,
		"a.png":                                     false,
		"https://example.com/\u0085":                false,
		"https://e.co/" + strings.Repeat("a", 2048): false,
	} {
		_, err := workspace.Decider.Decide(workspace.State{}, create(workspace.Settings{Name: "a", Photo: photo}))
		if fine {
			require.NoError(t, err, "%q", photo)
			continue
		}
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), "%q", photo)
		require.ErrorContains(t, err, "photo")
	}
}

func TestAWorkspaceIsItsOwnScope(t *testing.T) {
	require.Equal(t, domain.StreamID{Scope: id, Kind: "workspace", ID: id}, workspace.Stream(id))
}

// Whatever commands arrive, in whatever order, the settings keep the contract,
// the workspace keeps its id, a refusal changes nothing, and the log tells the
// same story as the state.
func FuzzSettingsStayValid(f *testing.F) {
	f.Add("Shop", "core", []byte{0, 1, 2, 3})
	f.Add("", "x", []byte{0, 0, 9, 17, 25})
	f.Add("a\x00b", "not ok", []byte{0, 5, 255, 128})
	f.Add(strings.Repeat("n", 61), "сore", []byte{7, 0, 1, 1})
	f.Fuzz(func(t *testing.T, name, label string, script []byte) {
		// Bodies are checked UTF-8 long before they are a command.
		name, label = strings.ToValidUTF8(name, "?"), strings.ToValidUTF8(label, "?")
		var s workspace.State
		var history []domain.Event
		for _, b := range script {
			before := s
			events, err := workspace.Decider.Decide(s, scripted(b, name, label))
			if err != nil {
				require.Empty(t, events)
				require.NotEqual(t, domain.CodeInternal, domain.CodeOf(err), "%v", err)
			}
			s = workspace.Decider.Fold(s, events...)
			history = append(history, events...)
			if len(events) == 0 {
				require.Equal(t, before, s)
			}
			if before.ID != "" {
				require.Equal(t, before.ID, s.ID)
			}
			requireValid(t, s)
		}
		requireSameStory(t, s, history)
	})
}

// scripted is the command that one byte of a script stands for.
func scripted(b byte, name, label string) workspace.Command {
	if b&7 == 0 {
		return workspace.Create{ID: id, Settings: workspace.Settings{Name: name}}
	}
	u := document.MapOf()
	if b&1 != 0 {
		u.Set("name", strings.Repeat(name, 1+int(b>>6)))
	}
	if b&2 != 0 {
		u.Set("labels", []any{label, strings.Repeat("l", int(b>>3))})
	}
	if b&4 != 0 {
		u.Set("description", name+label)
		u.Set("labels", []any{"plain"})
	}
	return workspace.Update{Patch: u}
}

var label = regexp.MustCompile(`^[0-9A-Za-z._:-]{2,60}$`)

// requireValid is the contract of a workspace's settings, written a second time.
func requireValid(t *testing.T, s workspace.State) {
	t.Helper()
	if s.ID == "" {
		require.Equal(t, workspace.State{}, s, "what does not exist has no settings")
		return
	}
	n := utf8.RuneCountInString(s.Settings.Name)
	require.True(t, n >= 1 && n <= 60, "a name of %d characters", n)
	require.False(t, strings.ContainsFunc(s.Settings.Name, unicode.IsControl))
	for _, l := range s.Settings.Labels {
		require.Regexp(t, label, l)
	}
}

// requireSameStory folds what the log would hand back and compares.
func requireSameStory(t *testing.T, s workspace.State, history []domain.Event) {
	t.Helper()
	var told workspace.State
	for _, ev := range history {
		body, err := json.Marshal(ev)
		require.NoError(t, err)
		stored, err := catalog.Events().Decode(ev.EventType(), body)
		require.NoError(t, err)
		told = workspace.Decider.Evolve(told, stored)
	}
	want, err := json.Marshal(s)
	require.NoError(t, err)
	got, err := json.Marshal(told)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func BenchmarkFold(b *testing.B) {
	history := make([]domain.Event, 0, 1000)
	for range cap(history) / 2 {
		history = append(history, created, updated(shop)[0])
	}
	b.ReportAllocs()
	for b.Loop() {
		workspace.Decider.Fold(workspace.State{}, history...)
	}
}
