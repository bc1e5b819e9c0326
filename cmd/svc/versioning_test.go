package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// shop is a workspace with a repository.
type shop struct {
	*remoteUser
	id   string
	repo *gittest.Repo
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{remoteUser: newRemoteUser(t).signIn(t)}
	server := gittest.New(t)
	s.repo = server.Repo("shop.git")
	s.id = s.workspace(t, "web-shop")
	s.call(t, "PATCH", "/workspaces/"+s.id, s.tok, fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{"url":%q,"caBundle":%q,"auth":{"user":%q,"password":%q}}},
		"mirror":{"name":"Mirror","mode":"read-only","config":{"url":%q}}}}`, s.repo.URL, server.CA, gittest.User, gittest.Password, s.repo.URL))
	s.write(t, "charge", "charge")
	return s
}

// write makes an automation, or changes it.
func (s *shop) write(t *testing.T, slug, event string) {
	t.Helper()
	body := fmt.Sprintf(`{"slug":%q,"name":%q,"do":[{"emit":{"event":%q}}]}`, slug, slug, event)
	method, path := "POST", "/workspaces/"+s.id+"/automations"
	if found := s.call(t, "GET", "/workspaces/"+s.id, s.tok, "")["automations"].(map[string]any); found[slug] != nil {
		method, path = "PATCH", path+"/"+slug
	}
	s.call(t, method, path, s.tok, body)
}

func TestPushAndPull(t *testing.T) {
	s := newShop(t)
	for name, want := range map[string]string{"web-shop": s.id, s.id: s.id, "slug:web-shop": s.id} {
		require.Contains(t, s.must(t, "lock", name, "--json"), `"reason": "manual"`)
		require.Equal(t, "workspace "+want+" is unlocked\n", s.must(t, "unlock", name))
	}
	require.Equal(t, "there are no versions yet\n", s.must(t, "versions", "web-shop"))
	require.Regexp(t, `^local_dirty: content at revision \d+, synced at \d+\n\nREPOSITORY +STATE`, s.must(t, "status", "web-shop"))

	got := s.run(t, "push", "web-shop", "--repository", "origin", "--name", "v1", "--description", "Charge\x1b[31m cards")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^v1 is pushed to origin: commit [0-9a-f]{12}, 3 files changed \(\+\d+ -0 lines\)\n$`, got.out)
	require.Regexp(t, `(?s)^checkout: .+\ncheckout: done in .+\npull: .+\nwrite: .+\npush: .+\npush: done in \d+.*\n$`, got.err)

	t.Log("on the platform itself, with the result only")
	got = s.run(t, "push", "web-shop", "--name", "native", "--json")
	require.Empty(t, got.err)
	var version map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.out), &version))
	require.Equal(t, "native", version["name"])
	require.Regexp(t, `^\d+-\d+-\w{6} is saved on the platform, at revision \d+`, s.must(t, "push", "web-shop"))
	list := lines(s.must(t, "versions", "web-shop"))
	require.Len(t, list, 4)
	require.Regexp(t, `^native +\S+Z +-$`, list[2])
	require.Regexp(t, `^v1 +\S+Z +origin +[0-9a-f]{12} +Charge\?\[31m cards$`, list[3])

	t.Log("what others push is brought")
	clone := s.repo.Clone()
	clone.Write("automations/refund.yml", "name: Refund\ndo: []\nteam: red\n", "automations/broken.yml", "name: [\n")
	clone.Commit("refund")
	clone.Push("main")
	behind := s.requireFailure(t, 1, "push", "web-shop", "--repository", "origin")
	require.Contains(t, behind, "svc: Remote has changes that are not in this workspace. Pull first. (resource_conflict, not_up_to_date)")
	require.Contains(t, behind, "svc: behind: 1")
	require.Contains(t, behind, "svc: next: `svc pull web-shop --repository origin` brings what the remote has; then push again")
	require.Regexp(t, `(?m)^origin +remote_ahead +0 +1 +main +read-write`, s.must(t, "status", "web-shop", "--refresh", "--repository", "origin"))
	got = s.run(t, "pull", "web-shop", "--repository", "origin", "--dry-run")
	require.Equal(t, 1, got.code, "one file could not be imported")
	require.Contains(t, got.out, "  + automations/refund\n")
	require.Contains(t, got.out, "would import 1 and delete 0 (")
	got = s.run(t, "pull", "web-shop", "--repository", "origin", "--strict")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "validation_failed")
	got = s.run(t, "pull", "web-shop", "--repository", "origin")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, "  + automations/refund\n")
	require.Regexp(t, `(?m)^error: automations/broken.yml:\d+: `, got.out)
	require.Regexp(t, `(?m)^warning: automations/refund.yml:3: .+"team"$`, got.out)
	require.Contains(t, got.err, "svc: 1 file could not be imported")

	t.Log("an earlier one, and back")
	got = s.run(t, "pull", "web-shop", "--version", "native")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "  - automations/refund\n0 imported, 1 deleted; the content is at revision ")
	require.Contains(t, s.requireFailure(t, 1, "pull", "web-shop", "--version", "v9"), "(resource_not_found")
	require.Contains(t, s.requireFailure(t, 1, "push", "web-shop", "--name", "v1"), "svc: next: choose another --name")
	require.Contains(t, s.requireFailure(t, 1, "push", "web-shop", "--name", "../x"), "(validation_failed)")
	require.Contains(t, s.requireFailure(t, 1, "push", "web-shop", "--repository", "mirror"), "repository_read_only")
	require.Contains(t, s.requireFailure(t, 1, "pull", "web-shop", "--repository", "elsewhere"), "svc: availableRepositories: mirror, origin")
	require.Contains(t, s.requireFailure(t, 1, "push", "nowhere"), "svc: there is no such workspace (resource_not_found)")
}

func TestAConflictIsTold(t *testing.T) {
	s := newShop(t)
	s.must(t, "push", "web-shop", "--repository", "origin", "--name", "v1")
	s.write(t, "charge", "ours")
	clone := s.repo.Clone()
	clone.Write("automations/charge.yml", "slug: charge\nname: charge\ndo:\n  - emit:\n      event: theirs\n")
	clone.Commit("theirs")
	clone.Push("main")

	plan := s.run(t, "pull", "web-shop", "--repository", "origin", "--dry-run")
	require.Equal(t, 1, plan.code)
	require.Contains(t, plan.out, "conflict: automations/charge.yml (modify/modify) do\n")
	require.Equal(t, "svc: the pull would end in a conflict\n", plan.err)

	got := s.requireFailure(t, 1, "pull", "web-shop", "--repository", "origin")
	require.Contains(t, got, "merge: failed\n")
	require.Contains(t, got, "svc: Merge conflict in 1 file. (resource_conflict, merge_conflict)\n")
	require.Contains(t, got, "svc: branch: svc/web-shop/main\nsvc: files: automations/charge.yml\n")
	require.Contains(t, got, "`svc unlock web-shop` and `svc pull web-shop --discard --repository origin`")

	status := s.must(t, "status", "web-shop")
	require.Contains(t, status, "conflicted: ")
	require.Regexp(t, `locked by you since \S+: merge_conflict, .*until it is cleared`, status)
	require.Regexp(t, `(?m)^modified +both +automations/charge$`, status)
	locked := s.requireFailure(t, 1, "push", "web-shop", "--repository", "origin")
	require.Regexp(t, `svc: locked by you since \S+: merge_conflict`, locked)

	s.must(t, "unlock", "web-shop")
	require.Contains(t, s.must(t, "pull", "web-shop", "--repository", "origin", "--discard"), "  + automations/charge\n1 imported")
}

func TestAConflictIsResolved(t *testing.T) {
	s := newShop(t)
	s.must(t, "push", "web-shop", "--repository", "origin", "--name", "v1")
	require.Equal(t, "there are no conflicts\n", s.must(t, "conflicts", "list", "web-shop"))
	s.write(t, "charge", "ours")
	clone := s.repo.Clone()
	clone.Write("automations/charge.yml", "slug: charge\nname: charge\ndo:\n  - emit:\n      event: theirs\n")
	clone.Commit("theirs")
	clone.Push("main")
	got := s.requireFailure(t, 1, "pull", "web-shop", "--repository", "origin")
	require.Contains(t, got, "see `svc conflicts list web-shop` and decide with `svc conflicts resolve web-shop`")

	list := s.must(t, "conflicts", "list", "web-shop")
	require.Contains(t, list, "automations/charge.yml (modify/modify) do\n")
	require.Contains(t, list, "event: ours")
	require.Contains(t, list, "event: theirs")
	require.Contains(t, s.requireFailure(t, 2, "conflicts", "resolve", "web-shop"), "say with --ours or --theirs which side of automations/charge.yml counts")
	require.Contains(t, s.requireFailure(t, 2, "conflicts", "resolve", "web-shop", "--ours", "*", "--theirs", "pages/x.yml"), "pages/x.yml is not in conflict")
	require.Contains(t, s.must(t, "conflicts", "resolve", "web-shop", "--theirs", "automations/charge.yml"), "+ automations/charge\n")
	require.Contains(t, s.must(t, "automation", "get", "web-shop", "charge"), "event: theirs")
	require.Equal(t, "there are no conflicts\n", s.must(t, "conflicts", "list", "web-shop"))
	require.Contains(t, s.requireFailure(t, 1, "conflicts", "resolve", "web-shop", "--ours", "*"), "there are no conflicts")
}

// Somebody else holds the lock: they are named as far as the caller may know.
func TestWhoHoldsTheLockIsNamed(t *testing.T) {
	d := newRemoteUser(t).signIn(t)
	ada := d.call(t, "POST", "/signup", "", `{"email":"ada@example.org","password":"long enough","firstName":"Ada","lastName":"Lovelace"}`)["id"].(string)
	token := d.call(t, "POST", "/login", "", `{"email":"ada@example.org","password":"long enough"}`)["token"].(string)
	id := d.call(t, "POST", "/workspaces", token, `{"name":"Shop","slug":"shop"}`)["id"].(string)
	d.call(t, "POST", "/workspaces/"+id+"/writeLock", token, `{"reason":"stock taking"}`)
	got := d.requireFailure(t, 1, "push", "shop")
	require.Regexp(t, `svc: locked by Ada Lovelace \(`+ada+`\) since \S+Z: stock taking, until \S+Z\n`, got)
	require.Contains(t, got, "svc: next: wait until it is free, or `svc unlock shop`\n")

	eve := d.call(t, "POST", "/signup", "", `{"email":"eve@example.org","password":"long enough","firstName":"Eve","lastName":"E"}`)["id"].(string)
	d.call(t, "PATCH", "/users/"+eve, d.tok, `{"status":"validated"}`)
	require.Zero(t, d.types(t, "long enough\n", "login", "--profile", "eve", "--url", d.url(), "--email", "eve@example.org").code)
	denied := d.requireFailure(t, 1, "status", "shop", "--profile", "eve")
	require.Contains(t, denied, "(workspace_access_denied)")
	d.call(t, "POST", "/workspaces/"+id+"/permissions", token, `{"target":{"email":"eve@example.org"},"permissions":{"role":"editor"}}`)
	require.Regexp(t, `svc: locked by `+ada+` since`, d.requireFailure(t, 1, "push", "shop", "--profile", "eve"), "an editor does not see who shares it")
	require.Contains(t, d.requireFailure(t, 1, "unlock", "shop", "--profile", "eve"), "(permission_denied)")
	require.Contains(t, d.must(t, "status", "shop", "--profile", "eve"), "locked by "+ada)
}

// cutter stands before a service and cuts every stream after some bytes.
type cutter struct {
	*httptest.Server
	streams atomic.Int32
	resumed atomic.Int32
}

func newCutter(t *testing.T, to string, after int) *cutter {
	t.Helper()
	target, err := url.Parse(to)
	require.NoError(t, err)
	c := &cutter{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	proxy.ModifyResponse = func(resp *http.Response) error {
		if resp.Header.Get("Content-Type") == "text/event-stream" {
			c.streams.Add(1)
			if resp.Request.Header.Get("Last-Event-ID") != "" {
				c.resumed.Add(1)
			}
			resp.Body = &truncatedBody{ReadCloser: resp.Body, left: after}
		}
		return nil
	}
	c.Server = httptest.NewServer(proxy)
	t.Cleanup(c.Close)
	return c
}

// truncatedBody is a body that ends too early.
type truncatedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (s *truncatedBody) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := s.ReadCloser.Read(b[:min(len(b), s.left)])
	s.left -= n
	return n, err
}

// A stream that is cut goes on where it was: each step is told once.
func TestACutStreamGoesOn(t *testing.T) {
	s := newShop(t)
	cut := newCutter(t, s.url(), 900)
	s.env = []string{"SVC_URL=" + cut.URL, "SVC_TOKEN=" + s.profiles(t)["default"].Token}
	got := s.run(t, "push", "web-shop", "--repository", "origin", "--name", "v1")
	require.Zero(t, got.code, got.err)
	require.GreaterOrEqual(t, cut.resumed.Load(), int32(2))
	s.env = nil // past the cuts
	whole := s.run(t, "follow", "web-shop", s.ids(t, "/workspaces/"+s.id+"/operations")[0])
	require.Equal(t, whole.err, got.err, "neither a gap nor a repetition")
	require.Contains(t, got.err, "push: done")
	require.Contains(t, got.out, "v1 is pushed to origin")
}

// Who leaves is told how to come back; the operation goes on.
func TestLeavingAnOperation(t *testing.T) {
	s := newShop(t)
	s.repo.Hook("pre-receive", "while [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.02; done")
	ctx, leave := context.WithCancel(t.Context())
	var out, log bytes.Buffer
	gone := make(chan error, 1)
	told := &notifyingWriter{Writer: &log, text: "push: ", seen: leave}
	go func() {
		gone <- run(ctx, []string{"push", "web-shop", "--repository", "origin", "--name", "v1"}, s.world(strings.NewReader(""), &out, told))
	}()
	got := s.ended(t, <-gone, &out, &log)
	require.Equal(t, 1, got.code)
	require.Regexp(t, `svc: stopped following; operation op_\w+ goes on\nsvc: to follow it: svc follow web-shop op_\w+\nsvc: to cancel it: svc cancel web-shop op_\w+\n$`, got.err)
	fields := strings.Fields(got.err)
	id := fields[len(fields)-1]

	require.Contains(t, s.requireFailure(t, 1, "pull", "web-shop", "--repository", "origin"), "operation "+id+" (push)")
	require.Contains(t, s.must(t, "cancel", "web-shop", id), id+" was asked to stop")
	s.repo.Hook("go", "")
	got = s.run(t, "follow", "web-shop", id)
	require.Zero(t, got.code, "it had been sent: %s", got.err)
	require.Contains(t, got.out, "v1 is pushed to origin")
	require.Contains(t, got.err, "checkout: done in")
	require.Contains(t, s.requireFailure(t, 1, "cancel", "web-shop", id), "already_ended")
	require.Contains(t, s.requireFailure(t, 1, "follow", "web-shop", "op_none"), "(resource_not_found)")
	require.Contains(t, s.must(t, "follow", "web-shop", id, "--json"), `"name": "v1"`)
}

// notifyingWriter calls seen when a text is written.
type notifyingWriter struct {
	io.Writer
	text string
	seen func()
}

// Write implements io.Writer.
func (n *notifyingWriter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), n.text) {
		n.seen()
	}
	return n.Writer.Write(b)
}

// Who leaves before there was an answer does not know whether it began.
func TestLeavingBeforeTheAnswer(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is it seen that the client has left
		leave()
		<-r.Context().Done()
	}))
	defer service.Close()
	d := &remoteUser{cliEnv: newCLIEnv(t), home: t.TempDir(), env: []string{"SVC_URL=" + service.URL, "SVC_TOKEN=x"}}
	var out, log bytes.Buffer
	got := d.ended(t, run(ctx, []string{"bulk", "push", "--group", "base"}, d.world(strings.NewReader(""), &out, &log)), &out, &log)
	require.Equal(t, 1, got.code)
	require.Equal(t, "svc: interrupted before the service answered: `svc status platform` tells whether it began\n", got.err)
}
