package gateway

import (
	"context"
	"net/http"

	"svc/domain"
	"svc/domain/access"
)

// Grant is what the Authorizer found besides a yes.
type Grant struct {
	// InWorkspace tells that the caller has some right in the workspace, even
	// when the one asked for is missing: their errors are recorded there.
	InWorkspace bool
	// WorkspaceID is the workspace's id when the path named it otherwise.
	WorkspaceID string
	// Rights decide about what is in the workspace; nil where the route needs
	// none.
	Rights *access.Rights
}

// Authorizer decides actions in a workspace. workspaceID is as the path has it,
// an id, slug:{slug} or page:{pageId}, and empty where the path names no workspace.
// It refuses with the 401, 403 and 404 codes of the contract.
type Authorizer interface {
	Authorize(ctx context.Context, c Caller, p Permission, workspaceID string) (Grant, error)
}

// authorize is the step that decides the route's permission. Who may still show a
// credential is let in without a grant.
func (g *Gateway) authorize(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	err := g.permit(r, ex)
	if ex.route.LateAuth && ex.caller.Kind == KindNone && isRefusal(err) {
		ex.grant = Grant{}
		return nil
	}
	return err
}

// permit decides whether the caller of ex may use its route.
func (g *Gateway) permit(r *http.Request, ex *exchange) error {
	if err := may(ex.caller, ex.route.Permission); err != nil {
		return err
	}
	if err := ex.withinLoan(); err != nil {
		return err
	}
	if ex.caller.MFAPending && !ex.route.BeforeMFA && ex.route.Permission != Public { // there handlers mind it
		return domain.Refuse(domain.CodeInvalidCredentials, "a second factor is required").Reason("mfa_required")
	}
	if err := holdsScope(ex.caller, ex.route, r.Method); err != nil {
		return err
	}
	action, ok := ex.route.Permission.(Action)
	if !ok {
		return nil
	}
	return g.grant(r, ex, action)
}

// RefuseLent refuses what a token does not open that was lent to an automation.
func RefuseLent() error {
	return domain.Refuse(domain.CodePermissionDenied,
		"what an automation was lent of a session opens its own workspace, and endpoints of others; use an access token or an API key")
}

// withinLoan refuses an automation that acts for somebody where they are asked for
// themselves: it is lent what they may do in its workspace, not their account.
func (ex *exchange) withinLoan() error {
	_, asked := ex.route.Permission.(Action)
	if !ex.caller.Lent || ex.route.ToLent || ex.route.Permission == Public || asked && ex.named() != "" {
		return nil
	}
	return RefuseLent()
}

// grant asks the Authorizer. What it knows may lag behind the caller's own last
// write, so a refused write is asked again once the read model has caught up;
// a read has waited for that already.
func (g *Gateway) grant(r *http.Request, ex *exchange, action Action) error {
	var err error
	ex.grant, err = g.opts.Authorizer.Authorize(r.Context(), ex.caller, action, ex.named())
	if err == nil || !ex.writes(r) || domain.CodeOf(err) == domain.CodeInternal || g.opts.ReadModel == nil {
		return err
	}
	if behind := g.waitFresh(r.Context()); behind != nil {
		return err
	}
	ex.grant, err = g.opts.Authorizer.Authorize(r.Context(), ex.caller, action, ex.named())
	return err
}
