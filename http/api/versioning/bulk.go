package versioning

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"

	"svc/commands/archive"
	"svc/commands/bulk"
	"svc/commands/content"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/http/api/documents"
	"svc/http/gateway"
)

// groupName is what a group of workspaces may be called.
var groupName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$`)

// maxGroups is how many groups one run may name.
const maxGroups = 200

// checkGroups returns the groups of a body, each once.
func checkGroups(groups []string) ([]string, error) {
	once := []string{}
	for _, g := range groups {
		if !groupName.MatchString(g) {
			return nil, domain.Invalid(domain.FieldError{Field: "groups", Message: "must be names of groups: letters, digits, dots, dashes and underscores, up to 60"})
		}
		if !slices.Contains(once, g) {
			once = append(once, g)
		}
	}
	if len(once) > maxGroups {
		return nil, domain.Invalid(domain.FieldError{Field: "groups", Message: "must be at most 200"})
	}
	return once, nil
}

// readBulkRequest reads the query and the body of a bulk run.
func readBulkRequest(r *http.Request, body any) (sse, dry bool, err error) {
	q := gateway.NewQuery(r)
	sse, dry = q.Flag("sse"), q.Flag("dryRun")
	if err := q.Err(); err != nil {
		return false, false, err
	}
	return sse, dry, gateway.Decode(r, body)
}

// bulkPushRequest is the body of a push of the platform workspace.
type bulkPushRequest struct {
	pushRequest
	Groups []string `json:"groups"`
	DryRun bool     `json:"dryRun"`
	Force  bool     `json:"force"`
}

// pushPlatform handles POST /v2/workspaces/platform/versions: a push of the
// workspaces of some groups, or of the platform workspace itself.
func (h *Handlers) pushPlatform(r *http.Request) (any, error) {
	var in bulkPushRequest
	sse, _, err := readBulkRequest(r, &in)
	if err == nil {
		err = in.check()
	}
	if err != nil {
		return nil, err
	}
	groups, err := checkGroups(in.Groups)
	if err != nil {
		return nil, err
	}
	to := in.Repository.id
	switch platform := to != "" && h.Bulk.Has(to); {
	case platform && len(groups) == 0:
		return nil, domain.Refuse(domain.CodeMissingParameter, "groups is missing: name the groups to push").With("parameter", "groups")
	case !platform && (to != "" || len(groups) == 0):
		if in.DryRun || in.Force {
			return nil, domain.Refuse(domain.CodeInvalidRequest, "dryRun and force are for pushes of groups to a platform repository").With("field", "dryRun")
		}
		return h.push(r, in.pushRequest, ignoredGroups(groups))
	}
	request := bulk.PushRequest{RepositoryID: to, Groups: groups, Name: in.Name, Description: in.Description, Force: in.Force}
	if in.DryRun {
		return h.Bulk.PlanPush(r.Context(), request)
	}
	started, err := h.Bulk.Push(r.Context(), request)
	if err != nil {
		return nil, err
	}
	return h.bulkResponse(r, started, sse)
}

// bulkPullRequest is the body of a pull of the platform workspace.
type bulkPullRequest struct {
	pullRequest
	Groups []string `json:"groups"`
	Force  bool     `json:"forceReimport"`
	DryRun bool     `json:"dryRun"`
}

// pullPlatform handles POST /v2/workspaces/platform/versions/latest/pull: an import
// of the workspaces of a platform repository, or a pull of the platform workspace
// itself.
func (h *Handlers) pullPlatform(r *http.Request) (any, error) {
	var in bulkPullRequest
	sse, dry, err := readBulkRequest(r, &in)
	if err != nil {
		return nil, err
	}
	groups, err := checkGroups(in.Groups)
	if err != nil {
		return nil, err
	}
	version, err := readVersionName(r, in.pullRequest)
	if err != nil {
		return nil, err
	}
	from := in.Repository.id
	platform := from != "" && h.Bulk.Has(from)
	if version != versioning.Latest || !platform && (from != "" || len(groups) == 0) {
		return h.pull(r, in.pullRequest, dry || in.DryRun, ignoredGroups(groups))
	}
	who, err := importingUser(r)
	if err != nil {
		return nil, err
	}
	request := bulk.ImportRequest{RepositoryID: from, Groups: groups, Force: in.Force, Who: who}
	if dry || in.DryRun {
		return h.Bulk.PlanImport(r.Context(), request)
	}
	started, err := h.Bulk.Import(r.Context(), request)
	if err != nil {
		return nil, err
	}
	return h.bulkResponse(r, started, sse)
}

// ignoredGroups tells of groups that a push or pull of one workspace has no use for.
func ignoredGroups(groups []string) []archive.Item {
	if len(groups) == 0 {
		return nil
	}
	return []archive.Item{{Msg: "groups are for platform repositories: they were ignored", Err: "groups_ignored", WorkspaceID: domain.Platform}}
}

// importingUser is who imports many workspaces. What is made belongs to somebody: a key
// alone cannot.
func importingUser(r *http.Request) (bulk.Who, error) {
	switch caller := gateway.CallerFrom(r.Context()); {
	case caller.Kind == gateway.KindInternal:
		return bulk.Who{System: true}, nil
	case caller.UserID == "":
		return bulk.Who{}, domain.Refuse(domain.CodePermissionDenied, "importing many workspaces needs a user: an API key alone is not enough")
	default:
		return bulk.Who{UserID: caller.UserID, Super: caller.Super}, nil
	}
}

// ImportRights tells what those who start imports of many workspaces may do. It
// implements bulk.Rights.
type ImportRights struct{ Handlers *Handlers }

// Import implements bulk.Rights.
func (i ImportRights) Import(_ context.Context, who bulk.Who, workspaceID string) (may content.ImportOptions, ok bool, err error) {
	caller, ok, err := i.caller(who)
	if err != nil || !ok {
		return may, false, err
	}
	rights, found, err := i.Handlers.Access.RightsOf(caller.Identity(), workspaceID)
	if err != nil || !found || !rights.Allows("update", "workspaces", nil) {
		return may, false, err
	}
	return i.Handlers.withImportRights(caller, may, workspaceID, rights), true, nil
}

// Create implements bulk.Rights.
func (i ImportRights) Create(_ context.Context, who bulk.Who) (may content.ImportOptions, ok bool, err error) {
	caller, ok, err := i.caller(who)
	may.Authorizer = documents.ChangeAuthorizer{Handlers: i.Handlers.Documents, Caller: caller}
	return may, ok, err
}

// caller is who started an import, as they are now: an account that is not in use any
// more, or has lost rights, does not go on with it.
func (i ImportRights) caller(who bulk.Who) (gateway.Caller, bool, error) {
	p, known, err := i.Handlers.Access.PrincipalOf(who.UserID)
	if !known && who.Super { // they are known elsewhere only
		p, known = access.Principal{UserID: who.UserID, Super: true}, true
	}
	return gateway.Caller{Kind: gateway.KindUser, UserID: who.UserID, Super: p.Super, Principal: &p}, known, err
}

// withWarnings adds what has to be said to the result of an operation.
func withWarnings(result json.RawMessage, more []archive.Item) (json.RawMessage, error) {
	if len(more) == 0 {
		return result, nil
	}
	doc := document.MapOf()
	if err := doc.UnmarshalJSON(result); err != nil {
		return nil, err
	}
	value, _ := doc.Get("warnings")
	list, _ := value.([]any)
	for _, item := range more {
		list = append(list, document.MapOf(document.Pair{Key: "msg", Value: item.Msg}, document.Pair{Key: "err", Value: item.Err},
			document.Pair{Key: "filepath", Value: item.Filepath}, document.Pair{Key: "workspaceId", Value: item.WorkspaceID}))
	}
	doc.Set("warnings", list)
	return document.JSON(doc)
}

// isBulkEvent reports whether the stream of a run tells an event: its plan, what became
// of each workspace, and its end.
func isBulkEvent(ev domain.Event) bool {
	switch e := ev.(type) {
	case operation.Ended:
		return e.Failure != nil
	case operation.BulkImportStarted, operation.BulkImportProgress, operation.BulkImportCompleted,
		operation.BulkPushStarted, operation.BulkPushProgress, operation.BulkPushCompleted:
		return true
	}
	return false
}
