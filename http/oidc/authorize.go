package oidc

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	protocol "github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
	"svc/http/gateway"
)

// authorize handles GET /oidc/auth. It redirects a signed-in user to the client with a code, and
// others to the sign-in page. Before the redirect URI is checked, a fault is a page; after that it
// is sent to the client.
func (s *Service) authorize(r *http.Request) (any, error) {
	if err := limitAddress(r); err != nil {
		return s.rateLimitPage(r, err)
	}
	ctx, query := r.Context(), r.URL.Query()
	client, ok, err := s.client(ctx, query.Get("client_id"))
	if err != nil {
		return nil, err
	}
	redirect := query.Get("redirect_uri")
	if len(query["client_id"]) > 1 || len(query["redirect_uri"]) > 1 || !ok || !client.allows(redirect) {
		return s.noticePage(r, http.StatusBadRequest, wrongClient), nil
	}
	a, f := parseAuthRequest(client, query)
	if f == nil {
		f, err = s.readHint(ctx, &a, query.Get("id_token_hint"))
	}
	if err != nil {
		return nil, err
	}
	if f != nil {
		return s.redirectWithFault(a, *f), nil
	}
	if a.Create = a.Create && s.offersSignUp(); a.Create {
		return s.startInteraction(r, a)
	}
	return s.answer(r, client, a)
}

// answer decides whether the user must sign in or consent.
func (s *Service) answer(r *http.Request, client Client, a authRequest) (any, error) {
	session, ok, err := s.browserSession(r)
	if err != nil {
		return nil, err
	}
	missing := "login_required"
	if ok = ok && s.satisfies(session, a); ok {
		missing = "consent_required"
		if ok, err = s.hasConsented(r.Context(), client, session.UserID, a); err != nil {
			return nil, err
		}
	}
	switch {
	case ok:
		return s.sendCode(r.Context(), a, session)
	case a.silent:
		return s.redirectWithFault(a, fault{missing, "somebody must be asked on a page"}), nil
	}
	return s.startInteraction(r, a)
}

// startInteraction stores the request and redirects to the sign-in page.
func (s *Service) startInteraction(r *http.Request, a authRequest) (any, error) {
	secret, cookie := knownBrowser(r)
	it := interaction{authRequest: a, ID: newSecret(), Browser: digest(secret)}
	if err := s.storeInteraction(r.Context(), it); err != nil {
		return nil, err
	}
	return gateway.Redirect(s.path("/oidc/interaction/", it.ID)).WithCookie(cookie), nil
}

func (s *Service) storeInteraction(ctx context.Context, it interaction) error {
	return put(ctx, s.o.Store, keyInteraction+it.ID, it, interactionLifetime)
}

// sendCode sends the browser back with a code for a session.
func (s *Service) sendCode(ctx context.Context, a authRequest, session sessions.Session) (any, error) {
	code, err := s.issueSecret(ctx, keyCode, grant{
		ClientID: a.ClientID, RedirectURI: a.RedirectURI, Nonce: a.Nonce, Challenge: a.Challenge, Scopes: a.Scopes,
		UserID: session.UserID, SessionID: session.ID,
	}, codeLifetime)
	if err != nil {
		return nil, err
	}
	return s.redirectToClient(a, url.Values{"code": {code}}), nil
}

// browserSession returns the session of the browser, if its cookie has one of a signed-in user.
// Access tokens, visitors and sessions without their second factor do not count.
func (s *Service) browserSession(r *http.Request) (sessions.Session, bool, error) {
	cookie, err := r.Cookie(gateway.CookieName)
	if err != nil || cookie.Value == "" {
		return sessions.Session{}, false, nil
	}
	userID, id, ok := s.o.Who(r.Context(), cookie.Value)
	if !ok {
		return sessions.Session{}, false, nil
	}
	session, ok, err := s.o.Sessions.Get(r.Context(), userID, id)
	return session, ok && !session.Anonymous && !session.MFAPending, err
}

// satisfies reports whether a session is the requested one: of the right user, and young enough.
func (s *Service) satisfies(session sessions.Session, a authRequest) bool {
	if a.Subject != "" && a.Subject != session.UserID {
		return false
	}
	return a.MaxAge == nil || s.o.Now().Sub(session.CreatedAt) < time.Duration(*a.MaxAge)*time.Second
}

// promptCreate asks for the page on which an account is made (OpenID Connect, Initiating User Registration 1.0).
const promptCreate = "create"

// offersSignUp reports whether accounts can be made on the page.
func (s *Service) offersSignUp() bool { return !s.o.DisableSignin && !s.o.DisableSignup }

// maxMaxAge is the largest max_age, in seconds: it must fit into a time.Duration.
const maxMaxAge = 10 * 365 * 24 * 3600

// parseAuthRequest reads the request of a known client. With a fault, the result can still be used
// for the redirect to the client.
func parseAuthRequest(client Client, query url.Values) (a authRequest, f *fault) {
	a = authRequest{
		ClientID: client.ID, RedirectURI: query.Get("redirect_uri"), State: query.Get("state"), Nonce: query.Get("nonce"),
		Challenge: query.Get("code_challenge"), LoginHint: query.Get("login_hint"),
	}
	if f = checkShape(client, query); f != nil {
		return a, f
	}
	if a.Scopes = grantableScopes(client, strings.Fields(query.Get("scope"))); !slices.Contains(a.Scopes, protocol.ScopeOpenID) {
		return a, &fault{"invalid_scope", "the scope must hold openid"}
	}
	if text := query.Get("max_age"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n > maxMaxAge {
			return a, badRequest("max_age must be a number of seconds")
		}
		a.MaxAge = protocol.NewMaxAge(uint(n))
	}
	prompts := strings.Fields(query.Get("prompt"))
	var err error
	if a.MaxAge, err = op.ValidateAuthReqPrompt(prompts, a.MaxAge); err != nil {
		return a, faultOf(err)
	}
	if slices.Contains(prompts, protocol.PromptSelectAccount) {
		a.MaxAge = protocol.NewMaxAge(0)
	}
	a.silent = slices.Contains(prompts, protocol.PromptNone)
	a.Create = slices.Contains(prompts, promptCreate)
	a.Consent = slices.Contains(prompts, protocol.PromptConsent) && !client.Trusted
	return a, nil
}

// checkShape refuses what is not the code flow with PKCE S256.
func checkShape(client Client, query url.Values) *fault {
	for name, values := range query {
		if len(values) > 1 {
			return badRequest(truncateName(name) + " was given twice")
		}
	}
	if query.Get("request") != "" || query.Get("request_uri") != "" {
		return &fault{string(protocol.RequestNotSupported), "request objects are not supported"}
	}
	if err := op.ValidateAuthReqResponseType(publicClient{client: client}, protocol.ResponseType(query.Get("response_type"))); err != nil {
		if query.Get("response_type") != "" {
			return &fault{"unsupported_response_type", "response_type must be code"}
		}
		return faultOf(err)
	}
	if mode := query.Get("response_mode"); mode != "" && mode != string(protocol.ResponseModeQuery) {
		return badRequest("response_mode must be query")
	}
	if query.Get("code_challenge_method") != string(protocol.CodeChallengeMethodS256) || !isChallenge(query.Get("code_challenge")) {
		return badRequest("PKCE is required: a code_challenge of 43 characters with code_challenge_method=S256")
	}
	return nil
}

// isChallenge reports whether text can be a SHA-256 in base64 (RFC 7636).
func isChallenge(text string) bool {
	return len(text) == 43 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// truncateName truncates a name that a client chose.
func truncateName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, name[:min(len(name), 40)])
}

// readHint sets the user who must sign in.
func (s *Service) readHint(ctx context.Context, a *authRequest, token string) (*fault, error) {
	if token == "" {
		return nil, nil
	}
	claims, ok, err := s.parseHint(ctx, token)
	if err != nil {
		return nil, err
	}
	if !ok {
		return badRequest("the id_token_hint is not a token of this provider"), nil
	}
	a.Subject = claims.Subject
	return nil, nil
}

// consent has the scopes that a user gave a client.
type consent struct {
	Scopes []string `json:"scopes"`
}

func consentKey(userID, clientID string) string {
	return keyConsent + userID + "/" + digest(clientID)
}

// hasConsented reports whether the user has consented to the scopes. Clients of the platform need no
// consent.
func (s *Service) hasConsented(ctx context.Context, client Client, userID string, a authRequest) (bool, error) {
	if client.Trusted || a.Consent {
		return client.Trusted, nil
	}
	given, ok, err := get[consent](ctx, s.o.Store, consentKey(userID, client.ID))
	if err != nil || !ok {
		return false, err
	}
	return !slices.ContainsFunc(a.Scopes, func(scope string) bool { return !slices.Contains(given.Scopes, scope) }), nil
}

// limitAddress counts an unauthenticated request.
func limitAddress(r *http.Request) error {
	return gateway.Limit(r.Context(), gateway.RateRequests, "oidc:"+gateway.ClientIP(r).String())
}

// openInteraction returns the interaction of a request, for the browser in which it began; answer is
// the page when there is none.
func (s *Service) openInteraction(r *http.Request) (it interaction, client Client, answer any, err error) {
	ctx := r.Context()
	it, ok, err := get[interaction](ctx, s.o.Store, keyInteraction+gateway.Var(r, "uid"))
	if err != nil {
		return it, client, nil, err
	}
	if !ok || !sameBrowser(r, it.Browser) {
		return it, client, s.noticePage(r, http.StatusBadRequest, noInteraction), nil
	}
	if client, ok, err = s.client(ctx, it.ClientID); err == nil && !ok {
		answer = s.noticePage(r, http.StatusBadRequest, wrongClient)
	}
	return it, client, answer, err
}

// page returns the path of the sign-in page.
func (it interaction) page(s *Service) string { return s.path("/oidc/interaction/", it.ID) }

// interact handles GET /oidc/interaction/{uid}.
func (s *Service) interact(r *http.Request) (any, error) {
	it, client, answer, err := s.openInteraction(r)
	if err != nil || answer != nil {
		return answer, err
	}
	query := r.URL.Query()
	v := s.view(r, it, client, stepPassword)
	v.Problem = problems[query.Get("problem")]
	switch {
	case query.Get("step") == stepPassword:
	case query.Get("step") == stepCreate && s.offersSignUp():
		v.Step = stepCreate
	case it.SessionID != "":
		session, ok, err := s.o.Sessions.Get(r.Context(), it.UserID, it.SessionID)
		if err != nil {
			return nil, err
		}
		if ok && session.MFAPending {
			v.Step, v.Email = stepCode, ""
		}
	case it.Sealed != nil:
		v.Step, v.Email = stepCode, it.Email
	case it.Create:
		v.Step = stepCreate
	default:
		return s.offerConsent(r, it, client, v)
	}
	return s.renderPage(http.StatusOK, v), nil
}

// offerConsent shows a signed-in user the consent page, when only the consent is missing.
func (s *Service) offerConsent(r *http.Request, it interaction, client Client, v view) (any, error) {
	session, ok, err := s.browserSession(r)
	if err != nil {
		return nil, err
	}
	if !ok || client.Trusted || !s.satisfies(session, it.authRequest) {
		return s.renderPage(http.StatusOK, v), nil
	}
	person, ok, err := s.o.User(r.Context(), session.UserID)
	if err == nil && ok {
		v.Step, v.Account = stepConsent, person.Email
	}
	return s.renderPage(http.StatusOK, v), err
}

// resume handles GET /oidc/auth/{uid}: the end of an interaction.
func (s *Service) resume(r *http.Request) (any, error) {
	it, client, answer, err := s.openInteraction(r)
	if err != nil || answer != nil {
		return answer, err
	}
	if it.SessionID == "" {
		return gateway.Redirect(it.page(s)), nil
	}
	ctx := r.Context()
	session, ok, err := s.o.Sessions.Get(ctx, it.UserID, it.SessionID)
	if err != nil {
		return nil, err
	}
	if !ok { // it ended meanwhile
		it.UserID, it.SessionID = "", ""
		return gateway.Redirect(it.page(s)), s.storeInteraction(ctx, it)
	}
	if f, wait, err := s.checkMFA(ctx, client, session); err != nil || wait {
		return gateway.Redirect(it.page(s)), err
	} else if f != nil {
		return s.redirectWithFault(it.authRequest, *f), nil
	}
	if it.Subject != "" && it.Subject != session.UserID {
		return s.redirectWithFault(it.authRequest, fault{"login_required", "somebody else signed in than the id_token_hint names"}), nil
	}
	return s.finish(r, it, client, session)
}

// checkMFA decides about a session without its second factor: the page asks for the code (wait). A
// user who must set it up first can do so in the console, and is refused by other clients.
func (s *Service) checkMFA(ctx context.Context, client Client, session sessions.Session) (f *fault, wait bool, err error) {
	if !session.MFAPending {
		return nil, false, nil
	}
	person, ok, err := s.o.User(ctx, session.UserID)
	if err != nil || ok && person.MFA == user.MFATOTP {
		return nil, true, err
	}
	if client.ID == ConsoleClient {
		return nil, false, nil
	}
	return &fault{"access_denied", "the account needs a second factor, which is set up in the console"}, false, nil
}

// finish ends an interaction with a code, once. The user has seen a page with the client and its
// scopes before.
func (s *Service) finish(r *http.Request, it interaction, client Client, session sessions.Session) (any, error) {
	ctx := r.Context()
	_, ok, err := getAndDelete[interaction](ctx, s.o.Store, keyInteraction+it.ID)
	if err != nil {
		return nil, err
	}
	if !ok {
		return s.noticePage(r, http.StatusBadRequest, noInteraction), nil
	}
	if !client.Trusted {
		if err := put(ctx, s.o.Store, consentKey(session.UserID, client.ID), consent{it.Scopes}, ConsentLifetime); err != nil {
			return nil, err
		}
	}
	return s.sendCode(ctx, it.authRequest, session)
}

// toProblem redirects to the page with a problem.
func (it interaction) toProblem(s *Service, problem string) *gateway.Answer {
	return gateway.Redirect(it.page(s) + "?" + url.Values{"problem": {problem}}.Encode())
}

// signInForm is one POST of the sign-in form.
type signInForm struct {
	s      *Service
	r      *http.Request
	it     interaction
	client Client
	form   url.Values
}

// signIn handles POST /oidc/interaction/{uid}/login.
func (s *Service) signIn(r *http.Request) (any, error) {
	it, client, answer, err := s.openInteraction(r)
	if err != nil || answer != nil {
		return answer, err
	}
	if !sameSite(r) {
		return s.noticePage(r, http.StatusForbidden, foreignForm), nil
	}
	form, err := readForm(r)
	if err != nil {
		return nil, err
	}
	a := signInForm{s, r, it, client, form}
	switch {
	case form.Get("consent") != "":
		return a.consent()
	case form.Get("create") != "":
		return a.create()
	case it.SessionID != "" && form.Get("password") == "":
		return a.confirmMFA()
	}
	return a.password()
}

// readForm reads the body of a form.
func readForm(r *http.Request) (url.Values, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return nil, gateway.RefuseStatus(http.StatusUnsupportedMediaType, "the body must be application/x-www-form-urlencoded")
	}
	if err := r.ParseForm(); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return nil, err
		}
		return nil, domain.Refuse(domain.CodeInvalidRequest, "the form is malformed")
	}
	return r.PostForm, nil
}

// showForm shows the form again with a problem.
func (a signInForm) showForm(status int, step, problem string) (any, error) {
	v := a.s.view(a.r, a.it, a.client, step)
	v.Email, v.Problem = strings.TrimSpace(a.form.Get("login")), problems[problem]
	v.FirstName, v.LastName = strings.TrimSpace(a.form.Get("firstName")), strings.TrimSpace(a.form.Get("lastName"))
	return a.s.renderPage(status, v), nil
}

// password signs in with the values of the form. A right password that needs a code is sealed for
// the next step with the secret of the browser.
func (a signInForm) password() (any, error) {
	email, password := strings.TrimSpace(a.form.Get("login")), a.form.Get("password")
	code := strings.ReplaceAll(a.form.Get("totp"), " ", "")
	step, secret := stepPassword, browserSecret(a.r)
	if stored, ok := openPassword(secret, a.it.ID, a.it.Sealed); ok && password == "" && user.NormalEmail(email) == a.it.Email {
		password, step = stored, stepCode
	}
	if email == "" || password == "" || step == stepCode && code == "" {
		return a.showForm(http.StatusBadRequest, step, "incomplete")
	}
	known, err := gateway.LimitLogin(a.r, user.NormalEmail(email))
	if err != nil {
		return a.showLimited(step, err)
	}
	opened, err := a.s.o.Accounts.SignIn(a.r.Context(), accounts.Login{
		Email: email, Password: password, TOTP: code, Client: clientOf(a.r, a.it.ClientID), Known: known,
		LimitCode: func() error { return gateway.LimitAccount(a.r.Context(), user.NormalEmail(email)) },
	})
	switch reason := reasonOf(err); {
	case err == nil:
		answer, err := a.s.signedIn(a.r, a.it, opened)
		if err != nil {
			return nil, err
		}
		return answer.WithCookie(gateway.RememberDevice(a.r, user.NormalEmail(email))), nil
	case domain.CodeOf(err) == domain.CodeRateLimit:
		return a.showLimited(step, err)
	case domain.CodeOf(err) == domain.CodePermissionDenied:
		return a.showForm(http.StatusForbidden, stepPassword, "local_disabled")
	case domain.CodeOf(err) != domain.CodeInvalidCredentials:
		return nil, err
	case reason == "mfa_required" && step == stepPassword:
		return a.askCode(secret, email, password)
	case reason == "email_not_validated" || reason == "manual_validation":
		return a.showForm(http.StatusUnauthorized, stepPassword, reason)
	case step == stepCode:
		return a.showForm(http.StatusUnauthorized, stepCode, "code")
	}
	return a.showForm(http.StatusUnauthorized, stepPassword, "credentials")
}

// create makes an account with the values of the form. One that is valid at once is signed in; else the page says what
// it waits for.
func (a signInForm) create() (any, error) {
	in := accounts.SignUp{
		Email: strings.TrimSpace(a.form.Get("login")), Password: a.form.Get("password"),
		FirstName: strings.TrimSpace(a.form.Get("firstName")), LastName: strings.TrimSpace(a.form.Get("lastName")), IP: gateway.ClientIP(a.r).String(),
	}
	if !a.s.offersSignUp() {
		return a.showForm(http.StatusForbidden, stepPassword, "signup_disabled")
	}
	if in.Email == "" || in.Password == "" || in.FirstName == "" || in.LastName == "" {
		return a.showForm(http.StatusBadRequest, stepCreate, "incomplete")
	}
	if err := gateway.LimitSignup(a.r); err != nil {
		return a.showLimited(stepCreate, err)
	}
	_, validation, err := a.s.o.Accounts.SignUp(a.r.Context(), in)
	switch domain.CodeOf(err) {
	case domain.CodeNone:
	case domain.CodeAlreadyExists:
		return a.showForm(http.StatusConflict, stepCreate, "email_used")
	case domain.CodePermissionDenied:
		return a.showForm(http.StatusForbidden, stepPassword, "signup_disabled")
	case domain.CodeValidation:
		v := a.s.view(a.r, a.it, a.client, stepCreate)
		v.Email, v.FirstName, v.LastName, v.Problem = in.Email, in.FirstName, in.LastName, describeFaults(err)
		return a.s.renderPage(http.StatusUnprocessableEntity, v), nil
	default:
		return a.showLimited(stepCreate, err)
	}
	if validation == accounts.ValidationAuto {
		return a.password()
	}
	v := a.s.view(a.r, a.it, a.client, stepPassword)
	v.Email, v.Done = in.Email, created[validation]
	return a.s.renderPage(http.StatusOK, v), nil
}

// askCode stores the sealed password for the next step and redirects there.
func (a signInForm) askCode(secret, email, password string) (any, error) {
	text, err := sealPassword(secret, a.it.ID, password)
	if err != nil {
		return nil, err
	}
	a.it.Email, a.it.Sealed = user.NormalEmail(email), text
	return gateway.Redirect(a.it.page(a.s)), a.s.storeInteraction(a.r.Context(), a.it)
}

// confirmMFA checks the second factor of a session that was opened elsewhere.
func (a signInForm) confirmMFA() (any, error) {
	ctx, code := a.r.Context(), strings.ReplaceAll(a.form.Get("totp"), " ", "")
	session, ok, err := a.s.o.Sessions.Get(ctx, a.it.UserID, a.it.SessionID)
	if err != nil {
		return nil, err
	}
	if !ok || !session.MFAPending {
		return gateway.Redirect(a.it.end(a.s)), nil
	}
	if code == "" {
		return a.showForm(http.StatusBadRequest, stepCode, "incomplete")
	}
	if err := a.limitUser(session); err != nil {
		return a.showLimited(stepCode, err)
	}
	err = a.s.o.Accounts.ShowCode(ctx, session, code, gateway.ClientIP(a.r).String())
	if domain.CodeOf(err) == domain.CodeInvalidCredentials {
		return a.showForm(http.StatusUnauthorized, stepCode, "code")
	}
	return gateway.Redirect(a.it.end(a.s)), err
}

// limitUser counts a code like a password: by the address of its account.
func (a signInForm) limitUser(session sessions.Session) error {
	person, _, err := a.s.o.User(a.r.Context(), session.UserID)
	if err != nil {
		return err
	}
	subject := person.Email
	if subject == "" {
		subject = session.UserID
	}
	return gateway.LimitAccount(a.r.Context(), subject)
}

// consent continues as the signed-in user.
func (a signInForm) consent() (any, error) {
	session, ok, err := a.s.browserSession(a.r)
	if err != nil {
		return nil, err
	}
	if !ok || !a.s.satisfies(session, a.it.authRequest) {
		return gateway.Redirect(a.it.page(a.s) + "?step=" + stepPassword), nil
	}
	a.it.UserID, a.it.SessionID = session.UserID, session.ID
	return gateway.Redirect(a.it.end(a.s)), a.s.storeInteraction(a.r.Context(), a.it)
}

// end returns the path where an interaction ends.
func (it interaction) end(s *Service) string { return s.path("/oidc/auth/", it.ID) }

// signedIn stores the session and continues. The browser is signed in, too.
func (s *Service) signedIn(r *http.Request, it interaction, session sessions.Session) (*gateway.Answer, error) {
	it.UserID, it.SessionID, it.Email, it.Sealed = session.UserID, session.ID, "", nil
	if err := s.storeInteraction(r.Context(), it); err != nil {
		return nil, err
	}
	cookie, err := s.loginCookie(r, session)
	if err != nil {
		return nil, err
	}
	return gateway.Redirect(it.end(s)).WithCookie(cookie), nil
}

// showLimited shows the form after too many attempts.
func (a signInForm) showLimited(step string, err error) (any, error) {
	if domain.CodeOf(err) != domain.CodeRateLimit {
		return nil, err
	}
	answer, _ := a.showForm(http.StatusTooManyRequests, step, "limit")
	return withRetry(answer, err), nil
}

// clientOf returns the client of a sign-in.
func clientOf(r *http.Request, clientID string) accounts.Client {
	return accounts.Client{IP: gateway.ClientIP(r).String(), UserAgent: r.UserAgent(), ClientID: clientID}
}

// endSession handles GET /oidc/session/end. It ends the session that the
// id_token_hint names, and that of the browser unless it is somebody else's.
func (s *Service) endSession(r *http.Request) (any, error) {
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "document" && dest != "iframe" {
		return nil, domain.Refuse(domain.CodeInvalidRequest, "a session is ended by going here, not by loading it as part of a page")
	}
	ctx, query := r.Context(), r.URL.Query()
	clientID, user := query.Get("client_id"), ""
	claims, ok, err := s.parseHint(ctx, query.Get("id_token_hint"))
	if err != nil {
		return nil, err
	}
	if ok {
		clientID, user = claims.AuthorizedParty, claims.Subject
		if _, err := s.o.Sessions.End(ctx, user, claims.SessionID, session.CauseLogout); err != nil {
			return nil, err
		}
	}
	gone, err := s.endBrowserSession(r, user)
	if err != nil {
		return nil, err
	}
	return s.afterLogout(r, clientID, gone)
}

// endBrowserSession ends the session of the browser, unless it is of another user, and returns the
// cookie that deletes its token.
func (s *Service) endBrowserSession(r *http.Request, user string) (gone *http.Cookie, err error) {
	gone = gateway.SessionCookie(r, "", 0)
	cookie, err := r.Cookie(gateway.CookieName)
	if err != nil {
		return gone, nil
	}
	owner, id, ok := s.o.Who(r.Context(), cookie.Value)
	if !ok {
		return gone, nil
	}
	if user != "" && user != owner {
		return nil, nil
	}
	_, err = s.o.Sessions.End(r.Context(), owner, id, session.CauseLogout)
	return gone, err
}

// afterLogout redirects to the client, or shows a page.
func (s *Service) afterLogout(r *http.Request, clientID string, gone *http.Cookie) (any, error) {
	query, header := r.URL.Query(), http.Header{}
	if gone != nil {
		header.Add("Set-Cookie", gone.String())
	}
	target, page := query.Get("post_logout_redirect_uri"), signedOut
	if target != "" {
		client, ok, err := s.client(r.Context(), clientID)
		if err != nil {
			return nil, err
		}
		if ok && client.allowsReturn(target) {
			values := url.Values{}
			if state := query.Get("state"); state != "" {
				values.Set("state", state)
			}
			header.Set("Location", withQuery(target, values))
			return &gateway.Answer{Status: http.StatusFound, Header: header}, nil
		}
		page = badReturn
	}
	answer := s.noticePage(r, http.StatusOK, page)
	maps.Copy(answer.Header, header)
	return answer, nil
}

// A sign-in belongs to the browser in which it began. The browser has a secret in a cookie, the
// sign-in its digest: without the cookie it cannot be continued, neither with its address nor by
// another site.

// browserCookie is the name of that cookie. Over HTTPS the prefix keeps other
// hosts of the same domain from setting it.
func browserCookie(r *http.Request) string {
	if gateway.Secure(r) {
		return "__Host-svc-signin"
	}
	return "svc-signin"
}

const secretLength = 26 // of newSecret

// browserSecret returns the secret of the browser, or "".
func browserSecret(r *http.Request) string {
	cookie, err := r.Cookie(browserCookie(r))
	if err != nil || len(cookie.Value) != secretLength {
		return ""
	}
	return cookie.Value
}

// knownBrowser returns the secret of the browser and its cookie. An existing one is kept: the browser
// may have another sign-in.
func knownBrowser(r *http.Request) (secret string, cookie *http.Cookie) {
	if secret = browserSecret(r); secret == "" {
		secret = newSecret()
	}
	return secret, &http.Cookie{
		Name: browserCookie(r), Value: secret, Path: "/", MaxAge: int(interactionLifetime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: gateway.Secure(r),
	}
}

// sameBrowser reports whether r comes from the browser with this digest.
func sameBrowser(r *http.Request, known string) bool {
	secret := browserSecret(r)
	return secret != "" && subtle.ConstantTimeCompare([]byte(digest(secret)), []byte(known)) == 1
}

// sameSite reports whether a form was sent from our own page, as far as the browser says.
func sameSite(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin" || site == "none"
	}
	from := r.Header.Get("Origin")
	u, err := url.Parse(from)
	return from == "" || err == nil && u.Host == r.Host
}

// sealPassword encrypts a password between two steps of a sign-in, with the secret of the browser,
// which is not stored.
func sealPassword(secret, id, password string) ([]byte, error) {
	box, err := newCipher(secret, id)
	if err != nil {
		return nil, err
	}
	return box.Seal(nil, nil, []byte(password), []byte(id)), nil
}

func openPassword(secret, id string, text []byte) (password string, ok bool) {
	box, err := newCipher(secret, id)
	if err != nil || len(text) == 0 {
		return "", false
	}
	plain, err := box.Open(nil, nil, text, []byte(id))
	return string(plain), err == nil
}

func newCipher(secret, id string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), []byte(id), "svc sign-in password", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
