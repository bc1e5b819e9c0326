package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// conflictList is the files of a workspace that are in conflict.
type conflictList struct {
	Files []conflictFile `json:"files"`
}

type conflictFile struct {
	Path   string   `json:"path"`
	Kind   string   `json:"kind"`
	Keys   []string `json:"keys"`
	Merged string   `json:"merged"`
}

func conflictsCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "conflicts", Short: "Look at the conflicts of a pull, and resolve them", Args: knownCommand, SuggestionsMinimumDistance: 2,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(listConflictsCommand(w), resolveConflictsCommand(w))
	return c
}

func listConflictsCommand(w environment) *cobra.Command {
	r := &remote{environment: w}
	return r.command(&cobra.Command{
		Use: "list WORKSPACE", Short: "List the files in conflict, with both sides",
		Long: "List the files in conflict: what kind of conflict it is, which parts of the document, and the text with both sides marked.",
		Args: requireArguments(theWorkspace),
	}, func(ctx context.Context, _ []string) error {
		var found conflictList
		got, err := r.Call(ctx, http.MethodGet, r.path("/conflicts"), nil, &found)
		if err != nil {
			return err
		}
		return r.printResult(got.Body, func() string {
			if len(found.Files) == 0 {
				return "there are no conflicts\n"
			}
			var text strings.Builder
			for _, file := range found.Files {
				text.WriteString(strings.TrimRight(clean(fmt.Sprintf("%s (%s) %s", file.Path, file.Kind, strings.Join(file.Keys, ", "))), " ") + "\n")
				for line := range strings.Lines(file.Merged) {
					text.WriteString("    " + clean(strings.TrimRight(line, "\r\n")) + "\n")
				}
			}
			return text.String()
		})
	})
}

func resolveConflictsCommand(w environment) *cobra.Command {
	r := &remote{environment: w}
	var ours, theirs []string
	c := r.command(&cobra.Command{
		Use: "resolve WORKSPACE", Short: "Resolve all conflicts: decide for each file which side counts",
		Long: "Resolve the conflicts of a workspace. Each file takes what the workspace has (--ours) or what the repository has (--theirs); `*` stands for all\nfiles that are not named. To write a file anew, use the console or the API.",
		Args: requireArguments(theWorkspace),
	}, func(ctx context.Context, _ []string) error {
		var found conflictList
		if err := r.Get(ctx, r.path("/conflicts"), &found); err != nil {
			return err
		}
		files, err := decide(found, ours, theirs)
		if err != nil {
			return err
		}
		op, err := r.start(ctx, r.path("/conflicts/resolve?timeout=0"), map[string]any{"files": files})
		if err != nil {
			return err
		}
		return r.printPullResult(op.Result)
	})
	c.Flags().StringSliceVar(&ours, "ours", nil, "files that stay as the workspace has them, by path; '*' for all others")
	c.Flags().StringSliceVar(&theirs, "theirs", nil, "files that become what the repository has, by path; '*' for all others")
	return c
}

// decide returns the side of each file in conflict.
func decide(found conflictList, ours, theirs []string) (map[string]any, error) {
	if len(found.Files) == 0 {
		return nil, errors.New("there are no conflicts")
	}
	files := map[string]any{}
	for _, file := range found.Files {
		side := ""
		switch {
		case slices.Contains(ours, file.Path) && slices.Contains(theirs, file.Path):
			return nil, fmt.Errorf("%w: %s is named twice", errUsage, file.Path)
		case slices.Contains(ours, file.Path):
			side = "ours"
		case slices.Contains(theirs, file.Path):
			side = "theirs"
		case slices.Contains(ours, "*"):
			side = "ours"
		case slices.Contains(theirs, "*"):
			side = "theirs"
		default:
			return nil, fmt.Errorf("%w: say with --ours or --theirs which side of %s counts", errUsage, file.Path)
		}
		files[file.Path] = map[string]any{"use": side}
	}
	for _, path := range slices.Concat(ours, theirs) {
		if files[path] == nil && path != "*" {
			return nil, fmt.Errorf("%w: %s is not in conflict", errUsage, path)
		}
	}
	return files, nil
}
