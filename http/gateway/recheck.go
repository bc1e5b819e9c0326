package gateway

import (
	"errors"
	"net/http"

	"svc/commands"
	"svc/domain"
)

// errNoGateway says that a request came by no gateway, which alone knows its
// credentials.
var errNoGateway = errors.New("gateway: the request came by none")

// Recheck finds out anew who sent r and what they may do: with the credentials that r
// came with, and the permission of its route. Whoever holds a connection open asks it
// from time to time, at least every 5 seconds, and closes the connection on an error:
// a credential that does not hold any more, a right that was taken away, a path that
// names another workspace than it did, or that none of it could be found out.
func Recheck(r *http.Request) (Caller, Grant, error) {
	ex := exchangeOf(r)
	if ex.gateway == nil {
		return Caller{}, Grant{}, errNoGateway
	}
	next, err := ex.gateway.readmit(r, ex, ex.shown)
	if err != nil {
		return Caller{}, Grant{}, err
	}
	if next.grant.WorkspaceID != ex.grant.WorkspaceID { // a slug has moved: these rights are not for what is held open
		return Caller{}, Grant{}, domain.Refuse(domain.CodeWorkspaceDenied, "the path names another workspace now")
	}
	return next.caller, next.grant, nil
}

// Introduce makes somebody the caller of r who shows their credentials late, in the
// first words of a stream. It refuses credentials that do not hold, a session that owes
// its second factor, a token without the scope, and who may not use the route. The
// request that it returns has the caller, the grant and the source of events of who
// came; Recheck then asks for them.
func Introduce(r *http.Request, c Credentials) (*http.Request, error) {
	ex := exchangeOf(r)
	if ex.gateway == nil {
		return nil, errNoGateway
	}
	if c.none() {
		return nil, domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
	}
	next, err := ex.gateway.readmit(r, ex, c)
	if isRefusal(err) {
		err = ex.gateway.countStranger(r, ex, err)
	}
	if err != nil {
		return nil, err
	}
	introduced := r.Clone(commands.WithRequest(withExchange(r.Context(), next), next.command))
	present(introduced.Header, next.caller)
	return introduced, nil
}

// Count counts what is asked for within a stream as a request of its caller, and
// refuses with 429 what is too much.
func Count(r *http.Request) error {
	ex := exchangeOf(r)
	if ex.gateway == nil {
		return errNoGateway
	}
	return ex.gateway.limits.take(r.Context(), ex, RateRequests, ex.callerKey())
}

// readmit is authentication and permission once more, for a request that was let in: it
// returns the exchange of whoever shows c now. What was settled between stays.
func (g *Gateway) readmit(r *http.Request, ex *exchange, c Credentials) (*exchange, error) {
	next := ex.anew(c)
	next.settings = g.opts.Settings().withDefaults()
	caller, err := g.recognise(r.Context(), next, c)
	if err != nil {
		return nil, err
	}
	next.become(caller)
	return next, g.permit(r, next)
}

// anew returns the exchange as it is before anybody is known, for the same request.
func (ex *exchange) anew(shown Credentials) *exchange {
	return &exchange{
		gateway: ex.gateway, settings: ex.settings, start: ex.start,
		id: ex.id, parent: ex.parent, ip: ex.ip, secure: ex.secure,
		version: ex.version, revision: ex.revision, route: ex.route, template: ex.template, vars: ex.vars,
		shown: shown, command: &commands.Request{Meta: ex.command.Meta, Address: ex.command.Address}, slot: ex.slot,
	}
}
