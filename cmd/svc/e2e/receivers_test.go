//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The receivers of webhooks in docs/webhooks.md work as they stand: they take what the service delivers, and refuse what
// is forged, changed or old.
func TestReceiversOfTheDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/webhooks.md")
	require.NoError(t, err)
	ada := sharedService(t).person(t, "Ada")
	for language, run := range map[string]struct {
		file    string
		command []string
	}{
		"go":     {"main.go", []string{"go", "run"}},
		"js":     {"receiver.mjs", []string{"node"}},
		"python": {"receiver.py", []string{"python3"}},
	} {
		t.Run(language, func(t *testing.T) {
			_, rest, found := strings.Cut(string(text), "```"+language+"\n")
			require.True(t, found)
			program, _, _ := strings.Cut(rest, "\n```")
			at := filepath.Join(t.TempDir(), run.file)
			require.NoError(t, os.WriteFile(at, []byte(program+"\n"), 0o600))

			id := ada.workspace(t, "Receiver in "+language)
			port := freePort(t)
			address := fmt.Sprintf("http://127.0.0.1:%d/", port)
			made := ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/subscriptions", map[string]any{"url": address, "types": []string{"order.paid"}})
			startReceiver(t, append(run.command, at), fmt.Sprintf("PORT=%d", port), "SECRET="+made["secret"].(string))
			require.Eventually(t, func() bool { return post(t, address, nil) == http.StatusUnauthorized }, patience, 50*time.Millisecond, "it listens, and refuses what is not signed")

			tested := ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/subscriptions/"+made["id"].(string)+"/test", map[string]any{})
			require.Equal(t, "succeeded", tested["status"], "%v", tested)
			now := fmt.Sprint(time.Now().Unix())
			require.Equal(t, http.StatusUnauthorized, post(t, address, http.Header{"Webhook-Id": {"e1"}, "Webhook-Timestamp": {now}, "Webhook-Signature": {"v1,AAAA v1, x"}}), "forged")
			require.Equal(t, http.StatusUnauthorized, post(t, address, http.Header{"Webhook-Id": {"e1"}, "Webhook-Timestamp": {"1"}, "Webhook-Signature": {"v1,AAAA"}}), "old")
			require.Equal(t, http.StatusUnauthorized, post(t, address, http.Header{"Webhook-Id": {"e1"}, "Webhook-Timestamp": {"soon"}, "Webhook-Signature": {"v1,AAAA"}}), "no time")
		})
	}
}

// startReceiver runs a program until the test ends, and all that it started.
func startReceiver(t *testing.T, command []string, env ...string) {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	said := new(strings.Builder)
	c.Stdout, c.Stderr = said, said
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("the receiver said:\n%s", said)
		}
	})
}

// post sends an empty event, and returns the status of the answer; 0 when nobody listens.
func post(t *testing.T, address string, h http.Header) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("{}"))
	require.NoError(t, err)
	r.Header = h.Clone()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}
