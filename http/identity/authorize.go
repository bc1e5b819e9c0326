package identity

import (
	"cmp"
	"context"
	"encoding/json"
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

// compiledWorkspace has the compiled rules of a workspace, as of one event.
type compiledWorkspace struct {
	seq       uint64
	workspace *access.Workspace
	last      atomic.Pointer[knownRights] // of the last caller, who often calls again
	checkedMoment
}

// checkedMoment is the last moment at which a value was known to be current.
type checkedMoment struct{ moment atomic.Uint64 }

func (m *checkedMoment) set(now projections.Moment) { m.moment.Store(uint64(now)) }

func (m *checkedMoment) isAt(now projections.Moment) bool {
	return now != 0 && m.moment.Load() == uint64(now)
}

// Authorize implements gateway.Authorizer. It decides rights on the workspace itself. For objects
// in it, it only checks whether some may be allowed: the handler decides with the Rights of the
// grant, when it has the object.
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
	if c.Lent && c.LentTo != workspaceID && c.KeyID == "" && !isOpenToLent(action) {
		return gateway.Grant{}, gateway.RefuseLent()
	}
	rights, found, err := i.Rights(c, workspaceID)
	if err != nil {
		return gateway.Grant{}, err
	}
	if !found {
		return i.unknown(c, workspaceID, action, rights)
	}
	grant := gateway.Grant{WorkspaceID: workspaceID, Rights: rights}
	if action.Subject == "workspaces" {
		err := rights.Check(action.Action, action.Subject, nil)
		grant.InWorkspace = err == nil && action.Action == "read" || rights.IsMember() // who may read it is a member
		return grant, i.refuse(c, err)
	}
	grant.InWorkspace = rights.IsMember()
	if !rights.Could(action.Action, action.Subject) && !bySharing(action) && (grant.InWorkspace || !mayReadOwnEvents(c, action)) {
		return grant, i.refuse(c, rights.Refusal(action.Action, action.Subject))
	}
	return grant, nil
}

// isOpenToLent reports whether rights that were lent to an automation are valid outside of its
// workspace.
func isOpenToLent(a gateway.Action) bool {
	return a.Action == "execute" && a.Subject == "automations"
}

// mayReadOwnEvents reports whether the caller may read events in any workspace, at least those that
// they emitted. Such a caller is let into every workspace, also one that does not exist, and finds
// nothing there: the answer must not reveal which workspaces exist.
func mayReadOwnEvents(c gateway.Caller, a gateway.Action) bool {
	return a.Subject == "events" && access.EveryoneRights(c.Identity()).Could(a.Action, a.Subject)
}

// bySharing reports whether the shares of an object may grant the action: the handler checks those of pages, knowledge
// bases and agents. Shares of a base are also about its documents.
func bySharing(a gateway.Action) bool {
	switch a.Subject {
	case "pages", "knowledgeBases", "agents":
		return a.Action != "create"
	}
	return a.Subject == "documents"
}

// resolve returns the id of a workspace that a path names by its slug or by one of its pages. An
// unknown name is returned unchanged: no workspace has such an id.
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

// unknown is the answer for a workspace that does not exist: not found for super admins, and for
// others the same as for a workspace that they may not see. The former owner of a deleted one gets
// its deletion.
func (i *Identity) unknown(c gateway.Caller, id string, action gateway.Action, rights *access.Rights) (gateway.Grant, error) {
	if isOpenToLent(action) { // endpoints are open: one that is not there is answered the same wherever it is not
		return gateway.Grant{WorkspaceID: id, Rights: access.EveryoneRights(c.Identity())}, nil
	}
	refusal := domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", id)
	if page, byPage := strings.CutPrefix(id, gateway.PagePrefix); byPage {
		refusal = domain.Refuse(domain.CodeNotFound, "there is no such page").With("resource", "page").With("id", page)
	}
	gone, owned, err := i.formerWorkspace(c, id)
	if err != nil {
		return gateway.Grant{}, err
	}
	if gone != nil && (owned || c.Super) {
		return gateway.Grant{}, refusal.With("deletedAt", domain.FormatTime(gone.At)).With("restorableUntil", domain.FormatTime(gone.Until))
	}
	if c.Super {
		return gateway.Grant{}, refusal
	}
	if mayReadOwnEvents(c, action) {
		return gateway.Grant{WorkspaceID: id, Rights: access.EveryoneRights(c.Identity())}, nil
	}
	return gateway.Grant{}, i.refuse(c, rights.Refusal(action.Action, action.Subject))
}

// formerWorkspace returns when a workspace was deleted, and whether the caller owned it.
func (i *Identity) formerWorkspace(c gateway.Caller, id string) (gone *workspace.Gone, owned bool, err error) {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	rec, ok, err := projections.Workspaces{}.Record(r, id)
	if err != nil || !ok || rec.Deleted == nil {
		return nil, false, err
	}
	doc, _, err := projections.Access{}.Former(r, id)
	return rec.Deleted, c.UserID != "" && slices.Contains(access.Owners(doc.Shares), c.UserID), err
}

// refuse returns 401 instead of 403 for a caller without a credential.
func (i *Identity) refuse(c gateway.Caller, err error) error {
	if err != nil && c.Kind == gateway.KindNone {
		return gateway.MissingCredential()
	}
	return err
}

// Rights returns the rights of a caller in a workspace; found is false when it does not exist.
func (i *Identity) Rights(c gateway.Caller, workspaceID string) (rights *access.Rights, found bool, err error) {
	return i.RightsOf(c.Identity(), workspaceID)
}

// RightsOf is Rights for another principal.
func (i *Identity) RightsOf(p access.Principal, workspaceID string) (rights *access.Rights, found bool, err error) {
	now := i.accessMoments.Now()
	have, known := i.workspaces.Get(workspaceID)
	if !known || !have.isAt(now) {
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
	have.set(now)
	return i.rightsIn(have, workspaceID, p), true, nil
}

// FormerRights returns the rights of a principal in a deleted workspace; found is false when there
// was none.
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

// rightsKey has everything that rights depend on: the principal and the state of the workspace.
type rightsKey struct {
	workspace            *access.Workspace
	user, session, email string
	super                bool
	key                  *access.Key
	role, acting         string
	lent                 bool
	lentTo               string
	authData             uintptr // of a map that is never changed, only replaced; the rights keep it
}

// knownRights are the rights of somebody.
type knownRights struct {
	of     rightsKey
	rights *access.Rights
}

// rightsIn returns the rights of p in a workspace, those that are known when nothing has changed.
func (i *Identity) rightsIn(in *compiledWorkspace, workspaceID string, p access.Principal) *access.Rights {
	p.KeyRole = roleIn(p.KeyRole, workspaceID)
	who := rightsKey{in.workspace, p.UserID, p.SessionID, p.Email, p.Super, p.Key, p.KeyRole, p.Workspace, p.Lent, p.LentTo, reflect.ValueOf(p.AuthData).Pointer()}
	known := in.last.Load()
	if known != nil && known.of == who {
		return known.rights
	}
	known, ok := i.rights.Get(who)
	if !ok {
		known = &knownRights{who, in.workspace.For(i.within(p, workspaceID))}
		i.rights.Set(who, known)
	}
	in.last.Store(known)
	return known.rights
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

// compiled returns the compiled rules of a workspace, compiled once per change; nil when it does not
// exist.
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
	return &access.Workspace{Policy: policy, Shares: doc.Shares, Self: workspaceObject{i.o.ReadModel, id}}, nil
}

// PrincipalOf returns the principal of a user without a session; ok is false when there is no such
// user, or the account is not active.
func (i *Identity) PrincipalOf(userID string) (p access.Principal, ok bool, err error) {
	found, err := i.find(userID)
	if err != nil || found == nil || found.Status != user.Validated {
		return p, false, err
	}
	return access.Principal{
		UserID: userID, Email: found.validEmail(), Super: found.Super(i.o.SuperAdmins()), AuthData: found.authData,
	}, true, nil
}

// workspaceObject is a workspace as an object of its own rules. Few rules need more than its id, so
// its document is read only when one does.
type workspaceObject struct {
	model ReadModel
	id    string
}

// Field implements access.Object.
func (s workspaceObject) Field(name string) (any, bool) { return s.load().Field(name) }

// load returns the document. An unreadable one has no fields, and so matches no condition.
func (s workspaceObject) load() (fields access.Fields) {
	r := s.model.Reader()
	defer r.Close()
	if doc, ok, err := (projections.Workspaces{}).Get(r, s.id); err == nil && ok {
		_ = json.Unmarshal(doc.JSON, &fields) // it is JSON that the platform wrote
	}
	return fields
}

// member is a user in a workspace.
type member struct{ workspaceID, userID string }

// membership is which topics of a workspace a user has joined, as of one event. It is
// never changed, only replaced.
type membership struct {
	version uint64
	topics  []string
	checkedMoment
}

// joinedTopics returns which topics of a workspace a user has joined, as it is now. What
// cannot be read is none.
func (i *Identity) joinedTopics(who member) []string {
	now := i.topicMoments.Now()
	have, known := i.members.Get(who)
	if known && have.isAt(now) {
		return have.topics
	}
	r := i.o.ReadModel.Reader()
	defer r.Close()
	have, err := i.joined(r, who)
	if err != nil {
		return nil
	}
	have.set(now)
	return have.topics
}

// joined returns what is known of a user in a workspace, or what the read models have.
// Most users have joined nothing, which one look tells.
func (i *Identity) joined(r projections.Reader, who member) (*membership, error) {
	version, err := projections.Topics{}.Version(r, who.userID)
	if err != nil {
		return nil, err
	}
	if have, ok := i.members.Get(who); ok && have.version == version {
		return have, nil
	}
	made := &membership{version: version}
	if version != 0 {
		if made.topics, err = (projections.Topics{}).Of(r, who.workspaceID, who.userID); err != nil {
			return nil, err
		}
	}
	i.members.Set(who, made)
	return made, nil
}

// within returns somebody as they are in one workspace: with the topics that they have
// joined there whenever a rule asks, and with the role that they took if it is of that
// workspace.
func (i *Identity) within(p access.Principal, workspaceID string) access.Principal {
	if p.UserID != "" && p.Topics == nil {
		who := member{workspaceID, p.UserID}
		p.Joined = func() []string { return i.joinedTopics(who) }
	}
	p.KeyRole = roleIn(p.KeyRole, workspaceID)
	return p
}

// roleOf is the KeyRole of a principal whose workspace is not known yet. It is the
// name of no role: who forgets to ask within gets none.
func roleOf(workspaceID, role string) string { return workspaceID + "\x00" + role }

// roleIn returns the role in a workspace that a KeyRole is: "" in another one than its own.
func roleIn(keyRole, workspaceID string) string {
	where, role, scoped := strings.Cut(keyRole, "\x00")
	switch {
	case !scoped:
		return keyRole
	case where == workspaceID:
		return role
	}
	return ""
}
