//go:build fault

package fault

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
)

// runOf is activity that is appended together, and says so.
func runOf(name string, n int) eventstore.Commit {
	c := eventstore.Commit{Stream: domain.StreamID{Scope: "w"}}
	for range n {
		c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: "my.run", Body: fmt.Appendf(nil, `{"run":%q,"of":%d}`, name, n)}})
	}
	return c
}

// countRun counts down what is missing of a run.
func countRun(t *testing.T, missing map[string]int, ev domain.Recorded) {
	t.Helper()
	if ev.Data.EventType() != "my.run" {
		return
	}
	var said struct {
		Run string
		Of  int
	}
	require.NoError(t, json.Unmarshal(ev.Body, &said))
	if _, ok := missing[said.Run]; !ok {
		missing[said.Run] = said.Of
	}
	missing[said.Run]--
}
