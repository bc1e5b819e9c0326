package api

import (
	"net/http"
	"strings"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// visitPage handles GET /v2/pages/{workspaceSlug}/{pageSlug}: a page for its
// visitors, who may be nobody.
func visitPage(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		caller := gateway.CallerFrom(r.Context())
		shown, err := visited(d, r)
		if err != nil {
			return nil, err
		}
		if shown.rights, err = visitorRights(d, caller, shown.workspaceID); err != nil {
			return nil, err
		}
		err = d.ReadModel.View(func(rd projections.Reader) error {
			return shown.rights.Check("read", "pages", objectAt(rd, shown.workspaceID, "pages", shown.item))
		})
		if err != nil {
			return nil, asVisitor(caller, err)
		}
		body, err := pageFolder.answer(d, r, shown)
		if err != nil {
			return nil, err
		}
		return withVisitorHeaders(d, caller, shown.workspaceID, body), nil
	}
}

// visited finds the page that a path names by the slug or a host of its
// workspace.
func visited(d Deps, r *http.Request) (*shownDocument, error) {
	named, slug := gateway.Var(r, "workspaceSlug"), gateway.Var(r, "pageSlug")
	shown := &shownDocument{}
	err := d.ReadModel.View(func(rd projections.Reader) (err error) {
		if strings.Contains(named, ".") {
			shown.workspaceID, err = projections.Workspaces{}.ByDomain(rd, strings.ToLower(named))
		} else {
			shown.workspaceID, err = projections.Workspaces{}.BySlug(rd, named)
		}
		if err != nil {
			return err
		}
		var found bool
		if shown.workspaceID != "" {
			shown.item, found, err = projections.Content{}.Get(rd, shown.workspaceID, "pages/"+slug)
		}
		if err == nil && !found {
			err = domain.Refuse(domain.CodeNotFound, "there is no such page").With("resource", "page").With("id", slug)
		}
		return err
	})
	return shown, err
}

// visitorRights are the rights of a caller. A session that owes its second factor
// counts as none.
func visitorRights(d Deps, caller gateway.Caller, id string) (*access.Rights, error) {
	if caller.MFAPending {
		caller = gateway.Caller{}
	}
	rights, _, err := d.Access.RightsOf(caller.Identity(), id)
	return rights, err
}

// asVisitor asks whom it does not know for a credential, rather than refusing
// them.
func asVisitor(caller gateway.Caller, err error) error {
	switch {
	case domain.CodeOf(err) == domain.CodeInternal:
		return err
	case caller.MFAPending:
		return domain.Refuse(domain.CodeInvalidCredentials, "a second factor is required").Reason("mfa_required")
	case caller.Kind == gateway.KindNone:
		return domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
	}
	return err
}

// withVisitorHeaders adds which client the visitors of a workspace sign in with,
// and what a form of the page must show.
func withVisitorHeaders(d Deps, caller gateway.Caller, id string, body any) any {
	csrf := ""
	if caller.SessionID != "" && !isAccessToken(caller) && !caller.Lent {
		csrf = d.CSRFToken(caller.SessionID)
	}
	switch b := body.(type) {
	case gateway.Content:
		b.Header.Set("X-Svc-Client-Id", workspace.ClientID(id))
		if csrf != "" {
			b.Header.Set("X-Svc-Csrf-Token", csrf)
		}
		return b
	case *gateway.Answer:
		return b.With("X-Svc-Client-Id", workspace.ClientID(id)).With("X-Svc-Csrf-Token", csrf)
	}
	return gateway.OK(body).With("X-Svc-Client-Id", workspace.ClientID(id)).With("X-Svc-Csrf-Token", csrf)
}
