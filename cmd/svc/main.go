// Command svc is the workspace platform: the service and its tools in one
// binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"svc/cmd/settings"
	"svc/commands/extract"
	"svc/commands/sandbox"
)

// Set by the build.
var version, commit = "dev", ""

func main() {
	// No samples of the heap until somebody asks for profiles.
	runtime.MemProfileRate = 0
	if len(os.Args) == 2 && children[os.Args[1]] != nil { // before anything is read that a child is not to have
		if err := children[os.Args[1]](os.Stdin, os.Stdout); err != nil {
			printError(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	world := environment{source: settings.OS(), in: os.Stdin, out: os.Stdout, log: os.Stderr}
	if err := run(ctx, os.Args[1:], world); err != nil {
		printError(os.Stderr, err)
		os.Exit(exitCode(err))
	}
}

// children are what the service starts itself with: to run the code of authors, and to read files. They are no commands
// for people.
var children = map[string]func(in io.Reader, out io.Writer) error{
	"sandbox": sandbox.Main,
	"extract": extract.Main,
}

// environment is what a command sees of the outside, so that a test can be it.
type environment struct {
	source settings.Source
	in     io.Reader // passwords
	out    io.Writer // results
	log    io.Writer // the log, and progress
}

// run is main with its world passed in.
func run(ctx context.Context, args []string, w environment) error {
	root := newRoot(w)
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// printError says what is wrong, one line for each fault.
func printError(w io.Writer, err error) {
	if faults, ok := errors.AsType[settings.Faults](err); ok {
		for _, f := range faults {
			fmt.Fprintln(w, "svc: bad setting:", f)
		}
		return
	}
	for line := range strings.Lines(err.Error()) {
		if text := strings.TrimSpace(line); text != "" {
			fmt.Fprintln(w, "svc:", text)
		}
	}
}

// exitCode is 2 for bad settings or bad usage, 1 for the rest.
func exitCode(err error) int {
	if _, ok := errors.AsType[settings.Faults](err); ok || errors.Is(err, errUsage) {
		return 2
	}
	return 1
}
