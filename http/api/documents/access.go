package documents

import (
	"context"
	"errors"
	"math"
	"net/http"

	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// lazyObject is a document as rules see it, or would see it after a change. It is read when a rule asks for
// what it says: most do not. It is good as long as its reader.
type lazyObject struct {
	rd         projections.Reader
	id, folder string
	item       projections.Item
	after      *document.Map // what the document is changed to; nil: it is as it is stored
	object     access.Object // nil: not read yet
}

// Field implements access.Object.
func (o *lazyObject) Field(name string) (any, bool) {
	switch name {
	case "slug":
		if o.folder != "tests" && o.after == nil {
			return o.item.Slug(), true
		}
	case "workspaceId":
		return o.id, true
	case "runningWorkspaceId":
		if o.folder == "automations" {
			return o.id, true
		}
	}
	switch {
	case o.object != nil:
	case o.after != nil:
		o.object = changedObject(o.rd, o.id, o.folder, o.item, o.after)
	default:
		o.object = documentObject(o.rd, o.id, o.folder, o.item)
	}
	return o.object.Field(name)
}

// CanReadDocument reports whether somebody may read a document.
func CanReadDocument(rd projections.Reader, rights *access.Rights, id, folder string, item projections.Item) bool {
	if rights == nil || folder == "imports" {
		return rights != nil && rights.Allows("read", subjectOf(folder), nil)
	}
	object := access.Object(&lazyObject{rd: rd, id: id, folder: folder, item: item})
	if isShareable(folder) {
		object = access.Shared{Object: object, Shares: (projections.Content{}).AllShares(rd, id, item)}
	}
	return rights.Allows("read", subjectOf(folder), object)
}

// subjectOf is what rules call the documents of a folder. App instances are part
// of their workspace.
func subjectOf(folder string) string {
	switch folder {
	case "imports":
		return "workspaces"
	case "knowledge":
		return "knowledgeBases"
	case "tests":
		return "automations"
	}
	return folder
}

// documentObject is a document as rules see it.
func documentObject(rd projections.Reader, id, folder string, item projections.Item) access.Object {
	if folder == "imports" {
		return nil
	}
	if isShareable(folder) {
		return projections.Content{}.SharedObject(rd, id, item)
	}
	fields := projections.Content{}.Fields(rd, id, item)
	switch folder {
	case "automations":
		fields["runningWorkspaceId"] = id
	case "tests":
		asAutomation(fields, id)
	}
	return fields
}

// isShareable reports whether documents of a folder have shares of their own.
func isShareable(folder string) bool {
	return folder == "pages" || folder == "knowledge" || folder == "agents"
}

// asAutomation makes the fields of a test suite those that rules see: rules about an automation hold for its suites.
func asAutomation(fields access.Fields, workspaceID string) {
	slug := fields["automation"]
	if slug == nil {
		slug = ""
	}
	fields["slug"], fields["id"], fields["runningWorkspaceId"] = slug, slug, workspaceID
}

// checkObject is Rights.Check for an object that the caller may be able to read
// without being in the workspace: they are told which right they lack.
func checkObject(rights *access.Rights, action, subject string, o access.Object, fields ...string) error {
	err := rights.Check(action, subject, o, fields...)
	if err != nil && rights.Allows("read", subject, o) {
		return domain.Refuse(domain.CodePermissionDenied, "you lack permission to %s %s", action, subject).With("action", action).With("subject", subject)
	}
	return err
}

// CanReadRef reports whether somebody may read a document at a moment. The index
// and the security document are for everybody who may read the workspace.
func CanReadRef(rd projections.Reader, rights *access.Rights, id, path string, ref content.Ref) bool {
	folder, slug := workspace.Folder(path)
	if slug == "" || ref.Hash == "" {
		return true
	}
	return CanReadDocument(rd, rights, id, folder, projections.Item{Path: path, Hash: ref.Hash, ID: ref.ID, Public: ref.Public})
}

// CanReadForeign reports whether somebody may read a document that is not in the
// workspace, as if it was.
func CanReadForeign(rights *access.Rights, id, folder, slug string, doc *document.Map) bool {
	if folder == "imports" {
		return rights.Allows("read", subjectOf(folder), nil)
	}
	fields := access.Fields{}
	for key, v := range doc.All() {
		fields[key] = v
	}
	fields["slug"], fields["workspaceId"] = slug, id
	switch folder {
	case "automations":
		fields["runningWorkspaceId"] = id
	case "tests":
		asAutomation(fields, id)
	}
	return rights.Allows("read", subjectOf(folder), fields)
}

// CanReadAt reports whether somebody may read what is at a path here, and each of
// docs, which others have there.
func CanReadAt(rd projections.Reader, rights *access.Rights, id, path string, docs ...*document.Map) bool {
	folder, slug := workspace.Folder(path)
	if slug == "" {
		return true
	}
	item, here, err := projections.Content{}.Get(rd, id, path)
	if err != nil || here && !CanReadDocument(rd, rights, id, folder, item) {
		return false
	}
	if !here && len(docs) == 0 {
		docs = []*document.Map{nil}
	}
	for _, doc := range docs {
		if !CanReadForeign(rights, id, folder, slug, doc) {
			return false
		}
	}
	return true
}

// ChangeAuthorizer lets who changes many documents at once do to each what they may do to it
// by itself. It implements content.Authorizer.
type ChangeAuthorizer struct {
	Handlers    *Handlers
	Caller      gateway.Caller
	WorkspaceID string // of the workspace
	Rights      *access.Rights
}

// NewChangeAuthorizer is the authorizer of the caller in the workspace that the path names.
func (h *Handlers) NewChangeAuthorizer(r *http.Request) ChangeAuthorizer {
	return ChangeAuthorizer{Handlers: h, Caller: gateway.CallerFrom(r.Context()), WorkspaceID: handler.WorkspaceID(r), Rights: gateway.GrantFrom(r.Context()).Rights}
}

// folders are those whose documents rules speak of one by one.
var folders = map[string]Folder{Automations.name: Automations, Pages.name: Pages, KnowledgeBases.name: KnowledgeBases, Tests.name: Tests, Agents.name: Agents}

// May implements content.Authorizer.
func (j ChangeAuthorizer) May(t content.Touch) error {
	rd := j.Handlers.ReadModel.Reader()
	defer rd.Close()
	err := j.check(rd, t)
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return err
	}
	in, _ := workspace.Folder(t.Path)
	if t.Sent || CanReadDocument(rd, j.Rights, j.WorkspaceID, in, itemOf(t)) {
		refusal.With("document", t.Path).Message += ": " + t.Path
	}
	return refusal
}

func (j ChangeAuthorizer) check(rd projections.Reader, t content.Touch) error {
	name, slug := workspace.Folder(t.Path)
	if slug == "" {
		return CheckChangedFields(j.Rights, differingFields(t.Before, t.After))
	}
	f, single := folders[name]
	if !single {
		return checkChangeInstances(j.Rights)
	}
	return f.checkTouch(rd, j.Rights, j.WorkspaceID, itemOf(t), t.Before, t.After)
}

// itemOf is a touched document as read models have it.
func itemOf(t content.Touch) projections.Item {
	return projections.Item{Path: t.Path, Hash: t.Item.Hash, ID: t.Item.ID, Public: t.Item.Public}
}

// MayShare implements content.Authorizer.
func (j ChangeAuthorizer) MayShare(t content.Touch) (bool, error) {
	rd := j.Handlers.ReadModel.Reader()
	defer rd.Close()
	name, _ := workspace.Folder(t.Path)
	f := folders[name]
	object := f.objectAfter(rd, j.WorkspaceID, itemOf(t), t.After)
	if t.Item.Hash != "" {
		object = documentObject(rd, j.WorkspaceID, f.name, itemOf(t))
	}
	shared := SharedDocument{WorkspaceID: j.WorkspaceID, folder: f, object: object}
	return j.Rights.Allows("manage_permissions", f.subject, object) && shared.CheckShare(j.Rights, *workspace.Everyone(f.name)) == nil, nil
}

// MayReadAll implements content.Authorizer.
func (j ChangeAuthorizer) MayReadAll(base string) bool {
	return mayReadAll(j.Rights, j.WorkspaceID, base)
}

// MayInstall implements content.Authorizer. An app that is not there can be waited for.
func (j ChangeAuthorizer) MayInstall(ctx context.Context, appSlug string) (may bool, err error) {
	if _, err := j.Handlers.Library.At(ctx, j.WorkspaceID, math.MaxUint64); err != nil { // it may have been published a moment ago
		return false, err
	}
	rd := j.Handlers.ReadModel.Reader()
	defer rd.Close()
	app, published, err := projections.Apps{}.Get(rd, appSlug)
	if err != nil || !published {
		return err == nil, err
	}
	may, err = j.Handlers.newAppReader(j.Caller, rd)(app)
	return may && err == nil, err
}

var _ content.UnconditionalAuthorizer = ChangeAuthorizer{}

// MayAlways implements content.UnconditionalAuthorizer: what an owner or a super admin may do to
// documents depends on none of them, and reading each would be for nothing.
func (j ChangeAuthorizer) MayAlways(t content.Touch) bool {
	name, slug := workspace.Folder(t.Path)
	f, single := folders[name]
	if !single || slug == "" {
		return false
	}
	action := "update"
	switch {
	case t.Item.Hash == "":
		action = "create"
	case t.After == nil:
		action = "delete"
	}
	return j.Rights.Always(f.action(action), f.subject)
}

// fieldActions are fields that take more than update.
var fieldActions = map[string]string{"repositories": "manage_repositories", "customDomains": "manage_security", "allowUnsecurePages": "manage_security", "models": "manage_security"}

// CheckChangedFields asks for the right to change fields of a workspace.
func CheckChangedFields(rights *access.Rights, fields []string) error {
	for _, field := range fields {
		if action := fieldActions[field]; action != "" {
			if err := rights.Check(action, "workspaces", nil); err != nil {
				return err
			}
		}
	}
	return rights.Check("update", "workspaces", nil, fields...)
}
