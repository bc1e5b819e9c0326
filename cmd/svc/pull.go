package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"svc/commands/versioning"
)

func pullCommand(w environment) *cobra.Command {
	var repository, version string
	var discard, strict, dry bool
	r := &remote{environment: w}
	c := r.command(&cobra.Command{
		Use: "pull WORKSPACE", Short: "Bring what a repository or a version has",
		Long: "Bring what a repository has, and merge it with what was changed here; a conflict changes nothing and locks the\nworkspace until it is decided. Exit status 1 when something was not brought; with --dry-run, when something would not be.",
		Args: requireArguments(theWorkspace),
	}, func(ctx context.Context, _ []string) error {
		body := nonEmpty("repository", repository, "version", version)
		if discard {
			body["discardLocalChanges"] = true
		}
		if strict {
			body["strict"] = true
		}
		if dry {
			got, err := r.Call(ctx, http.MethodPost, r.path("/pull?dryRun=true"), body, nil)
			if err != nil {
				return err
			}
			return r.printPullPlan(got.Body)
		}
		op, err := r.start(ctx, r.path("/pull?timeout=0"), body)
		if err != nil {
			return err
		}
		return r.printPullResult(op.Result)
	})
	c.Flags().StringVar(&repository, "repository", "", "id of the repository (default: the versions that the platform keeps)")
	c.Flags().StringVar(&version, "version", "", "name of a version, a tag or a commit (default: the latest)")
	c.Flags().BoolVar(&discard, "discard", false, "give up what was changed here")
	c.Flags().BoolVar(&strict, "strict", false, "bring nothing when one file is faulty")
	c.Flags().BoolVar(&dry, "dry-run", false, "only tell what would be done")
	return c
}

// printPullResult tells what was brought. Only a result without errors is a success.
func (r *remote) printPullResult(result json.RawMessage) error {
	var done versioning.PullResult
	if err := decode(result, &done); err != nil {
		return err
	}
	err := r.printResult(result, func() string {
		return withSign("+", done.Imported) + withSign("-", done.Deleted) + items("warning", done.Warnings) + items("error", done.Errors) +
			fmt.Sprintf("%d imported, %d deleted; the content is at revision %d\n", len(done.Imported), len(done.Deleted), done.ContentRevision)
	})
	if err == nil && len(done.Errors) > 0 {
		err = fmt.Errorf("%s could not be imported: here nothing changed for them", count(len(done.Errors), "file"))
	}
	return err
}

// printPullPlan tells what a pull would do.
func (r *remote) printPullPlan(result json.RawMessage) error {
	var plan versioning.Plan
	if err := decode(result, &plan); err != nil {
		return err
	}
	err := r.printResult(result, func() string {
		var conflicts strings.Builder
		for _, c := range plan.Conflicts {
			conflicts.WriteString(strings.TrimRight(clean(fmt.Sprintf("conflict: %s (%s) %s", c.Path, c.Kind, strings.Join(c.Keys, ", "))), " ") + "\n")
		}
		return withSign("+", plan.WouldImport) + withSign("-", plan.WouldDelete) + items("warning", plan.Warnings) + items("error", plan.Errors) +
			conflicts.String() + fmt.Sprintf("would import %d and delete %d (%s); nothing was changed\n", len(plan.WouldImport), len(plan.WouldDelete), plan.Path)
	})
	switch {
	case err != nil:
		return err
	case len(plan.Conflicts) > 0:
		return errors.New("the pull would end in a conflict")
	case len(plan.Errors) > 0:
		return fmt.Errorf("%s could not be imported", count(len(plan.Errors), "file"))
	}
	return nil
}

// withSign lists paths, a line each.
func withSign(sign string, paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		b.WriteString("  " + sign + " " + clean(path) + "\n")
	}
	return b.String()
}
