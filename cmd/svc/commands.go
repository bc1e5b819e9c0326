package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/settings"
)

// errUsage marks a command line that is not understood.
var errUsage = errors.New("usage")

// newRoot is the table of subcommands. Shell completion comes with cobra.
func newRoot(w environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "svc",
		Short: "A workspace platform on a durable event log",
		Long: "svc runs workspaces: automations, pages, apps, roles, secrets and files, on a durable event log.\n" +
			"`svc serve` starts the service; settings come from the environment, see `svc config`.",
		Version: version, SilenceUsage: true, SilenceErrors: true,
		Args: knownCommand, SuggestionsMinimumDistance: 2,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(w.out)
	root.SetErr(w.log)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w; see `%s --help`", errUsage, err, c.CommandPath())
	})
	root.AddCommand(
		serveCommand(w),
		configCommand(w),
		rebuildCommand(w),
		verifyCommand(w),
		adminCommand(w),
		healthcheckCommand(w),
		versionCommand(w),
		loginCommand(w),
		logoutCommand(w),
		pushCommand(w),
		pullCommand(w),
		statusCommand(w),
		versionsCommand(w),
		lockCommand(w),
		unlockCommand(w),
		followCommand(w),
		cancelCommand(w),
		bulkCommand(w),
		eventsCommand(w),
		conflictsCommand(w),
		applyCommand(w),
		validateCommand(w),
		testCommand(w),
		devCommand(w),
		initCommand(w),
		diffCommand(w),
		logsCommand(w),
		openCommand(w),
		lspCommand(w),
		natsCommand(w),
	)
	root.AddCommand(resourceCommands(w)...)
	for _, c := range root.Commands() {
		if c.Args == nil {
			c.Args = noArguments
		}
	}
	return root
}

// knownCommand refuses a word that is no subcommand, and names those it may
// have meant.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see `" + c.CommandPath() + " --help`"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("%w: there is no command %q; %s", errUsage, args[0], hint)
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: %s takes no arguments, got %q", errUsage, c.CommandPath(), args)
	}
	return nil
}

func versionCommand(w environment) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return writeJSON(w, map[string]string{"version": version, "commit": commit, "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(w.out, "svc %s %s %s\n", version, commit, runtime.Version())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func writeJSON(w environment, v any) error {
	enc := json.NewEncoder(w.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func configCommand(w environment) *cobra.Command {
	var asJSON, docs, changed, check bool
	c := &cobra.Command{
		Use: "config", Short: "Print the effective settings, secrets masked",
		RunE: func(*cobra.Command, []string) error {
			if docs && (check || asJSON || changed) || check && (asJSON || changed) {
				return fmt.Errorf("%w: --docs and --check stand alone", errUsage)
			}
			if docs {
				_, err := fmt.Fprint(w.out, settings.Docs())
				return err
			}
			loaded, err := settings.Load(w.source)
			if err != nil {
				return err
			}
			warn(w, loaded.Warnings)
			if check {
				return nil
			}
			return printConfig(w, loaded, asJSON, changed)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&docs, "docs", false, "print the documentation of all settings")
	c.Flags().BoolVar(&changed, "changed", false, "only what differs from its default")
	c.Flags().BoolVar(&check, "check", false, "only validate: exit status 0 or 2")
	return c
}

func printConfig(w environment, loaded *settings.Loaded, asJSON, changed bool) error {
	entries := loaded.Entries()
	if changed {
		entries = loaded.Changed()
	}
	if asJSON {
		return loaded.WriteJSON(w.out, entries)
	}
	return settings.WriteText(w.out, entries)
}

func warn(w environment, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintln(w.log, "svc: warning:", text)
	}
}
