package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"svc/cmd/client"
	"svc/projections/livetest"
)

// screen is a terminal, and who sits before it.
type screen struct {
	keyboard *os.File // what is typed and shown
	tty      *os.File // what a program has
	shown    *livetest.Lines
	done     chan struct{}
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	ptm, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(ptm.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ptm.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}))
	s := &screen{keyboard: ptm, tty: tty, shown: new(livetest.Lines), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_, _ = io.Copy(s.shown, ptm) // ends with the terminal
	}()
	t.Cleanup(func() { s.close() })
	return s
}

// close ends the terminal and returns all that was shown.
func (s *screen) close() string {
	_ = s.tty.Close()
	<-s.done
	_ = s.keyboard.Close()
	return s.shown.String()
}

// types answers a question.
func (s *screen) types(t *testing.T, question, answer string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(s.shown.String(), question) }, time.Minute, 5*time.Millisecond, "%s: %s", question, s.shown)
	_, err := s.keyboard.WriteString(answer + "\n")
	require.NoError(t, err)
}

func echoes(t *testing.T, s *screen) bool {
	t.Helper()
	_, state := terminal(s.tty)
	require.NotNil(t, state)
	return state.Lflag&unix.ECHO != 0
}

func TestAPasswordIsNotShownOnATerminal(t *testing.T) {
	d := newRemoteUser(t)
	s := newScreen(t)
	done := make(chan error, 1)
	go func() { done <- run(t.Context(), []string{"login", "--url", d.url()}, d.world(s.tty, s.tty, s.tty)) }()
	s.types(t, "Mail address: ", "admin@localhost")
	s.types(t, "Password of admin@localhost: ", adminPassword)
	require.NoError(t, <-done)
	require.True(t, echoes(t, s), "the terminal is as it was")
	shown := s.close()
	require.Contains(t, shown, "signed in to "+d.url())
	require.Contains(t, shown, "Mail address: admin@localhost")
	require.NotContains(t, shown, adminPassword)
}

func TestAQuestionCanBeLeft(t *testing.T) {
	s := newScreen(t)
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := environment{in: s.tty, log: s.tty}.ask(ctx, "Password", true)
		done <- err
	}()
	require.Eventually(t, func() bool { return strings.Contains(s.shown.String(), "Password: ") }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return !echoes(t, s) }, time.Minute, time.Millisecond)
	leave()
	require.ErrorIs(t, <-done, context.Canceled)
	require.True(t, echoes(t, s))
}

const started = `{"operationId":"op_9","repositoryId":"main","groups":["base"],"workspaces":[{"slug":"billing","status":"candidate"},{"slug":"mailer","status":"candidate"},{"slug":"old","status":"alreadyPushed"}]}`

var bulkFrames = []client.Frame{
	{Type: "workspaces.operations.started", Data: []byte(`{"id":"op_9"}`)},
	{Type: "workspaces.bulkPush.started", Data: []byte(started)},
	{Type: "workspaces.bulkPush.progress", Data: []byte(`{"workspaceSlug":"billing","status":"pushed","current":1,"total":2,"duration":1840}`)},
	{Type: "workspaces.bulkPush.progress", Data: []byte(`{"workspaceSlug":"mai\u001bler","status":"error","reason":"not_up_to_date","current":2,"total":2,"duration":90,
		"errors":[{"code":"resource_conflict","message":"Pull first."},{"msg":"bad slug","err":"invalid_slug","filepath":"pages/x.yml","line":3},"a text"],"warnings":[{"err":"content_differs"}]}`)},
	{Type: "workspaces.versions.progress", Data: []byte(`"nothing that is understood"`)},
}

func TestTheBoardOfABulkRun(t *testing.T) {
	var plain bytes.Buffer
	r := &remote{environment: environment{log: &plain}}
	b := r.newDisplay()
	for _, f := range bulkFrames {
		b.showFrame(f)
	}
	b.clearFoot()
	require.Equal(t, `op_9 of repository main: 3 workspaces, 2 to do
1/2  pushed  billing  1.8s
2/2  error  mai?ler  90 ms  (not_up_to_date)
      error: Pull first.
      error: pages/x.yml:3: bad slug
      error: a text
      warning: content_differs
`, plain.String())

	shown := func(env ...string) string {
		s := newScreen(t)
		r := &remote{environment: environment{log: s.tty}}
		r.source.Environ = env
		b := r.newDisplay()
		for _, f := range bulkFrames {
			b.showFrame(f)
		}
		b.rewriteFoot(strings.Repeat("long ", 20))
		b.clearFoot()
		return s.close()
	}
	live := shown("TERM=xterm")
	require.Contains(t, live, "\r\x1b[K[############------------]  50 %  1 of 2")
	require.Contains(t, live, "\x1b[32mpushed\x1b[0m")
	require.Contains(t, live, "\x1b[31merror\x1b[0m")
	require.Contains(t, live, "\r\x1b[K"+strings.Repeat("long ", 20)[:59]+"\r\x1b[K", "never more than one line")
	require.NotContains(t, shown("TERM=xterm", "NO_COLOR=1"), "\x1b[3")
	require.NotContains(t, shown("TERM=dumb"), "\x1b[K[")

	quiet := &remote{environment: environment{log: &plain}, asJSON: true}
	quiet.newDisplay().showFrame(bulkFrames[1])
	require.NotContains(t, plain.String()[len("op_9 of"):], "op_9")
}
