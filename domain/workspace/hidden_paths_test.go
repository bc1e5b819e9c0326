package workspace_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// payloadOf is what is told of an event, as JSON.
func payloadOf(t *testing.T, ev domain.Event) string {
	t.Helper()
	body, err := json.Marshal(ev.(domain.PayloadEvent).Payload())
	require.NoError(t, err)
	return string(body)
}

func TestHiddenPathsOfAConfigAreStored(t *testing.T) {
	state := workspace.Decider.Fold(workspace.State{}, workspace.Created{Workspace: workspace.Snapshot{ID: "w1", Settings: workspace.Settings{Name: "Shop"}}})
	change := func(config string, untold ...[]string) domain.Event {
		t.Helper()
		patch := document.MapOf(document.Pair{Key: "config", Value: configOf(t, `{"value":`+config+`}`)})
		events, err := workspace.Decider.Decide(state, workspace.Update{Patch: patch, HiddenPaths: untold})
		require.NoError(t, err)
		require.Len(t, events, 1)
		state = workspace.Decider.Fold(state, events[0])
		body, err := document.JSON(state.Settings.Config)
		require.NoError(t, err)
		require.JSONEq(t, `{"value":`+config+`}`, string(body), "it is stored as it is")
		return events[0]
	}
	written := change(`{"a":{"k":"hunter22"},"l":["x","hunter22"],"b":1}`, []string{"a", "k"}, []string{"l", "1"})
	require.JSONEq(t, `{"config":{"value":{"a":{"k":"REDACTED"},"l":["x","REDACTED"],"b":1}}}`, payloadOf(t, written))

	moved := change(`{"a":{"k":"hunter22"},"l":["other"],"b":2}`)
	require.JSONEq(t, `{"config":{"value":{"a":{"k":"REDACTED"},"l":["other"],"b":2}},"oldConfig":{"value":{"a":{"k":"REDACTED"},"l":["x","REDACTED"],"b":1}}}`,
		payloadOf(t, moved), "nor when somebody changes something else")
	body, err := json.Marshal(moved.(workspace.Configured).OldConfig)
	require.NoError(t, err)
	require.NotContains(t, string(body), "hunter22")

	patch := document.MapOf(document.Pair{Key: "name", Value: "Market"}, document.Pair{Key: "photo", Value: "/a.png"})
	events, err := workspace.Decider.Decide(state, workspace.Update{Patch: patch})
	require.NoError(t, err)
	require.NotContains(t, payloadOf(t, events[0]), "hunter22")

	other := change(`{"a":{"k":"public"},"b":2}`)
	require.Contains(t, payloadOf(t, other), `"public"`)
	require.Empty(t, state.Settings.HiddenPaths)
}

func TestHiddenPathsOfAnInstanceAreStored(t *testing.T) {
	entry := workspace.Entry{
		Path: "imports/a", Body: json.RawMessage(`{"slug":"a","appSlug":"app","config":{"k":"hunter22","l":[{"m":"hunter22"}]}}`),
		HiddenPaths: workspace.HiddenPaths{{"k"}, {"l", "0", "m"}, {"gone"}},
	}
	require.JSONEq(t, `{"slug":"a","appInstance":{"slug":"a","appSlug":"app","config":{"k":"REDACTED","l":[{"m":"REDACTED"}]}}}`,
		payloadOf(t, workspace.InstanceConfigured{Entry: entry}))
	entry.HiddenPaths = workspace.HiddenPaths{{}}
	require.JSONEq(t, `{"slug":"a","appInstance":{"slug":"a","appSlug":"app","config":"REDACTED"}}`, payloadOf(t, workspace.InstanceConfigured{Entry: entry}))
}

func TestHiddenPathsAreBounded(t *testing.T) {
	var many workspace.HiddenPaths
	for i := range 100 {
		many = append(many, []string{"l", strconv.Itoa(i)})
	}
	require.Len(t, many.Union(nil), 100)
	require.Equal(t, workspace.HiddenPaths{{}}, many.Union(workspace.HiddenPaths{{"k"}}))
	require.Equal(t, workspace.HiddenPaths{{}}, workspace.HiddenPaths{{strings.Repeat("k", 20_000)}}.Union(nil))
}

func TestAHiddenPathIsMaskedUntilItIsEmpty(t *testing.T) {
	whole := workspace.HiddenPaths{{}}
	before, next := configOf(t, `{"hunter22":1,"b":1}`), configOf(t, `{"hunter22":1,"b":2}`)
	require.Equal(t, whole, whole.Remaining(before, next, nil), "the place may be a key of it")
	require.Empty(t, whole.Remaining(next, configOf(t, `{}`), nil))
}
