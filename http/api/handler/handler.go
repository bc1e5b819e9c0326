// Package handler is what the handlers of all subjects share: reading bodies and
// queries, and the answers and refusals that they have in common.
package handler

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"svc/commands"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/http/gateway"
	"svc/projections"
)

// ReadModel is what is read. It is a *projections.Models.
type ReadModel interface {
	// Reader returns a reader of this moment. The caller closes it.
	Reader() projections.Reader
	// Moment tells whether what was viewed before is what would be viewed now.
	Moment() projections.Moment
	// Reach waits until the read model has everything up to pos.
	Reach(ctx context.Context, pos domain.Position) error
}

// Access decides who may do what. It is an *identity.Identity.
type Access interface {
	// RightsOf returns the rights of somebody in a workspace, if there is one.
	RightsOf(p access.Principal, workspaceID string) (rights *access.Rights, found bool, err error)
	// FormerRights returns the rights of somebody in a workspace until it was deleted.
	FormerRights(p access.Principal, workspaceID string) (rights *access.Rights, found bool, err error)
	// PrincipalOf returns whom the evaluator takes a user for.
	PrincipalOf(userID string) (p access.Principal, ok bool, err error)
	// Readable returns a filter of the workspaces that c may read.
	Readable(c gateway.Caller, r projections.Reader) func(workspaceID string) (*access.Rights, bool, error)
}

// Programs finds what can run. It is a *programs.Library.
type Programs interface {
	ProgramSet(ctx context.Context, workspaceID string) (*programs.ProgramSet, error)
}

// WorkspaceID is the id in the path, resolved when the path has a slug.
func WorkspaceID(r *http.Request) string {
	return cmp.Or(gateway.GrantFrom(r.Context()).WorkspaceID, gateway.Var(r, "workspaceId"))
}

// NoWorkspace refuses a workspace that is not there.
func NoWorkspace(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", id)
}

// ResolveWorkspace returns the id of a workspace that is named by its slug.
func ResolveWorkspace(rd projections.Reader, named string) (string, error) {
	slug, bySlug := strings.CutPrefix(named, "slug:")
	if !bySlug {
		return named, nil
	}
	id, err := projections.Workspaces{}.BySlug(rd, slug)
	if id == "" {
		id = named // there is no workspace with such an id
	}
	return id, err
}

// FindUser returns the user with an id or, without one, with a mail address.
func FindUser(m projections.Viewer, id, email string) (projections.User, error) {
	find, name := projections.Users{}.Get, id
	if id == "" {
		find, name = projections.Users{}.ByEmail, email
	}
	found, ok, err := projections.Find(m, find, name)
	if err == nil && !ok {
		err = NoUser(name)
	}
	return found, err
}

// NoUser refuses a user who is not there.
func NoUser(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such user").With("resource", "user").With("id", Shorten(id))
}

// IsAccessToken reports whether the caller came with an access token.
func IsAccessToken(c gateway.Caller) bool { return strings.HasPrefix(c.SessionID, "at:") }

// ToActor is whom automations act for that a caller starts: with what their credential
// gave them, and nothing more.
func ToActor(c gateway.Caller) domain.Actor {
	a := domain.Actor{UserID: c.UserID, SessionID: c.SessionID, WorkspaceID: c.WorkspaceID, Scopes: c.Scopes, Lent: c.Lent, LentTo: c.LentTo}
	role, isRole := strings.CutPrefix(c.KeyID, "role:")
	switch {
	case isRole:
		a.KeyRole = role
	case c.WorkspaceID != "": // whose token names it in the place of a key
		a.Lent = c.Identity().Workspace == ""
	default:
		a.KeyID = c.KeyID
	}
	return a
}

// RunCaller is who starts automations by a request, in the workspace of the request.
func RunCaller(r *http.Request) runtime.Caller {
	c := gateway.CallerFrom(r.Context())
	who := c.Identity()
	caller := runtime.Caller{
		Actor: ToActor(c), Address: commands.RequestFrom(r.Context()).Address, Email: who.Email, Role: c.Role, Rights: gateway.GrantFrom(r.Context()).Rights,
		Credential: c.UserID != "" || c.KeyID != "" || c.WorkspaceID != "", AuthData: runtime.AuthDataOf(who.AuthData),
	}
	if caller.Role == "" && caller.Rights != nil {
		caller.Role = caller.Rights.Role()
	}
	if caller.Visitor = c.Kind == gateway.KindNone || caller.SessionID == ""; caller.Visitor { // nobody signed in
		caller.SessionID = cmp.Or(caller.SessionID, uuid.NewString()) // made for this call, unless an automation passed its own on
		caller.UserID = cmp.Or(caller.UserID, caller.SessionID)
	}
	return caller
}

// answerTime is what of the time of a request is left to answer in.
const answerTime = 5 * time.Second

// BoundWait returns for how long an answer waits that was asked to wait so long: not until the gateway gives the request up.
func BoundWait(r *http.Request, wait time.Duration) time.Duration {
	return min(wait, max(0, gateway.Timeout(r)-answerTime))
}

// IfMatch is what the caller bases a change on.
func IfMatch(r *http.Request) string { return strings.Join(r.Header.Values("If-Match"), ",") }

// VisibleWait bounds how long the answer to a write waits for the read model.
const VisibleWait = 2 * time.Second

// AwaitVisible waits until a read here sees what the request has written, so that who
// has the answer to a write never meets what was before it. The write has
// happened in any case; settled is false when a read may not see it yet.
func AwaitVisible(ctx context.Context, m ReadModel) (settled bool) {
	ctx, cancel := context.WithTimeout(ctx, VisibleWait)
	defer cancel()
	return m.Reach(ctx, commands.RequestFrom(ctx).Position()) == nil
}

// importVisibleWait bounds how long the answer to an import waits for the read model:
// it has more to read than after other writes.
const importVisibleWait = 30 * time.Second

// AwaitImportVisible is settle for what may be large.
func AwaitImportVisible(ctx context.Context, m ReadModel) {
	ctx, cancel := context.WithTimeout(ctx, importVisibleWait)
	defer cancel()
	_ = m.Reach(ctx, commands.RequestFrom(ctx).Position()) // the import has happened in any case
}

// LastUsed is when an access token or an API key was last used, as answers show
// it; "" when that is not known.
func LastUsed(ctx context.Context, at func(context.Context, string) (time.Time, error), id string) (string, error) {
	used, err := at(ctx, id)
	return FormatTime(used), err
}

// RightsPeriod is the time between two checks of the credential and the rights of who
// reads a stream: it takes 5 s at most.
const RightsPeriod = 4 * time.Second

// JSONLines is the media type of JSON values, one in a line.
const JSONLines = "application/x-ndjson"
