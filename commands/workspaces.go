package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/slug"
	"svc/domain/workspace"
)

// Workspaces changes workspaces. Only Engine is required.
type Workspaces struct {
	Engine *Engine
	Clock  func() time.Time // of the log; default time.Now
	// LockTimeout is after which time a lock expires, DeletionDelay until when a
	// deleted workspace can come back; defaults 30 minutes and 30 days.
	LockTimeout   func() time.Duration
	DeletionDelay func() time.Duration
}

// Now is the time on the log's clock.
func (w Workspaces) Now() time.Time {
	if w.Clock == nil {
		return time.Now()
	}
	return w.Clock()
}

// LockFor is after which time a lock that is taken now expires.
func (w Workspaces) LockFor() time.Duration {
	if w.LockTimeout == nil {
		return 30 * time.Minute
	}
	return w.LockTimeout()
}

func (w Workspaces) deletionDelay() time.Duration {
	if w.DeletionDelay == nil {
		return 30 * 24 * time.Hour
	}
	return w.DeletionDelay()
}

// Workspace is a workspace after a command.
type Workspace = Execution[workspace.State]

// generated is how often a generated slug is tried: two words and a number are
// seldom taken.
const generated = 20

// Create makes a workspace under a new id. Whoever asks owns it. Without a slug
// it gets one.
func (w Workspaces) Create(ctx context.Context, settings workspace.Settings) (Workspace, error) {
	return w.Make(ctx, workspace.Create{Settings: settings})
}

// Make is Create with content. An id that is given must never have been used.
func (w Workspaces) Make(ctx context.Context, create workspace.Create) (Workspace, error) {
	if create.ID == "" {
		create.ID = NewID(ctx, 7)
	}
	if userID := RequestFrom(ctx).Meta.UserID; userID != "" && create.Owners == nil {
		create.Owners = []string{userID}
	}
	if create.Settings.Slug != "" {
		if err := checkSlug(create.Settings.Slug); err != nil {
			return Workspace{}, err
		}
		return w.Execute(ctx, create.ID, create)
	}
	for attempt := 1; ; attempt++ {
		create.Settings.Slug = slug.Generate(randomFor(ctx))
		made, err := w.Execute(ctx, create.ID, create)
		if domain.CodeOf(err) != domain.CodeAlreadyExists || attempt == generated {
			return made, err
		}
		// The slug is taken; or the workspace exists because the request is a repeated
		// one, and made it with a later slug: that attempt will know its own events.
	}
}

// slugName is the kind of name that slugs of workspaces are, domainName that of
// their hosts.
const (
	slugName   = "slug"
	domainName = "customDomains"
)

// SlugOwner returns the id of the workspace that has a slug, or "".
func (w Workspaces) SlugOwner(ctx context.Context, slug string) (string, error) {
	holder, err := NameOwner(ctx, w.Engine, Name{slugName, slug})
	return holder[strings.LastIndex(holder, "/")+1:], err
}

func checkSlug(s string) error {
	if wrong := slug.CheckWorkspace(s); wrong != "" {
		return domain.Invalid(domain.FieldError{Field: "slug", Message: wrong})
	}
	return nil
}

// namesOf lists the unique names of a workspace.
func namesOf(s workspace.State) (names []Name) {
	if s.Deleted != nil {
		return nil
	}
	if s.Settings.Slug != "" {
		names = append(names, Name{slugName, s.Settings.Slug})
	}
	for _, host := range s.Settings.CustomDomains {
		names = append(names, Name{domainName, host})
	}
	return names
}

// Update changes settings of a workspace: what patch names, null removes.
// ifMatch, when not empty, is the ETag the caller saw.
func (w Workspaces) Update(ctx context.Context, id string, patch *document.Map, ifMatch string) (Workspace, error) {
	return w.UpdateWith(ctx, id, workspace.Update{Patch: patch}, ifMatch)
}

// UpdateWith is Update with credentials of repositories, which belong to a state
// that the preconditions know.
func (w Workspaces) UpdateWith(ctx context.Context, id string, change workspace.Update, ifMatch string, pre ...Precondition[workspace.State]) (Workspace, error) {
	if err := checkRenaming(id, change.Patch); err != nil {
		return Workspace{}, err
	}
	pre = append(pre, Matches(ifMatch, settingsRevision))
	if isOutsideLock(change.Patch) {
		return w.Execute(ctx, id, change, pre...) // so that a password can be mended while a conflict waits
	}
	return w.Write(ctx, id, change, pre...)
}

// checkRenaming refuses a slug that a workspace cannot have.
func checkRenaming(id string, patch *document.Map) error {
	s, ok := patch.Get("slug")
	if !ok {
		return nil
	}
	text, _ := s.(string)
	if id == domain.Platform && text != domain.Platform {
		return domain.Refuse(domain.CodeConflict, "the platform workspace keeps its slug").Reason("protected")
	}
	if id == domain.Platform {
		return nil
	}
	return checkSlug(text)
}

// TryCreate returns what Create would be refused for, and records nothing.
func (w Workspaces) TryCreate(ctx context.Context, settings workspace.Settings) error {
	const id = "-" // neither an id nor a slug
	if settings.Slug == "" {
		settings.Slug = id // it gets one that is free
	} else if err := checkSlug(settings.Slug); err != nil {
		return err
	}
	return w.try(ctx, workspace.State{}, workspace.Stream(id), workspace.Create{ID: id, Settings: settings})
}

// TryUpdate returns what Update of a workspace would be refused for, and records nothing.
func (w Workspaces) TryUpdate(ctx context.Context, now workspace.State, patch *document.Map) error {
	if err := checkRenaming(now.ID, patch); err != nil {
		return err
	}
	return w.try(ctx, now, workspace.Stream(now.ID), workspace.Update{Patch: patch})
}

// try returns the refusal of a command, that of names which others have included.
func (w Workspaces) try(ctx context.Context, before workspace.State, id domain.StreamID, cmd workspace.Command) error {
	events, err := workspace.Decider.Decide(before, cmd)
	if err != nil {
		return err
	}
	unrecorded := func(domain.StreamID, int) string { return "" }
	_, err = naming(ctx, w.Engine, id, unrecorded, namesOf(before), namesOf(workspace.Decider.Fold(before, events...)))
	return err
}

// isOutsideLock reports whether a patch changes only settings that the write lock does not cover:
// repositories and domains are no content.
func isOutsideLock(patch *document.Map) bool {
	for key := range patch.All() {
		if key != "repositories" && key != domainName {
			return false
		}
	}
	return patch.Len() > 0
}

func settingsRevision(s workspace.State) uint64 { return s.Revision }

// PutBlock sets, changes or removes a block of a workspace.
func (w Workspaces) PutBlock(ctx context.Context, id string, put workspace.PutBlock, ifMatch string) (Workspace, error) {
	return w.Write(ctx, id, put, Matches(ifMatch, settingsRevision))
}

// Secure replaces the security document of a workspace; source is how it was
// written. ifMatch, when not empty, is the ETag the caller saw.
func (w Workspaces) Secure(ctx context.Context, id string, security access.Security, source *document.Map, ifMatch string) (Workspace, error) {
	return w.Write(ctx, id, workspace.Secure{Security: security, Source: source},
		Matches(ifMatch, func(s workspace.State) uint64 { return s.SecurityRevision }))
}

// Share shares a workspace with a target.
func (w Workspaces) Share(ctx context.Context, id string, entry access.Share) (Workspace, error) {
	return w.Execute(ctx, id, workspace.Share{Entry: entry})
}

// Unshare stops sharing a workspace with a target, named as paths name it.
func (w Workspaces) Unshare(ctx context.Context, id, target string) (Workspace, error) {
	return w.Execute(ctx, id, workspace.Unshare{Target: target})
}

// Delete deletes a workspace. Until the delay is over it can be brought back.
func (w Workspaces) Delete(ctx context.Context, id, ifMatch string) (Workspace, error) {
	return w.Write(ctx, id, workspace.Delete{Now: w.Now(), RestorableFor: w.deletionDelay()}, Matches(ifMatch, settingsRevision))
}

// Undelete brings a workspace back, under another slug when one is given.
func (w Workspaces) Undelete(ctx context.Context, id, slug string) (Workspace, error) {
	if slug != "" {
		if err := checkSlug(slug); err != nil {
			return Workspace{}, err
		}
	}
	return w.Execute(ctx, id, workspace.Undelete{Slug: slug, Now: w.Now()})
}

// Lock locks a workspace by hand.
func (w Workspaces) Lock(ctx context.Context, id, reason string) (Workspace, error) {
	return w.Execute(ctx, id, workspace.AcquireLock{Reason: reason, By: RequestFrom(ctx).Meta.UserID, Now: w.Now(), Timeout: w.LockFor()})
}

// Unlock takes any lock of a workspace away.
func (w Workspaces) Unlock(ctx context.Context, id string) (Workspace, error) {
	return w.Execute(ctx, id, workspace.Clear{})
}

// Expire records that the lock of a workspace has run out, if it has.
func (w Workspaces) Expire(ctx context.Context, id string) (Workspace, error) {
	return w.Execute(ctx, id, workspace.Expire{Now: w.Now()})
}

// SetSecrets sets and removes secrets, sealed already.
func (w Workspaces) SetSecrets(ctx context.Context, id string, change workspace.SetSecrets) (Workspace, error) {
	return w.Execute(ctx, id, change)
}

// Get returns a workspace as the log has it now.
func (w Workspaces) Get(ctx context.Context, id string) (Workspace, error) {
	return Current(ctx, w.Engine, workspace.Decider, workspace.Stream(id))
}

// Write runs a command that changes content: not while a lock forbids it.
func (w Workspaces) Write(ctx context.Context, id string, cmd workspace.Command, pre ...Precondition[workspace.State]) (Workspace, error) {
	unlocked := func(s workspace.State) error {
		if s.ID == "" || s.Deleted != nil {
			return nil // the decision itself has the word
		}
		return workspace.CheckContent(s, w.Now())
	}
	return w.Execute(ctx, id, cmd, append([]Precondition[workspace.State]{unlocked}, pre...)...)
}

// Execute runs a command on a workspace, whatever lock there is.
func (w Workspaces) Execute(ctx context.Context, id string, cmd workspace.Command, pre ...Precondition[workspace.State]) (Workspace, error) {
	return ExecuteNaming(ctx, w.Engine, workspace.Decider, workspace.Stream(id), cmd, namesOf, pre...)
}

// EnsurePlatform makes the workspace where platform-wide events are recorded.
// Every node asks for it at start; the log lets one of them make it.
func (w Workspaces) EnsurePlatform(ctx context.Context) error {
	_, err := w.Execute(ctx, domain.Platform, workspace.Create{ID: domain.Platform, Settings: workspace.Settings{Name: "Platform", Slug: domain.Platform}})
	if err != nil {
		return fmt.Errorf("make the platform workspace: %w", err)
	}
	return nil
}

// ETag names one revision of an object.
func ETag(revision uint64) string { return `"` + strconv.FormatUint(revision, 36) + `"` }

// ItemRevision is the revision of the document at a path, 0 when there is none.
func ItemRevision(path string) func(workspace.State) uint64 {
	return func(s workspace.State) uint64 { return s.Items.At(path).Revision }
}

// Matches refuses a command when the object is not at the revision the caller
// saw. An empty or `*` tag matches whatever there is; about an object that does
// not exist the decision itself has the word. What follows a dot in a tag tells
// of more than the object and does not count.
func Matches[S any](ifMatch string, revision func(S) uint64) Precondition[S] {
	return func(state S) error {
		current := revision(state)
		if ifMatch == "" || ifMatch == "*" || current == 0 {
			return nil
		}
		for tag := range strings.SplitSeq(ifMatch, ",") {
			tag = strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
			if object, _, _ := strings.Cut(tag, "."); `"`+object+`"` == ETag(current) {
				return nil
			}
		}
		return domain.Refuse(domain.CodeConflict, "the resource has changed since you read it: read it again and repeat the change").
			Reason("stale").With("etag", ETag(current))
	}
}

// configAttempts bounds how often a change of the config meets another one.
const configAttempts = 10

// ChangeConfig changes the config of a workspace: its schema, its block and its value.
// What others change at the same time is never lost, unless ifMatch says which config
// the change is for.
func (w Workspaces) ChangeConfig(ctx context.Context, id, ifMatch string, change func(config *document.Map) (*document.Map, error)) error {
	return w.Configure(ctx, id, ifMatch, func(config *document.Map) (*document.Map, workspace.HiddenPaths, error) {
		next, err := change(config)
		return next, nil, err
	})
}

// Configure is ChangeConfig for a change that also says what of its value is not to be
// told.
func (w Workspaces) Configure(ctx context.Context, id, ifMatch string, change func(config *document.Map) (*document.Map, workspace.HiddenPaths, error)) error {
	for attempt := 1; ; attempt++ {
		now, err := w.Get(ctx, id)
		if err != nil {
			return err
		}
		based := ifMatch
		if based == "" {
			based = ETag(now.State.Revision)
		}
		next, hidden, err := change(now.State.Settings.Config)
		if err != nil {
			return err
		}
		patch := document.MapOf(document.Pair{Key: "config", Value: next})
		_, err = w.UpdateWith(ctx, id, workspace.Update{Patch: patch, HiddenPaths: hidden}, based)
		refusal, ok := errors.AsType[*domain.Error](err)
		if ok && refusal.Details["reason"] == "stale" && ifMatch == "" && attempt < configAttempts {
			continue
		}
		return err
	}
}
