package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/domain"
)

func logoutCommand(w world) *cobra.Command {
	r, revoke := &remote{world: w}, false
	c := &cobra.Command{
		Use: "logout", Short: "Forget a profile and its token",
		Long: "Forget a profile and its token. With --revoke the token is ended at the service too, which takes the password:\na token may not end tokens.",
		RunE: func(c *cobra.Command, _ []string) error {
			return r.explain(c.Context(), r.forget(c.Context(), revoke))
		},
	}
	r.flags(c)
	c.Flags().BoolVar(&revoke, "revoke", false, "end the access token at the service, too")
	return c
}

// forget removes the profile from the file.
func (r *remote) forget(ctx context.Context, revoke bool) error {
	p, err := r.stored()
	if err != nil {
		return err
	}
	if revoke {
		if err := r.revoke(ctx, p); err != nil {
			return err
		}
	}
	path, err := r.profilesPath()
	if err != nil {
		return err
	}
	all, err := client.ReadProfiles(path)
	if err != nil {
		return err
	}
	delete(all, r.profileName())
	if err := all.Write(path); err != nil {
		return err
	}
	return r.forgotten(p, revoke)
}

// revoke ends the token of a profile in a session.
func (r *remote) revoke(ctx context.Context, p client.Profile) (err error) {
	if p.TokenID == "" {
		return errors.New("the token of this profile was not made by `svc login`: revoke it where it was made")
	}
	r.Client = &client.Client{URL: p.URL}
	session, err := r.signIn(ctx, p.Email)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.SignOut(ctx)) }()
	return session.RevokeToken(ctx, p.TokenID)
}

func (r *remote) forgotten(p client.Profile, revoked bool) error {
	if r.asJSON {
		return writeJSON(r.world, map[string]any{"name": r.profileName(), "revoked": revoked})
	}
	text := "its token is revoked"
	if !revoked {
		text = "its token is valid until " + domain.FormatTime(p.ExpiresAt) + ", unless somebody revokes it"
	}
	_, err := fmt.Fprintf(r.out, "profile %s is forgotten; %s\n", r.profileName(), text)
	return err
}
