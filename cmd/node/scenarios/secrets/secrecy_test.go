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

// secretWorkspace is a workspace with secrets, all of whose events are delivered.
type secretWorkspace struct {
	nodetest.Workspace
	in *nodetest.Receiver
}

func newSecretWorkspace(t *testing.T, w *nodetest.OwnedService) secretWorkspace {
	t.Helper()
	c := secretWorkspace{w.NewWorkspace(t), nodetest.NewReceiver(t)}
	c.Do(t, 200, "PATCH", c.Path+"/security/secrets", `{"k":{"value":"`+workspaceCanary+`"},"c":{"value":"`+configCanary+`"}}`)
	c.Do(t, 200, "PATCH", c.Path, `{"config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"{{secret.c}}"}}}`)
	c.Do(t, 201, "POST", c.Path+"/subscriptions", `{"url":"`+c.in.URL+`","types":["*"]}`)
	return c
}

// requireSecretsHidden checks at the end that no secret can be read, and that something was delivered
// that had some.
func (c secretWorkspace) requireSecretsHidden(t *testing.T) {
	t.Helper()
	secrets := []string{workspaceCanary, configCanary, inputCanary, headerCanary, instanceCanary}
	c.awaitRunsEnded(t)
	nodetest.RequireSecretsHidden(t, c.Workspace, secrets...)
	all, err := c.FindEvents(t.Context(), "")
	require.NoError(t, err)
	var hidden []string
	for _, e := range all {
		if text, err := json.Marshal(e); err == nil && strings.Contains(string(text), "REDACTED") {
			hidden = append(hidden, e.ID)
		}
	}
	require.NotEmpty(t, hidden, "nothing was to be hidden")
	delivered := func(id string) bool {
		return slices.ContainsFunc(c.in.Received(), func(p nodetest.ReceivedDelivery) bool { return strings.Contains(string(p.Body), id) })
	}
	require.Eventually(t, func() bool { return !slices.ContainsFunc(hidden, func(id string) bool { return !delivered(id) }) }, time.Minute, 20*time.Millisecond)
	for _, p := range c.in.Received() {
		head, err := json.Marshal(p.Header)
		require.NoError(t, err)
		nodetest.RequireNoSecretIn(t, "a delivery", string(head)+string(p.Body), secrets...)
	}
}

// awaitRunsEnded waits until all runs of the workspace have ended.
func (c secretWorkspace) awaitRunsEnded(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		running, _ := c.ListRuns(t, "status=running")
		waiting, _ := c.ListRuns(t, "status=waiting")
		return len(running)+len(waiting) == 0
	}, time.Minute, 20*time.Millisecond)
}
