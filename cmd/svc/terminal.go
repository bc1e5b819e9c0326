package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"svc/cmd/process"
)

// terminal returns the descriptor and the state of a terminal; nil when file is
// none.
func terminal(file any) (fd int, state *unix.Termios) {
	f, ok := file.(*os.File)
	if !ok {
		return 0, nil
	}
	state, err := unix.IoctlGetTermios(int(f.Fd()), process.GetTermios)
	if err != nil {
		return 0, nil
	}
	return int(f.Fd()), state
}

// columns is how wide a terminal is; 80 when it does not say.
func columns(fd int) int {
	size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return 80
	}
	return int(size.Col)
}

// ask asks for one line. On a terminal the question is shown, and a secret is not;
// else the line is taken as it comes.
func (w environment) ask(ctx context.Context, question string, secret bool) (string, error) {
	fd, state := terminal(w.in)
	if state != nil {
		fmt.Fprint(w.log, question+": ")
	}
	if state != nil && secret {
		silent := *state
		silent.Lflag &^= unix.ECHO
		if err := unix.IoctlSetTermios(fd, process.SetTermios, &silent); err != nil {
			return "", err
		}
		defer func() {
			_ = unix.IoctlSetTermios(fd, process.SetTermios, state) // it was a terminal a moment ago
			fmt.Fprintln(w.log)
		}()
	}
	line, err := readLine(ctx, w.in)
	if err == nil && line == "" {
		err = fmt.Errorf("%s: nothing was given", strings.ToLower(question))
	}
	return line, err
}

// maxLine is longer than any password or token.
const maxLine = 16 << 10

// readLine reads one line and nothing after it, which the next question may be
// about. It gives up with ctx.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) < maxLine; {
		if err := readable(ctx, in); err != nil {
			return "", err
		}
		n, err := in.Read(one)
		if n == 1 && one[0] == '\n' || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		line = append(line, one[:n]...)
	}
	return strings.TrimSpace(string(line)), nil
}

// readable waits until there is something to read. A terminal is asked now and
// then, because a read of it cannot be called off.
func readable(ctx context.Context, in io.Reader) error {
	f, ok := in.(*os.File)
	if !ok {
		return ctx.Err()
	}
	const patience = 50 // milliseconds
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, patience)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return nil // the read tells what is wrong
		}
	}
	return ctx.Err()
}

// clean returns a text of others without what a terminal would take for a command.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return '?'
	}, text)
}
