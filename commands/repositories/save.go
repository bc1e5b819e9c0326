package repositories

import (
	"bytes"
	"context"
	"errors"
	"maps"

	"svc/commands"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// field is the setting of a workspace that its repositories are.
const field = "repositories"

// errMoved says that others changed the repositories meanwhile.
var errMoved error = domain.Refuse(domain.CodeConflict, "the repositories are being changed by others, try again").Reason("stale")

// attempts is how often a change is prepared anew because of others.
const attempts = 10

// Update is commands.Workspaces.Update for a patch that has repositories, whose
// shape was checked. Credentials in clear are sealed and stand in what is stored
// as the mask; a mask keeps what was sealed before.
func (r *Repositories) Update(ctx context.Context, id string, patch *document.Map, ifMatch string) (commands.Workspace, error) {
	for attempt := 1; ; attempt++ {
		now, err := r.Workspaces.Get(ctx, id)
		if err != nil {
			return commands.Workspace{}, err
		}
		change := workspace.Update{Patch: patch}
		if now.State.ID != "" && now.State.Deleted == nil { // else the decision has the word, and no key is made
			if change, err = r.prepare(ctx, now.State, patch); err != nil {
				return commands.Workspace{}, err
			}
		}
		unmoved := func(s workspace.State) error {
			if !document.Equal(s.Settings.Repositories, now.State.Settings.Repositories) ||
				!maps.EqualFunc(s.Settings.Credentials, now.State.Settings.Credentials, bytes.Equal) {
				return errMoved
			}
			return nil
		}
		done, err := r.Workspaces.UpdateWith(ctx, id, change, ifMatch, unmoved)
		if !errors.Is(err, errMoved) || attempt == attempts {
			return done, err
		}
	}
}

// Check refuses what Update would, and changes nothing. A patch without
// repositories is fine.
func (r *Repositories) Check(ctx context.Context, id string, patch *document.Map) error {
	if _, given := patch.Get(field); !given {
		return nil
	}
	now, err := r.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	_, err = r.drafts(now.State.Settings, patch)
	return err
}

// drafts returns the repositories of a patch as they would be stored, but for
// their credentials.
func (r *Repositories) drafts(now workspace.Settings, patch *document.Map) (all []draft, err error) {
	var faults []shape.Fault
	allowHTTP := r.Git().AllowHTTP
	for id := range patch.Object(field).All() {
		d := drafted(id, patch.Object(field).Object(id))
		faults = append(append(faults, d.faults(allowHTTP)...), d.keeps(now)...)
		all = append(all, d)
	}
	return all, shape.Refusal(faults)
}

// prepare makes the command of a patch: no credential is in it in clear.
func (r *Repositories) prepare(ctx context.Context, state workspace.State, patch *document.Map) (workspace.Update, error) {
	drafts, err := r.drafts(state.Settings, patch)
	if err != nil {
		return workspace.Update{}, err
	}
	repositories, sealed := document.MapOf(), map[string][]byte{}
	for _, d := range drafts {
		if err := r.seal(ctx, state, d, sealed); err != nil {
			return workspace.Update{}, err
		}
		repositories.Set(d.id, d.doc)
	}
	if len(sealed) == 0 {
		sealed = nil
	}
	patch = patch.Copy()
	patch.Set(field, repositories)
	return workspace.Update{Patch: patch, Credentials: sealed}, nil
}

// maxCredential is how long a credential may be, in bytes.
const maxCredential = 16 << 10

// seal moves the credentials of a draft to sealed, and leaves the mask.
func (r *Repositories) seal(ctx context.Context, state workspace.State, d draft, sealed map[string][]byte) error {
	auth := d.doc.Object("config").Object("auth")
	for _, name := range authFields {
		text := auth.Text(name)
		if text == "" || workspace.IsSecretReference(text) || !d.secret(name) {
			continue
		}
		if len(text) > maxCredential {
			return domain.Invalid(domain.FieldError{Field: authField(d.id, name), Message: "has at most 16384 bytes"})
		}
		kept, err := r.sealed(ctx, state, d.id, name, text)
		if err != nil {
			return err
		}
		sealed[place(d.id, name)] = kept
		auth.Set(name, workspace.Mask)
	}
	return nil
}

// sealed returns a credential sealed. One that is sealed already is not sealed
// anew: that it was sent again is no change.
func (r *Repositories) sealed(ctx context.Context, state workspace.State, id, name, text string) ([]byte, error) {
	before, kept := state.Settings.Credentials[place(id, name)]
	if kept && text == workspace.Mask {
		return before, nil
	}
	if kept {
		if plain, err := r.Vault.Open(ctx, state.ID, before, purpose(id, name)); err == nil && string(plain) == text {
			return before, nil
		}
	}
	return r.Vault.Seal(ctx, state.ID, []byte(text), purpose(id, name))
}
