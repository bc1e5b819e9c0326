package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Somebody builds and uses a workspace from a terminal, without a single request of their own.
func TestAWorkspaceIsBuiltFromTheTerminal(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t)
	d.signIn(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}

	require.Regexp(t, `^made workspace shop \(\w{7}\)\n$`, d.must(t, "workspace", "create", "Shop", "--slug", "shop"))
	require.Regexp(t, `(?m)^ID\s+SLUG\s+NAME\s+ROLE\s+UNPUSHED\s+CHANGED\n\S+\s+shop\s+Shop`, d.must(t, "workspace", "list", "--search", "shop"))

	// A document is checked, made, changed, read and listed.
	greet := write("greet.yml", "name: Greet\nwhen:\n  endpoint: true\narguments:\n  who: {type: string}\ndo:\n  - set: {name: text, value: \"Hello {{who}}\"}\noutput: \"{{text}}\"\n")
	require.Contains(t, d.must(t, "automation", "put", "shop", "greet", greet, "--dry-run"), "nothing is wrong with it")
	require.Contains(t, d.must(t, "automation", "list", "shop"), "SLUG")
	require.NotContains(t, d.must(t, "automation", "list", "shop"), "greet", "it was checked only")
	require.Equal(t, "saved greet\n", d.must(t, "automation", "put", "shop", "greet", greet))
	require.Equal(t, "saved greet\n", d.must(t, "automation", "put", "shop", "greet", greet), "it is replaced")
	require.Contains(t, d.must(t, "automation", "get", "shop", "greet"), "Hello {{who}}")
	var read map[string]any
	require.NoError(t, json.Unmarshal([]byte(d.must(t, "automation", "get", "shop", "greet", "--json")), &read))
	require.Equal(t, "Greet", read["name"])
	bad := write("bad.yml", "name: Bad\ndo:\n  - emti: {event: a}\n")
	got := d.run(t, "automation", "put", "shop", "bad", bad, "--dry-run")
	require.NotZero(t, got.code+len(got.out), "it says what is wrong, and where: %s", got.out+got.err)
	require.Contains(t, got.out+got.err, "emti")

	// It is run, and the run is looked at and replayed.
	require.Equal(t, "Hello Ada\n", d.must(t, "run", "shop", "greet", "--input", `{"who":"Ada"}`, "--record"))
	input := write("input.json", `{"who":"Grace"}`)
	require.Equal(t, "Hello Grace\n", d.must(t, "run", "shop", "greet", "--input", "@"+input))
	require.Equal(t, "Hello Lin\n", d.types(t, `{"who":"Lin"}`, "run", "shop", "greet", "--input", "-").out)
	require.Contains(t, d.requireFailure(t, 2, "run", "shop", "greet", "--input", "{who"), "--input is no JSON")
	var runs []struct {
		CorrelationID string
		Recorded      any
	}
	require.Eventually(t, func() bool {
		require.NoError(t, json.Unmarshal([]byte(d.must(t, "runs", "list", "shop", "--automation", "greet", "--status", "succeeded", "--json")), &runs))
		return len(runs) == 3
	}, time.Minute, 100*time.Millisecond)
	recorded := runs[2].CorrelationID
	require.Equal(t, true, runs[2].Recorded)
	require.Regexp(t, regexp.QuoteMeta(recorded)+`: succeeded, began .* with greet, took .*\n  greet  \d+ ms\n`, d.must(t, "runs", "show", "shop", recorded))
	require.Equal(t, "identical\n", d.must(t, "runs", "replay", "shop", recorded))
	d.must(t, "automation", "put", "shop", "greet", write("greet2.yml", strings.Replace(readFile(t, greet), "Hello", "Goodbye", 1)))
	require.Contains(t, d.must(t, "runs", "replay", "shop", recorded, "--document", "current"), `recorded "Hello Ada", now "Goodbye Ada"`)
	require.Equal(t, "cancelled 0 executions of run "+recorded+"\n", d.must(t, "runs", "cancel", "shop", recorded), "it has ended")

	// Events.
	require.Regexp(t, `(?m)^\S+\s+order\.placed\s+\S+$`, d.must(t, "events", "emit", "shop", "order.placed", "--payload", `{"n":1}`))
	require.Contains(t, d.must(t, "events", "tail", "--workspace", "shop", "--from", "1h", "--type", "order.placed", "--limit", "1"), `{"n":1}`)

	// Secrets and keys: a value goes in by standard input and never comes out, a key comes out once.
	require.Equal(t, "set secret stripe\n", d.types(t, "s3cr3t-value\n", "secret", "set", "shop", "stripe", "--description", "Payments").out)
	secrets := d.must(t, "secret", "list", "shop")
	require.Regexp(t, `(?m)^stripe\s+Payments`, secrets)
	require.NotContains(t, secrets, "s3cr3t-value")
	require.Equal(t, "deleted secret stripe\n", d.must(t, "secret", "delete", "shop", "stripe"))
	require.Contains(t, d.requireFailure(t, 2, "key", "create", "shop", "caller"), "--rules says what the key may do")
	key := strings.TrimSpace(d.must(t, "key", "create", "shop", "caller", "--rules", `[{"action":"execute","subject":"automations"}]`, "--expires", "720h"))
	req, err := http.NewRequestWithContext(t.Context(), "POST", d.url()+"/v2/workspaces/slug:shop/webhooks/greet", strings.NewReader(`{"who":"Key"}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Svc-Api-Key", key)
	resp, err := plainHTTP.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	keys := d.must(t, "key", "list", "shop")
	require.NotContains(t, keys, key)
	id := regexp.MustCompile(`(?m)^(\S+)\s+caller`).FindStringSubmatch(keys)[1]
	require.Equal(t, "revoked API key "+id+"\n", d.must(t, "key", "delete", "shop", id))

	// Rows.
	require.Equal(t, "inserted 2, updated 0 rows, 0 were the same\n", d.must(t, "data", "import", "shop", "orders", write("orders.csv", "item,amount\ntea,3\ncoffee,5\n")))
	require.Regexp(t, `(?m)^orders\s.*\s2\s`, d.must(t, "data", "list", "shop"))
	require.Contains(t, d.must(t, "data", "query", "shop", "orders", "--query", `{"item":"tea"}`), `"tea"`)
	require.Len(t, strings.Split(strings.TrimSpace(d.must(t, "data", "export", "shop", "orders")), "\n"), 2)

	// The whole workspace as an archive, deleted, restored, and a copy of it.
	archive := filepath.Join(dir, "shop.zip")
	require.Contains(t, d.must(t, "export", "shop", archive), "saved "+archive)
	shop := regexp.MustCompile(`\w{7}`).FindString(strings.TrimPrefix(d.must(t, "workspace", "delete", "shop"), "deleted workspace "))
	require.Contains(t, d.must(t, "import", archive), "made ")
	require.Contains(t, d.must(t, "workspace", "undelete", shop, "--slug", "shop-2"), "restored workspace shop-2 ("+shop+")")
	require.Contains(t, d.must(t, "workspace", "list"), "shop-2")

	// What is wrong is said with what to do.
	require.Contains(t, d.requireFailure(t, 2, "automation", "get", "shop-2"), "svc automation get WORKSPACE SLUG")
	require.Contains(t, d.requireFailure(t, 2, "automation", "gett", "shop-2"), "did you mean get?")
	require.Contains(t, d.requireFailure(t, 1, "automation", "get", "shop-2", "missing"), "not_found")
	require.Contains(t, d.requireFailure(t, 1, "automation", "put", "shop-2", "x", filepath.Join(dir, "none.yml")), "no such file")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// Every command is in the documentation, with its arguments.
func TestCommandsAreDocumented(t *testing.T) {
	guide, _, _ := strings.Cut(readFile(t, filepath.Join("..", "..", "docs", "cli.md")), beginReference)
	docs := guide + readFile(t, filepath.Join("..", "..", "docs", "operations.md"))
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, one := range c.Commands() {
			visit(one)
		}
		if c.Runnable() && !c.HasSubCommands() && c.Name() != "help" && !strings.HasPrefix(c.CommandPath(), "svc completion") {
			assert.Contains(t, docs, c.CommandPath())
		}
	}
	visit(newRoot(environment{out: io.Discard, log: io.Discard}))
}
