package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the reference of the commands anew")

// commandList returns the commands that can be given, in the order of their names.
func commandList(c *cobra.Command) (all []*cobra.Command) {
	if !c.HasSubCommands() && c.Runnable() && c.Name() != "help" && c.Name() != "completion" {
		all = append(all, c)
	}
	for _, one := range c.Commands() {
		if one.Name() != "completion" {
			all = append(all, commandList(one)...)
		}
	}
	return all
}

// usageOf is how a command is given.
func usageOf(c *cobra.Command) string {
	return strings.TrimSuffix(c.CommandPath(), c.Name()) + c.Use
}

// flagsOf calls visit for the flags of a command, without the one that all have.
func flagsOf(c *cobra.Command, visit func(names, usage string)) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "profile" {
			return
		}
		names := "--" + f.Name
		if f.Shorthand != "" {
			names = "-" + f.Shorthand + ", " + names
		}
		if value, _ := pflag.UnquoteUsage(f); value != "" && f.NoOptDefVal == "" {
			names += " " + strings.ToUpper(value)
		}
		_, usage := pflag.UnquoteUsage(f)
		visit(names, usage)
	})
}

// markdown is the reference in docs/cli.md.
func markdown(all []*cobra.Command) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "### %s\n\n`%s`\n\n%s\n\n", c.CommandPath(), usageOf(c), description(c))
		found := false
		flagsOf(c, func(names, usage string) {
			found = true
			fmt.Fprintf(&b, "- `%s`: %s\n", names, usage)
		})
		if found {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// description is what a command does, in whole sentences.
func description(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

// manual is the page of the manual, in the macros of man.
func manual(all []*cobra.Command) string {
	text := strings.NewReplacer(`\`, `\e`, "-", `\-`)
	line := func(s string) string {
		if s = text.Replace(s); strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
			return `\&` + s
		}
		return s
	}
	var b strings.Builder
	b.WriteString(".TH SVC 1 \"\" svc \"User Commands\"\n.SH NAME\nsvc \\- a workspace platform on a durable event log\n.SH SYNOPSIS\n.B svc\n.I command\n[\n.I arguments\n]\n.SH COMMANDS\n")
	for _, c := range all {
		b.WriteString(".SS " + line(usageOf(c)) + "\n")
		for part := range strings.Lines(description(c)) {
			if part = strings.TrimSpace(part); part == "" {
				b.WriteString(".PP\n")
			} else {
				b.WriteString(line(part) + "\n")
			}
		}
		flagsOf(c, func(names, usage string) { b.WriteString(".TP\n.B " + line(names) + "\n" + line(usage) + "\n") })
	}
	b.WriteString(".SH ENVIRONMENT\n.TP\n.B SVC_URL, SVC_TOKEN\nthe service and the access token to use instead of those of the profile\n.TP\n.B SVC_PROFILE\nthe profile to use\n.TP\n.B NO_COLOR\nno colours\n" +
		".SH EXIT STATUS\n0 for success, 1 when it was refused or failed, 2 when the command line or a variable is wrong\n")
	return b.String()
}

const (
	beginReference = "<!-- The rest is generated: go test ./cmd/svc -run TestReference -update -->\n\n"
	manualPath     = "../../docs/man/svc.1"
)

// The reference and the manual say what the commands say of themselves.
func TestReferenceIsUpToDate(t *testing.T) {
	all := commandList(newRoot(environment{out: io.Discard, log: io.Discard}))
	path := filepath.Join("..", "..", "docs", "cli.md")
	head, _, found := strings.Cut(readFile(t, path), beginReference)
	require.True(t, found, "docs/cli.md has no generated part")
	wanted := map[string]string{path: head + beginReference + strings.TrimSuffix(markdown(all), "\n"), manualPath: manual(all)}
	for file, text := range wanted {
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		}
		require.Equal(t, text, readFile(t, file), "run: go test ./cmd/svc -run TestReference -update")
	}
}
