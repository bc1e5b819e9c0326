package identity

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/user"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// compiledWorkspace is the access of a workspace made ready, as of one event.
type compiledWorkspace struct {
	seq       uint64
	workspace *access.Workspace
	moment
}

// moment is the last one at which something was known to be so.
type moment struct{ held atomic.Uint64 }

func (m *moment) hold(now projections.Moment) { m.held.Store(uint64(now)) }

func (m *moment) holds(now projections.Moment) bool { return now != 0 && m.held.Load() == uint64(now) }

// Authorize implements gateway.Authorizer. A right on the workspace itself is
// decided here. Of what is inside, only whether some of it may be allowed: which,
// the handler decides with the Rights of the grant, once it has the object.
func (i *Identity) Authorize(_ context.Context, c gateway.Caller, p gateway.Permission, workspaceID string) (gateway.Grant, error) {
	action, ok := p.(gateway.Action)
	if !ok {
		return gateway.Grant{}, fmt.Errorf("identity: %s is no action", p)
	}
	if workspaceID == "" { // the handler finds the workspace, and decides there
		return gateway.Grant{Rights: access.OutsideRights(c.Identity())}, nil
	}
	workspaceID, err := i.resolve(workspaceID)
	if err != nil {
		return gateway.Grant{}, err
	}
	if c.Lent && c.LentTo != workspaceID && c.KeyID == "" && !opensElsewhere(action) {
		return gateway.Grant{}, gateway.RefuseLent()
	}
	rights, found, err := i.Rights(c, workspaceID)
	if err != nil {
		return gateway.Grant{}, err
	}
	if !found {
		return i.unknown(c, workspaceID, action, rights)
	}
	grant := gateway.Grant{InWorkspace: rights.IsMember(), WorkspaceID: workspaceID, Rights: rights}
	if action.Subject == "workspaces" {
		return grant, i.refuse(c, rights.Check(action.Action, action.Subject, nil))
	}
	if !rights.Could(action.Action, action.Subject) && !bySharing(action) && (grant.InWorkspace || !anywhere(c, action)) {
		return grant, i.refuse(c, rights.Refusal(action.Action, action.Subject))
	}
	return grant, nil
}

// opensElsewhere reports whether rights that were lent to an automation count outside of
// its workspace.
func opensElsewhere(a gateway.Action) bool {
	return a.Action == "execute" && a.Subject == "automations"
}

// anywhere reports whether the caller has a right to events in any workspace, if only to
// those that they emitted. Who is in none is let in by each then, also by one that keeps
// its events from everybody or does not exist, and finds nothing there: the answer must
// not tell which workspaces there are.
func anywhere(c gateway.Caller, a gateway.Action) bool {
	return a.Subject == "events" && access.EveryoneRights(c.Identity()).Could(a.Action, a.Subject)
}

// bySharing reports whether an object may grant the action by itself: pages have
// shares of their own, which the handler sees.
func bySharing(a gateway.Action) bool { return a.Subject == "pages" && a.Action != "create" }

// resolve returns the id of a workspace that a path names by its slug or by one of
// its pages. What nobody has is left as it is: there is no workspace with such an
// id.
func (i *Identity) resolve(named string) (id string, err error) {
	slug, bySlug := strings.CutPrefix(named, "slug:")
	page, byPage := strings.CutPrefix(named, gateway.PagePrefix)
	if !bySlug && !byPage {
		return named, nil
	}
	r := i.o.ReadModel.Reader()
	defer r.Close()
	if byPage {
		id, _, err = projections.Content{}.Page(r, page)
	} else {
		id, err = projections.Workspaces{}.BySlug(r, slug)
	}
	return cmp.Or(id, named), err
}

// unknown is the answer about a workspace that does not exist: to super admins
// that it does not, to all others what they hear of any that they may not see.
// Whoever owned one that was deleted is told so.
func (i *Identity) unknown(c gateway.Caller, id string, action gateway.Action, rights *access.Rights) (gateway.Grant, error) {
	if opensElsewhere(action) { // endpoints are open: one that is not there is answered the same wherever it is not
		return gateway.Grant{WorkspaceID: id, Rights: access.EveryoneRights(c.Identity())}, nil
	}
	refusal := domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", id)
	if page, byPage := strings.CutPrefix(id, gateway.PagePrefix); byPage {
		refusal = domain.Refuse(domain.CodeNotFound, "there is no such page").With("resource", "page").With("id", page)
	}
	gone, owned, err := i.former(c, id)
	if err != nil {
		return gateway.Grant{}, err
	}
	if gone != nil && (owned || c.Super) {
		return gateway.Grant{}, refusal.With("deletedAt", domain.FormatTime(gone.At)).With("restorableUntil", domain.FormatTime(gone.Until))
	}
	if c.Super {
		return gateway.Grant{}, refusal
	}
	if anywhere(c, action) {
		return gateway.Grant{WorkspaceID: id, Rights: access.EveryoneRights(c.Identity())}, nil
	}
	return gateway.Grant{}, i.refuse(c, rights.Refusal(action.Action, action.Subject))
}

// former tells when a workspace was deleted, and whether the caller owned it.
func (i *Identity) former(c gateway.Caller, id string) (gone *workspace.Gone, owned bool, err error) {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	rec, ok, err := projections.Workspaces{}.Record(r, id)
	if err != nil || !ok || rec.Deleted == nil {
		return nil, false, err
	}
	doc, _, err := projections.Access{}.Former(r, id)
	return rec.Deleted, c.UserID != "" && slices.Contains(access.Owners(doc.Shares), c.UserID), err
}

// refuse asks a caller without a credential for one, rather than telling that
// they may not.
func (i *Identity) refuse(c gateway.Caller, err error) error {
	if err != nil && c.Kind == gateway.KindNone {
		return domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
	}
	return err
}

// Rights returns what a caller may do in a workspace; found is false when there
// is no such workspace.
func (i *Identity) Rights(c gateway.Caller, workspaceID string) (rights *access.Rights, found bool, err error) {
	return i.RightsOf(c.Identity(), workspaceID)
}

// RightsOf is Rights for somebody who is not the caller.
func (i *Identity) RightsOf(p access.Principal, workspaceID string) (rights *access.Rights, found bool, err error) {
	now := i.o.ReadModel.Moment()
	have, known := i.workspaces.Get(workspaceID)
	if !known || !have.holds(now) {
		r := i.o.ReadModel.Reader()
		have, err = i.compiled(r, workspaceID)
		r.Close()
	}
	if err != nil {
		return nil, false, err
	}
	if have == nil {
		return access.OutsideRights(p), false, nil
	}
	have.hold(now)
	return i.rightsIn(have.workspace, workspaceID, p), true, nil
}

// FormerRights returns the rights that somebody had in a workspace until it was deleted;
// found is false when no such workspace was.
func (i *Identity) FormerRights(p access.Principal, workspaceID string) (rights *access.Rights, found bool, err error) {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	doc, gone, err := projections.Access{}.Former(r, workspaceID)
	if err != nil || !gone {
		return nil, false, err
	}
	w, err := i.compile(workspaceID, doc)
	if err != nil {
		return nil, false, err
	}
	return w.For(i.within(p, workspaceID)), true, nil
}

// holder is everything that rights in a workspace depend on: who, and which
// state of the workspace.
type holder struct {
	workspace            *access.Workspace
	user, session, email string
	super                bool
	key                  *access.Key
	role, acting         string
	lent                 bool
	lentTo               string
	authData             uintptr // of a map that is never changed, only replaced; the rights keep it
}

// rightsIn returns the rights of p in w. Who comes again with nothing changed has
// the same.
func (i *Identity) rightsIn(w *access.Workspace, workspaceID string, p access.Principal) *access.Rights {
	p = i.within(p, workspaceID)
	who := holder{w, p.UserID, p.SessionID, p.Email, p.Super, p.Key, p.KeyRole, p.Workspace, p.Lent, p.LentTo, reflect.ValueOf(p.AuthData).Pointer()}
	if have, ok := i.rights.Get(who); ok {
		return have
	}
	rights := w.For(p)
	i.rights.Set(who, rights)
	return rights
}

// Readable returns a filter of workspaces that a caller may read, for lists.
func (i *Identity) Readable(c gateway.Caller, r projections.Reader) func(workspaceID string) (*access.Rights, bool, error) {
	p := c.Identity()
	return func(workspaceID string) (*access.Rights, bool, error) {
		have, err := i.compiled(r, workspaceID)
		if err != nil || have == nil {
			return nil, false, err
		}
		rights := have.workspace.For(i.within(p, workspaceID))
		return rights, rights.Allows("read", "workspaces", nil), nil
	}
}

// compiled returns the access of a workspace, made ready once for each change of
// it; nil when there is no such workspace.
func (i *Identity) compiled(r projections.Reader, id string) (*compiledWorkspace, error) {
	known := uint64(0)
	have, ok := i.workspaces.Get(id)
	if ok {
		known = have.seq
	}
	doc, seq, there, err := projections.Access{}.Get(r, id, known)
	if err != nil || !there {
		return nil, err
	}
	if ok && seq == have.seq {
		return have, nil
	}
	w, err := i.compile(id, doc)
	if err != nil {
		return nil, err
	}
	made := &compiledWorkspace{seq: seq, workspace: w}
	i.workspaces.Set(id, made)
	return made, nil
}

func (i *Identity) compile(id string, doc projections.AccessDocument) (*access.Workspace, error) {
	policy, err := access.Compile(id, doc.Security)
	if err != nil {
		return nil, fmt.Errorf("the security document of workspace %s does not compile: %w", id, err)
	}
	return &access.Workspace{Policy: policy, Shares: doc.Shares, Self: self{i.o.ReadModel, id}}, nil
}

// PrincipalOf returns whom the evaluator takes a user for who is not signed in
// here; ok is false when there is no such user, or the account is not in use.
func (i *Identity) PrincipalOf(userID string) (p access.Principal, ok bool, err error) {
	found, ok, err := i.find(userID)
	if err != nil || !ok || found.Status != user.Validated {
		return p, false, err
	}
	return access.Principal{
		UserID: userID, Email: found.validEmail(), Super: found.Super(i.o.SuperAdmins()), AuthData: found.authData,
	}, true, nil
}
