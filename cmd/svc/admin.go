package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"svc/cmd/node"
	"svc/cmd/process"
	"svc/cmd/settings"
	"svc/commands/accounts"
)

func adminCommand(w environment) *cobra.Command {
	c := &cobra.Command{
		Use: "admin", Short: "Look after the super admins",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(claimCommand(w))
	return c
}

// claimed is the answer of `svc admin claim --json`.
type claimed struct {
	ID       string `json:"id"`
	Email    string `json:"email"`
	Password string `json:"password,omitempty"`
	Super    bool   `json:"super"`
}

func claimCommand(w environment) *cobra.Command {
	var asJSON, newPassword bool
	c := &cobra.Command{
		Use: "claim EMAIL", Short: "Prove, by having this host, that an address is yours",
		Long: "Prove, by having this host, that a mail address is yours. Its account is valid from then on, and a super admin's\n" +
			"when SUPER_ADMIN_EMAILS names it. An account that does not exist is made, with a password that is shown once.\n" +
			"A running service is asked to do it; else the data directory is opened here.",
		Args: requireArguments("one mail address"),
		RunE: func(c *cobra.Command, args []string) error {
			got, err := claim(c.Context(), w, args[0], newPassword)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(w, got)
			}
			return printClaimed(w, got)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&newPassword, "new-password", false, "set a new password and end its sessions")
	return c
}

func printClaimed(w environment, got claimed) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s is yours (user %s)\n", got.Email, got.ID)
	if got.Password != "" {
		fmt.Fprintf(&b, "password: %s   (shown once)\n", got.Password)
	}
	if !got.Super {
		fmt.Fprintln(&b, "SUPER_ADMIN_EMAILS does not name it: it is the account of an ordinary user")
	}
	_, err := w.out.Write(b.Bytes())
	return err
}

// claim does it in the data directory, or asks the service that holds it.
func claim(ctx context.Context, w environment, email string, newPassword bool) (got claimed, err error) {
	loaded, err := settings.Load(w.source)
	if err != nil {
		return got, err
	}
	log := process.NewLog(w.log, loaded.Config.Obs.LogFormat, loaded.Config.Obs.LogLevel)
	made, super, err := node.Claim(ctx, loaded, log, email, newPassword)
	if errors.Is(err, process.ErrDirInUse) {
		body, err := json.Marshal(map[string]any{"email": email, "newPassword": newPassword})
		if err != nil {
			return got, err
		}
		return got, askService(ctx, loaded, "/sys/admins/claim", bytes.NewReader(body), &got)
	}
	return toClaimed(made, super), err
}

func toClaimed(made accounts.NewAccount, super bool) claimed {
	return claimed{ID: made.ID, Email: made.Email, Password: made.Password, Super: super}
}
