package secrets_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// Secrets by how automations come by them.
const (
	workspaceCanary = "workspace-CANARY-1"
	configCanary    = "config/CANARY+2"
	inputCanary     = "input-CANARY-3"
	headerCanary    = "header-CANARY-4" // which only a header of fetch has
	instanceCanary  = "instance-CANARY-5"
)

// confidant is a place with secrets, all of whose events are delivered.
type confidant struct {
	nodetest.Place
	in *nodetest.Inbox
}

func newConfidant(t *testing.T, w *nodetest.Workshop) confidant {
	t.Helper()
	c := confidant{w.Place(t), nodetest.NewInbox(t)}
	c.Does(t, 200, "PATCH", c.Path+"/security/secrets", `{"k":{"value":"`+workspaceCanary+`"},"c":{"value":"`+configCanary+`"}}`)
	c.Does(t, 200, "PATCH", c.Path, `{"config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"{{secret.c}}"}}}`)
	c.Does(t, 201, "POST", c.Path+"/subscriptions", `{"url":"`+c.in.URL+`","types":["*"]}`)
	return c
}

// tellsNobody checks that nobody was told a secret, when everything is over, and that
// something was told that had some.
func (c confidant) tellsNobody(t *testing.T) {
	t.Helper()
	secrets := []string{workspaceCanary, configCanary, inputCanary, headerCanary, instanceCanary}
	c.settles(t)
	nodetest.RequireHidden(t, c.Place, secrets...)
	all, err := c.Recorded(t.Context(), "")
	require.NoError(t, err)
	var hidden []string
	for _, e := range all {
		if text, err := json.Marshal(e); err == nil && strings.Contains(string(text), "REDACTED") {
			hidden = append(hidden, e.ID)
		}
	}
	require.NotEmpty(t, hidden, "nothing was to be hidden")
	delivered := func(id string) bool {
		return slices.ContainsFunc(c.in.Seen(), func(p nodetest.Parcel) bool { return strings.Contains(string(p.Body), id) })
	}
	require.Eventually(t, func() bool { return !slices.ContainsFunc(hidden, func(id string) bool { return !delivered(id) }) }, time.Minute, 20*time.Millisecond)
	for _, p := range c.in.Seen() {
		head, err := json.Marshal(p.Header)
		require.NoError(t, err)
		nodetest.RequireUntold(t, "a delivery", string(head)+string(p.Body), secrets...)
	}
}

// settles waits until no run of the place goes on.
func (c confidant) settles(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		running, _ := c.Runs(t, "status=running")
		waiting, _ := c.Runs(t, "status=waiting")
		return len(running)+len(waiting) == 0
	}, time.Minute, 20*time.Millisecond)
}
