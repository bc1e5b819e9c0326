package oidc

import (
	"maps"
	"net/http"
	"net/url"

	"svc/domain"
	"svc/domain/session"
	"svc/http/gateway"
)

// endSession handles GET /oidc/session/end. It ends the session that the
// id_token_hint names, and that of the browser unless it is somebody else's.
func (s *Service) endSession(r *http.Request) (any, error) {
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "document" && dest != "iframe" {
		return nil, domain.Refuse(domain.CodeInvalidRequest, "a session is ended by going here, not by loading it as part of a page")
	}
	ctx, query := r.Context(), r.URL.Query()
	clientID, user := query.Get("client_id"), ""
	claims, ok, err := s.hint(ctx, query.Get("id_token_hint"))
	if err != nil {
		return nil, err
	}
	if ok {
		clientID, user = claims.AuthorizedParty, claims.Subject
		if _, err := s.o.Sessions.End(ctx, user, claims.SessionID, session.CauseLogout); err != nil {
			return nil, err
		}
	}
	gone, err := s.endOwn(r, user)
	if err != nil {
		return nil, err
	}
	return s.leave(r, clientID, gone)
}

// endOwn ends the session of the browser, unless user is somebody else, and
// returns the cookie that takes its token away.
func (s *Service) endOwn(r *http.Request, user string) (gone *http.Cookie, err error) {
	gone = tokenCookie(r, "", 0)
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

// leave sends who signed out to where the client wants them, or shows a page.
func (s *Service) leave(r *http.Request, clientID string, gone *http.Cookie) (any, error) {
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
	answer := s.stopped(r, http.StatusOK, page)
	maps.Copy(answer.Header, header)
	return answer, nil
}
