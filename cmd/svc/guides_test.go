package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/projections/livetest"
)

var updateGuides = flag.Bool("update-guides", false, "write what the commands print into the guides")

// Every command of every guide is run as it stands, in order, in an empty directory, by somebody who has just signed in to a new service. What it
// prints must be what the guide shows. Values that differ each time are compared by their form, and … stands for anything.
func TestGuides(t *testing.T) {
	files, err := filepath.Glob("../../docs/guides/[a-z]*.md")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range append(files, "../../README.md") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".md"), func(t *testing.T) {
			t.Parallel()
			runGuide(t, file)
		})
	}
}

// step is a command of a guide, and the output that is shown below it.
type step struct {
	command string
	shown   string
}

// guideLine is a line of a guide that is no output: a command has its step.
type guideLine struct {
	text string
	step int // -1: it is text
}

// isUnfinished reports whether a command goes on in the next line: within quotes, or after a backslash.
func isUnfinished(command string) bool {
	return strings.HasSuffix(command, `\`) || strings.Count(command, "'")%2 == 1
}

// readGuide divides a guide into its text and its commands. A command begins with "$ "; the lines of a here document belong to it. Everything up to
// the next command or the end of the block is its output.
func readGuide(text string) (all []guideLine, steps []step) {
	inside, output := false, false
	end := "" // of a here document
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "```") && end == "" {
			inside, output = !inside && line == "```console", false
			all = append(all, guideLine{line, -1})
			continue
		}
		last := len(steps) - 1
		switch {
		case !inside:
			all = append(all, guideLine{line, -1})
		case end != "" || output && last >= 0 && steps[last].shown == "" && isUnfinished(steps[last].command):
			steps[last].command += "\n" + line
			all = append(all, guideLine{line, last})
			if line == end {
				end = ""
			}
		case strings.HasPrefix(line, "$ "):
			steps, output = append(steps, step{command: line[2:]}), true
			all = append(all, guideLine{line, last + 1})
			if m := hereDocument.FindStringSubmatch(line); m != nil {
				end = m[1]
			}
		default:
			steps[last].shown += line + "\n"
		}
	}
	return all, steps
}

var hereDocument = regexp.MustCompile(`<<'(\w+)'`)

func runGuide(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	all, steps := readGuide(string(text))
	printed := runSteps(t, steps)
	if *updateGuides {
		require.NoError(t, os.WriteFile(file, []byte(withOutput(all, steps, printed)), 0o644))
		return
	}
	for i, s := range steps {
		require.True(t, sameOutput(s.shown, printed[i]), "%s\n$ %s\nprinted\n%s\nbut the guide shows\n%s", file, s.command, printed[i], s.shown)
	}
}

// runSteps runs the commands in one shell, and returns what each printed.
func runSteps(t *testing.T, steps []step) (printed []string) {
	d := newRemoteUser(t, "LLM_BASE_URL=demo").signIn(t)
	bin := t.TempDir()
	program, err := filepath.Abs(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "svc"), fmt.Appendf(nil, "#!/bin/sh\n%s=yes exec %q \"$@\"\n", programVariable, program), 0o755))
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ann\n\temail = ann@example.org\n"), 0o600))
	here, other := fmt.Sprintf("localhost:%d", d.port), strconv.Itoa(livetest.Ports(1)[0]) // the guides have 3001, and 3199 for a second service
	const mark = "=== the end of a step"
	var script strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&script, "%s\necho '%s'\n", strings.NewReplacer("localhost:3001", here, "3199", other).Replace(s.command), mark)
	}
	patience := 5 * time.Minute
	if *updateGuides {
		patience = time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = time.Second // programs that the shell has started may hold its output
	cmd.Env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + d.home, "LANG=C.UTF-8", "TOKEN=" + d.tok,
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), out.String())
	text := strings.NewReplacer(here, "localhost:3001", fmt.Sprintf("127.0.0.1:%d", d.port), "localhost:3001", other, "3199", cmd.Dir, "~/try").Replace(out.String())
	printed = strings.SplitAfter(text, mark+"\n")
	require.Len(t, printed, len(steps)+1, "%s", text)
	for i := range printed {
		printed[i] = strings.TrimSuffix(printed[i], mark+"\n")
		if printed[i] != "" && !strings.HasSuffix(printed[i], "\n") {
			printed[i] += "\n"
		}
	}
	return printed[:len(steps)]
}

// volatile is what differs each time.
var volatile = regexp.MustCompile(strings.Join([]string{
	`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`,                                       // an id that is a ULID
	`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f-]{17}\b`,                 // a UUID
	`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`,                             // a time
	`\b(op|key|sub|sk|kb|doc|file|inst|app)_[A-Za-z0-9]+\b`,                 // other ids and keys
	`\b[0-9a-f]{7,40}\b`,                                                    // commits, ids of users
	`\([A-Za-z0-9_-]{7}\)`, `"(id|workspaceId|runningWorkspaceId)":"[^"]*"`, // ids of workspaces
	`"duration":\d+`, `\b\d+(\.\d+)? ?m?s\b`, `"seq":"[^"]*"`, // what takes time; positions
	`"etag":"[^"]*"`, `sha256:[0-9a-f]+`,
	`\b(revision|synced at|generation|STATE|ACTIVITY) \d+\b`, `\b\d+ bytes\b`, `\(\+\d+ -\d+ lines\)`, `"bytes":\d+`, `\bmade [A-Za-z0-9_-]{7}\b`, `\b[a-zA-Z0-9_-]{7}  +`,
}, "|"))

func form(text string) string {
	return strings.Join(strings.Fields(volatile.ReplaceAllString(text, "###")), " ")
}

// sameOutput compares what a guide shows with what was printed.
func sameOutput(shown, printed string) bool {
	want := strings.ReplaceAll(regexp.QuoteMeta(form(shown)), "…", `.*`)
	return regexp.MustCompile(`(?s)^` + want + `$`).MatchString(form(printed))
}

// withOutput returns a guide with new output: what is still right stays as it is.
func withOutput(all []guideLine, steps []step, printed []string) string {
	var out strings.Builder
	for i, line := range all {
		out.WriteString(line.text + "\n")
		if line.step < 0 || i+1 < len(all) && all[i+1].step == line.step {
			continue
		}
		if sameOutput(steps[line.step].shown, printed[line.step]) {
			out.WriteString(steps[line.step].shown)
		} else {
			out.WriteString(printed[line.step])
		}
	}
	return out.String()
}
