package nodetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Subscribe makes a subscription and returns its path.
func (p Workspace) Subscribe(t *testing.T, url, more string) (path string) {
	t.Helper()
	made := p.Do(t, 201, "POST", p.Path+"/subscriptions", fmt.Sprintf(`{"url":%q,"types":["orders.*"]%s}`, url, more)).JSON(t)
	return p.Path + "/subscriptions/" + made["id"].(string)
}

// AwaitOperation waits until an operation has a status.
func (p Workspace) AwaitOperation(t *testing.T, operation, status string) (shown map[string]any) {
	t.Helper()
	require.Eventually(t, func() bool {
		shown = p.Do(t, 200, "GET", operation, "").JSON(t)
		return shown["status"] == status
	}, time.Minute, 10*time.Millisecond)
	return shown
}
