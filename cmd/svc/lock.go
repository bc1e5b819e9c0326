package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"svc/projections"
)

func lockCommand(w environment) *cobra.Command {
	r, reason := &remote{environment: w}, ""
	c := r.command(&cobra.Command{
		Use: "lock WORKSPACE", Short: "Lock a workspace for writing",
		Long: "Lock a workspace: nobody changes its content, pushes or pulls until it is unlocked, or the lock runs out.\nWho locks it again renews the lock.",
		Args: requireArguments(theWorkspace),
	}, func(ctx context.Context, _ []string) error {
		var locked struct {
			WriteLock projections.WriteLock `json:"writeLock"`
		}
		got, err := r.Call(ctx, http.MethodPost, r.path("/writeLock"), nonEmpty("reason", reason), &locked)
		if err != nil {
			return err
		}
		return r.printResult(got.Body, func() string {
			return clean("locked by "+r.lockText(ctx, locked.WriteLock)) + "\n"
		})
	})
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever comes across the lock (default \"manual\")")
	return c
}

func unlockCommand(w environment) *cobra.Command {
	r := &remote{environment: w}
	return r.command(&cobra.Command{
		Use: "unlock WORKSPACE", Short: "Clear the write lock of a workspace",
		Long: "Clear whatever lock a workspace has. An operation that holds it loses it and changes nothing more; a merge conflict\nis given up, and the content stays as it is here.",
		Args: requireArguments(theWorkspace),
	}, func(ctx context.Context, _ []string) error {
		var unlocked struct {
			ID string `json:"id"`
		}
		got, err := r.Call(ctx, http.MethodDelete, r.path("/writeLock"), nil, &unlocked)
		if err != nil {
			return err
		}
		return r.printResult(got.Body, func() string { return fmt.Sprintf("workspace %s is unlocked\n", unlocked.ID) })
	})
}

// nonEmpty is a body of the values that were given: name, value, name, value.
func nonEmpty(namesAndValues ...string) map[string]any {
	body := map[string]any{}
	for i := 0; i < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] != "" {
			body[namesAndValues[i]] = namesAndValues[i+1]
		}
	}
	return body
}
