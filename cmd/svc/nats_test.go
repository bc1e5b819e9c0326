package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// freeAddress is one that nothing listened at a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// subscribe is a program that connects with a file of credentials.
func subscribe(t *testing.T, address, file, subject string) (*nats.Conn, <-chan *nats.Msg) {
	t.Helper()
	nc, err := nats.Connect("nats://"+address, nats.UserCredentials(file), nats.NoReconnect())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	heard := make(chan *nats.Msg, 100)
	_, err = nc.ChanSubscribe(subject, heard)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	return nc, heard
}

func TestProgramsAreLetInAndShutOut(t *testing.T) {
	address := freeAddress(t)
	d := newRemoteUser(t, "NATS_LISTEN="+address)
	shop := d.workspace(t, "shop")
	dir := t.TempDir()
	onHost, fromAfar := filepath.Join(dir, "board.creds"), filepath.Join(dir, "afar.creds")

	t.Log("on the host, with its internal key")
	got := d.cliEnv.run(t, "nats", "user", "add", "--all", "--out", onHost)
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^nu_[0-9a-f]{16} \(board\) may watch: workspaces all, types all, until: for ever\ncredentials: `+onHost+`   \(they are nowhere else\)\n$`, got.out)
	info, err := os.Stat(onHost)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, all := subscribe(t, address, onHost, "svc.activity.>")

	t.Log("from afar, as a super admin")
	require.Contains(t, d.requireFailure(t, 1, "nats", "user", "list"), "there is no profile default: sign in")
	require.NoDirExists(t, "data", "a command makes no keys")
	d.signIn(t)
	var made natsUser
	text := d.must(t, "nats", "user", "add", "--workspace", "shop", "--type", "order.*,error", "--name", "from afar", "--expires", "90d", "--out", fromAfar, "--json")
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	require.Equal(t, []any{[]string{shop}, []string{"order.*", "error"}, "from afar"}, []any{made.Workspaces, made.Types, made.Name})
	until, err := time.Parse(time.RFC3339, made.ExpiresAt)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().AddDate(0, 0, 90), until, time.Minute)
	nc, some := subscribe(t, address, fromAfar, "svc.activity."+shop+".order.>")
	d.send(t, "POST", "/workspaces/"+shop+"/events", d.tok, `{"events":[{"type":"order.paid"}]}`)
	for _, heard := range []<-chan *nats.Msg{all, some} {
		require.Eventually(t, func() bool { return (<-heard).Subject == "svc.activity."+shop+".order.paid" }, time.Minute, time.Millisecond)
	}

	list := lines(d.must(t, "nats", "user", "list"))
	require.Len(t, list, 3)
	require.Regexp(t, `^ID +NAME +WORKSPACES +TYPES +UNTIL$`, list[0])
	require.Contains(t, list[1]+list[2], "for ever")
	require.Contains(t, list[1]+list[2], "from afar  "+shop)
	require.NotContains(t, d.must(t, "nats", "user", "list", "--json"), "jwt")
	require.Equal(t, made.ID+" is shut out\n", d.must(t, "nats", "user", "remove", made.ID))
	require.Eventually(t, nc.IsClosed, time.Minute, time.Millisecond)
	require.Contains(t, d.requireFailure(t, 1, "nats", "user", "remove", made.ID), "there is no such NATS user (resource_not_found)")
	require.Len(t, lines(d.cliEnv.run(t, "nats", "user", "list", "--local").out), 2)

	t.Log("a file that is there is not replaced by accident")
	before, err := os.ReadFile(onHost)
	require.NoError(t, err)
	require.Contains(t, d.requireFailure(t, 1, "nats", "user", "add", "--all", "--out", onHost), "there is a file "+onHost+" already")
	require.Len(t, lines(d.must(t, "nats", "user", "list")), 2, "and nobody was let in")
	d.must(t, "nats", "user", "add", "--all", "--out", onHost, "--force")
	after, err := os.ReadFile(onHost)
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2, "no file is left behind")
}

func TestBadCommandLinesOfNATS(t *testing.T) {
	d := newRemoteUser(t).signIn(t)
	out := filepath.Join(t.TempDir(), "x.creds")
	for line, want := range map[string]string{
		"add":                                   "svc nats user add needs --out, and --workspace or --all",
		"add --out " + out:                      "needs --out, and --workspace or --all",
		"add --all":                             "needs --out",
		"add --all --workspace a --out x":       "needs --out",
		"add now --all --out " + out:            "takes no arguments",
		"add --all --expires soon --out " + out: "--expires is a time such as 90d",
		"remove":                                "svc nats user remove takes a NATS user, by its id",
		"list all":                              "takes no arguments",
	} {
		got := d.run(t, append([]string{"nats", "user"}, fields(line)...)...)
		require.Equal(t, 2, got.code, "%s: %s", line, got.err)
		require.Contains(t, got.err, want, line)
	}
	for line, want := range map[string]string{
		"add --workspace nowhere --out " + out:                      "workspaces.0: is not the id or slug of a workspace",
		"add --all --type work* --out " + out:                       "types.0: must be an event type",
		"add --all --expires 2020-01-01T00:00:00Z --out " + out:     "expiresAt: must be in the future",
		fmt.Sprintf("add --all --out %s/none/x.creds", t.TempDir()): "without the file the user is of no use: svc nats user remove nu_",
	} {
		require.Contains(t, d.requireFailure(t, 1, append([]string{"nats", "user"}, fields(line)...)...), want, line)
	}
	require.NoFileExists(t, out)
	got := d.run(t, "nats", "user", "add", "--all", "--out", out)
	require.Contains(t, got.out, "the service does not listen yet: set NATS_LISTEN")

	d.call(t, "POST", "/signup", "", `{"email":"ada@example.org","password":"long enough","firstName":"Ada","lastName":"L"}`)
	got = d.types(t, "long enough\n", "login", "--profile", "ada", "--url", d.url(), "--email", "ada@example.org")
	require.Zero(t, got.code, got.err)
	require.Contains(t, d.requireFailure(t, 1, "nats", "user", "list", "--profile", "ada"), "(permission_denied)")
}
