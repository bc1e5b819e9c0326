package oidc

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // of the page
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"svc/commands/accounts"
	"svc/domain"
	"svc/http/gateway"
)

//go:embed page/page.html
var pageText string

//go:embed page/page.css
var styleText string

// pages renders the pages. They have no scripts.
type pages struct {
	tmpl   *template.Template
	policy string // Content-Security-Policy without form-action
}

// newPages panics when the embedded page is broken: a fault of the build.
func newPages() *pages {
	sum := sha256.Sum256([]byte(styleText))
	return &pages{
		tmpl: template.Must(template.New("page").Parse(pageText)),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; " +
			"base-uri 'none'; frame-ancestors 'none'; form-action ",
	}
}

// The steps of the page.
const (
	stepPassword = "password"
	stepCreate   = "create"
	stepCode     = "code"
	stepConsent  = "consent"
	stepNotice   = "notice"
)

// view has the values of the page.
type view struct {
	Style   template.CSS
	Step    string
	Title   string
	Text    string // of a notice
	Problem string // what was wrong; empty: nothing
	Done    string // what has just happened; empty: nothing
	Request string // id of the request, for the support

	Action  string // where the form goes
	Here    string // this page
	Client  string // name of the client to sign in to
	Scopes  []string
	Account string // who is signed in already
	Email   string

	FirstName, LastName string // of an account that is being made

	Local     bool // there is a form for passwords
	Signup    string
	Reset     string
	Providers []button

	targets string // further targets of redirects after the form
}

// button is a link to a provider.
type button struct{ Name, URL string }

// problems are the error messages of the page, by their names.
var problems = map[string]string{
	"credentials":          "The e-mail address or the password is not right. Check both and try again.",
	"code":                 "That code is not right, or was used already. Wait for the next one and try again.",
	"incomplete":           "Something is missing. Fill in every field.",
	"limit":                "Too many tries. Wait a minute, then try again.",
	"email_not_validated":  "Your e-mail address is not confirmed yet. Open the link in the mail we sent you, then sign in.",
	"manual_validation":    "Your account is waiting for an administrator to approve it.",
	"email_used":           "There is an account with this e-mail address already. Sign in instead, or use another address.",
	"signup_disabled":      "Making an account is switched off here. Ask an administrator.",
	"local_disabled":       "Signing in with a password is switched off here.",
	"provider_unavailable": "The sign-in service did not answer. Try again in a moment, or choose another way.",
	"provider_denied":      "The sign-in service did not let you in. Try again, or choose another way.",
	"provider_failed":      "The answer of the sign-in service could not be trusted. Try again, or choose another way.",
	"account_refused":      "You are known there, but you may not sign in here. Ask an administrator.",
}

// created says what a new account waits for, by how it becomes valid.
var created = map[string]string{
	accounts.ValidationEmail:  "Your account is made. Open the link in the mail we sent you, then sign in here.",
	accounts.ValidationManual: "Your account is made. You can sign in as soon as an administrator has approved it.",
}

// fieldNames are the fields of a new account as the page calls them.
var fieldNames = map[string]string{"email": "The e-mail address", "password": "The password", "firstName": "The first name", "lastName": "The last name"}

// describeFaults says what is wrong with the fields of a new account.
func describeFaults(err error) string {
	refusal, _ := errors.AsType[*domain.Error](err)
	faults, _ := refusal.Details["errors"].([]domain.FieldError)
	var texts []string
	for _, f := range faults {
		texts = append(texts, cmp.Or(fieldNames[f.Field], f.Field)+" "+f.Message+".")
	}
	return strings.Join(texts, " ")
}

// notice is a page without a form.
type notice struct{ title, text string }

var (
	wrongClient = notice{
		"This link cannot sign you in",
		"The application that sent you here is not known, or wants you sent back to a place that is not its own. Nothing happened to your account. Tell whoever runs the application.",
	}
	noInteraction = notice{
		"This sign-in is over",
		"It was begun more than ten minutes ago, in another browser, or it is finished already. Go back to the application and sign in again.",
	}
	foreignForm = notice{
		"This form came from elsewhere",
		"For your safety only the sign-in page itself may send it. Go back to the application and sign in again.",
	}
	signedOut  = notice{"You are signed out", "You can close this page."}
	tooMany    = notice{"Too many requests", "Wait a minute, then try again."}
	badReturn  = notice{"You are signed out", "The application asked for you to be sent to a place that is not its own, so you are still here. You can close this page."}
	lostReturn = notice{
		"This sign-in is over",
		"The sign-in service sent you back too late, or to another browser than the one you began in. Go back to the application and sign in again.",
	}
)

// view returns the page of an interaction.
func (s *Service) view(r *http.Request, it interaction, client Client, step string) view {
	v := view{
		Step: step, Client: client.name(), Email: it.LoginHint, Request: gateway.CorrelationID(r.Context()),
		Action: it.page(s) + "/login", Here: it.page(s), Local: !s.o.DisableSignin, targets: formTarget(it.RedirectURI),
	}
	if !client.Trusted {
		v.Scopes = scopeTexts(it.Scopes)
	}
	if v.Local {
		v.Reset = s.o.Consoles[0] + "reset"
	}
	if s.offersSignUp() {
		v.Signup = it.page(s) + "?step=" + stepCreate
		if client.ID == ConsoleClient {
			v.Signup = s.o.Consoles[0] + "sign-up"
		}
	}
	for _, p := range s.rps {
		query := url.Values{"provider": {p.Slug}, "interaction": {it.ID}}
		v.Providers = append(v.Providers, button{p.name(), s.path("/v2/login?", query.Encode())})
	}
	return v
}

// formTarget returns a redirect URI as a source of the Content-Security-Policy: browsers also check
// the redirects after a form.
func formTarget(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil || u.Scheme == "" {
		return ""
	}
	if isWeb(u) {
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + ":"
}

// renderPage renders v.
func (s *Service) renderPage(status int, v view) *gateway.Content {
	v.Style = template.CSS(styleText)
	titles := map[string]string{stepPassword: "Sign in", stepCreate: "Create an account", stepCode: "Enter your code", stepConsent: "Continue to " + v.Client}
	if v.Title == "" {
		v.Title = titles[v.Step]
	}
	var body bytes.Buffer
	if err := s.pages.tmpl.Execute(&body, v); err != nil {
		panic(fmt.Errorf("oidc: render a page: %w", err)) // cannot happen: all values are ours
	}
	policy := s.pages.policy + "'none'"
	if v.Action != "" {
		policy = s.pages.policy + "'self' " + v.targets
	}
	return &gateway.Content{Type: "text/html; charset=utf-8", Status: status, Body: body.Bytes(), Header: http.Header{
		"Content-Security-Policy": {policy},
		"Referrer-Policy":         {"same-origin"}, // otherwise a form is sent without its origin
		"X-Frame-Options":         {"DENY"},
		"Cache-Control":           {"no-store"},
	}}
}

// noticePage returns a page that ends a sign-in.
func (s *Service) noticePage(r *http.Request, status int, n notice) *gateway.Content {
	return s.renderPage(status, view{Step: stepNotice, Title: n.title, Text: n.text, Request: gateway.CorrelationID(r.Context())})
}

// rateLimitPage returns the page for too many requests; other errors are returned.
func (s *Service) rateLimitPage(r *http.Request, err error) (any, error) {
	if domain.CodeOf(err) != domain.CodeRateLimit {
		return nil, err
	}
	return withRetry(s.noticePage(r, http.StatusTooManyRequests, tooMany), err), nil
}

// withRetry adds the Retry-After of an error.
func withRetry(answer any, err error) any {
	page, ok := answer.(*gateway.Content)
	if refusal, known := errors.AsType[*domain.Error](err); ok && known {
		page.Header.Set("Retry-After", fmt.Sprint(refusal.Details["retryAfter"]))
	}
	return answer
}

// reasonOf returns the reason of a refusal, or "".
func reasonOf(err error) string {
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		reason, _ := refusal.Details["reason"].(string)
		return reason
	}
	return ""
}
