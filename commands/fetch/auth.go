package fetch

import (
	"context"
	"net/http"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

const (
	headerAuthorization = "Authorization"
	headerAPIKey        = "X-Svc-Api-Key"
)

// authorize adds the credentials that were asked for: a method whose every field is empty
// is none. Those of the platform go to the platform alone.
func (x *exchange) authorize(ctx context.Context, r *http.Request) error {
	var err error
	if basic := x.request.auth.below("basic", &err); !automation.IsBlank(basic.Object) {
		r.SetBasicAuth(basic.scalar("user"), basic.scalar("password"))
	}
	if grant := x.request.auth.below("oauth2", &err); !automation.IsBlank(grant.Object) && err == nil {
		err = x.grant(ctx, r, grant)
	}
	if err == nil && x.Egress.Own(r.URL) {
		err = x.identify(ctx, r)
	}
	if key := x.request.auth.below("awsv4", &err); !automation.IsBlank(key.Object) && err == nil {
		awsKey{key.scalar("accessKeyId"), key.scalar("secretAccessKey"), key.scalar("service"), key.scalar("region")}.sign(r, x.request.body, x.Now())
	}
	return err
}

// scalar returns a member as text: a password may be written as a number.
func (r reader) scalar(key string) string { return value.Text(r.At(key)) }

// grant adds the token of an OAuth 2 server.
func (x *exchange) grant(ctx context.Context, r *http.Request, g reader) error {
	x.granted = credentials{x.call.WorkspaceID, g.scalar("tokenUrl"), g.scalar("clientId"), g.scalar("clientSecret"), g.scalar("scope")}
	token, err := x.clientToken(ctx, x.granted)
	if err != nil {
		return err
	}
	if x.call.Granted != nil {
		if err := x.call.Granted(token); err != nil {
			return err
		}
	}
	r.Header.Set(headerAuthorization, "Bearer "+token)
	return nil
}

// identify adds the credentials of a request to the platform itself: what was
// asked for, and a token of the session when that leaves it without any.
func (x *exchange) identify(ctx context.Context, r *http.Request) error {
	if x.terms.keyed {
		if x.call.APIKey == nil {
			return automation.Invalid("fetch.svcApiKey: there is no role %s with an API key", x.terms.role)
		}
		key, err := x.call.APIKey(ctx, x.terms.role)
		if err != nil {
			return err
		}
		r.Header.Set(headerAPIKey, key)
	}
	kind := SessionToken
	switch {
	case x.call.Token == nil:
		return nil
	case x.terms.forward:
		kind = WorkspaceToken
	case r.URL.User != nil:
		return nil
	default:
		for _, name := range []string{headerAuthorization, "Cookie", headerAPIKey} {
			if r.Header.Get(name) != "" {
				return nil
			}
		}
	}
	token, err := x.call.Token(ctx, kind)
	if err == nil {
		r.Header.Set(headerAuthorization, "Bearer "+token)
	}
	return err
}
