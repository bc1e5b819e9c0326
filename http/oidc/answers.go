package oidc

import (
	"context"
	"net/http"
	"net/url"

	protocol "github.com/zitadel/oidc/v3/pkg/oidc"

	"svc/http/gateway"
)

// fault is a mistake in the words of OAuth.
type fault struct{ code, description string }

// The faults that are named in several places.
var (
	faultGrant  = fault{"invalid_grant", "the code or refresh token is unknown, expired, used, or not this client's"}
	faultClient = fault{"invalid_client", "there is no such client"}
)

func badRequest(description string) *fault { return &fault{"invalid_request", description} }

// faultOf is a fault that the library found.
func faultOf(err error) *fault {
	e := protocol.DefaultToServerError(err, "")
	return &fault{string(e.ErrorType), e.Description}
}

// tokenFault is the answer of /oidc/token to a fault. It has the words of OAuth
// and those of every other answer of the API.
type tokenFault struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Message     string `json:"message"`
	RequestID   string `json:"requestId"`
}

func (f fault) answer(ctx context.Context) *gateway.Answer {
	status := http.StatusBadRequest
	if f.code == faultClient.code {
		status = http.StatusUnauthorized
	}
	return gateway.Status(status, tokenFault{f.code, f.description, f.description, gateway.CorrelationID(ctx)}).
		With("Cache-Control", "no-store")
}

// back sends the browser to the client that asked.
func (s *Service) back(a asked, values url.Values) *gateway.Answer {
	if a.State != "" {
		values.Set("state", a.State)
	}
	values.Set("iss", s.o.Issuer) // RFC 9207: so that no other provider's answer passes for ours
	return gateway.Redirect(withQuery(a.RedirectURI, values)).With("Cache-Control", "no-store")
}

// refuse sends the browser back to the client with a fault.
func (s *Service) refuse(a asked, f fault) *gateway.Answer {
	return s.back(a, url.Values{"error": {f.code}, "error_description": {f.description}})
}

// withQuery adds parameters to a URL that was checked before.
func withQuery(address string, values url.Values) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	query := u.Query()
	for name := range values {
		query.Set(name, values.Get(name))
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// brief is an error for the log: what a provider answered may be a whole page.
func brief(err error) string {
	text := []rune(err.Error())
	return string(text[:min(len(text), 300)])
}
