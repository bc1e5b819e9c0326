package main

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"svc/commands/versioning"
)

func versionsCommand(w world) *cobra.Command {
	r := &remote{world: w}
	return r.command(&cobra.Command{
		Use: "versions WORKSPACE", Short: "List the versions of a workspace, newest first",
		Args: takes(theWorkspace),
	}, func(ctx context.Context, _ []string) error {
		var all []versioning.ShownVersion
		got, err := r.Call(ctx, http.MethodGet, r.path("/versions"), nil, &all)
		if err != nil {
			return err
		}
		return r.answer(got.Body, func() string {
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
