package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"svc/commands/archive"
	"svc/commands/versioning"
)

func pushCommand(w environment) *cobra.Command {
	var repository, name, description string
	r := &remote{environment: w}
	c := r.command(&cobra.Command{
		Use: "push WORKSPACE", Short: "Save a workspace as a version, to a repository or on the platform",
		Long: "Save a workspace as a version: to the repository that is named, else on the platform itself. What the remote has and\nthe workspace has not is never overwritten: pull first.",
		Args: requireArguments(theWorkspace),
	}, func(ctx context.Context, _ []string) error {
		op, err := r.start(ctx, r.path("/versions?timeout=0"), nonEmpty("repository", repository, "name", name, "description", description))
		if err != nil {
			return err
		}
		return r.printPushResult(op.Result)
	})
	c.Flags().StringVar(&repository, "repository", "", "id of the repository (default: the platform keeps it)")
	c.Flags().StringVar(&name, "name", "", "name of the version (default: one is made of the time)")
	c.Flags().StringVar(&description, "description", "", "what is new; in Git, the message of the commit")
	return c
}

// printPushResult tells of a version that was pushed.
func (r *remote) printPushResult(result json.RawMessage) error {
	var v versioning.VersionResponse
	if err := decode(result, &v); err != nil {
		return err
	}
	return r.printResult(result, func() string {
		text := fmt.Sprintf("%s is saved on the platform, at revision %d", v.Name, v.ContentRevision)
		if v.Repository != nil {
			text = fmt.Sprintf("%s is pushed to %s", v.Name, v.Repository.ID)
		}
		if v.Commit != "" {
			text += ": commit " + short(v.Commit)
		}
		if v.Changes != nil {
			sum := v.Changes.Summary
			text += fmt.Sprintf(", %s changed (+%d -%d lines)", count(sum.Changes, "file"), sum.Insertions, sum.Deletions)
		}
		return items("warning", v.Warnings) + clean(text) + "\n"
	})
}

// short is how a commit is called among people.
func short(commit string) string { return commit[:min(len(commit), 12)] }

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// items tells what there is to say about files, a line each.
func items(kind string, all []archive.Item) string {
	var b strings.Builder
	for _, item := range all {
		b.WriteString(kind + ": " + itemText(item) + "\n")
	}
	return b.String()
}

func itemText(item archive.Item) string {
	where := item.Filepath
	if item.Line > 0 {
		where += fmt.Sprintf(":%d", item.Line)
	}
	if where != "" {
		where += ": "
	}
	return clean(where + item.Msg)
}

func versionsCommand(w environment) *cobra.Command {
	r := &remote{environment: w}
	return r.command(&cobra.Command{
		Use: "versions WORKSPACE", Short: "List the versions of a workspace, newest first",
		Args: requireArguments(theWorkspace),
	}, func(ctx context.Context, _ []string) error {
		var all []versioning.VersionResponse
		got, err := r.Call(ctx, http.MethodGet, r.path("/versions"), nil, &all)
		if err != nil {
			return err
		}
		return r.printResult(got.Body, func() string {
			if len(all) == 0 {
				return "there are no versions yet\n"
			}
			rows := [][]string{{"VERSION", "CREATED", "REPOSITORY", "COMMIT", "DESCRIPTION"}}
			for _, v := range all {
				repository := "-"
				if v.Repository != nil {
					repository = v.Repository.ID
				}
				rows = append(rows, []string{v.Name, v.CreatedAt, repository, short(v.Commit), v.Description.First()})
			}
			return table(rows...)
		})
	})
}
