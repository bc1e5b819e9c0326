package node

import (
	"context"
	"net/url"
	"strings"
	"time"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/domain/session"
	"svc/domain/workspace"
	"svc/http/api/files"
	"svc/http/oidc"
	"svc/http/pages"
	"svc/projections"
)

// openPages opens what shows the pages of workspaces.
func (n *Node) openPages(ctx context.Context) error {
	views, err := n.store.Buckets.OpenRecords(ctx, "PAGES", pages.StyleLifetime)
	if err != nil {
		return err
	}
	c := n.config()
	n.pages = pages.New(pages.Options{
		ReadModel: n.models, Library: n.workspaces.library, Shelf: n.workspaces.library.Shelf, Access: n.identity.identity, Programs: n.automations.programs,
		Runtime: n.automations.runtime, Emitter: n.emitter(), Record: n.engine.Record, Feed: n.events.feed, Views: views, Visitors: n.identity.accounts,
		Uploads: pageUploads{n.fileHandlers()}, SignIn: pageSignIn{n},
		PagesHost: func() string { return n.config().HTTP.PagesHost }, APIURL: c.HTTP.APIURL,
		Timeout: func() time.Duration { return n.config().Runtime.PagesTimeout }, Heartbeat: c.HTTP.SSEHeartbeat, Log: n.log,
	})
	return nil
}

// pageSignIn signs visitors of pages in with the OpenID provider of the platform.
type pageSignIn struct{ n *Node }

// AuthorizeURL implements pages.SignIn.
func (p pageSignIn) AuthorizeURL() string { return p.n.config().HTTP.Issuer() + "/oidc/auth" }

// Redeem implements pages.SignIn. The visitor gets a session of their own: that of the provider stays with it.
func (p pageSignIn) Redeem(ctx context.Context, r pages.Redemption) (accounts.LoginResult, error) {
	opened, err := p.n.identity.signIn.RedeemCode(ctx, r.ClientID, r.Code, r.RedirectURI, r.Verifier)
	if err != nil {
		return accounts.LoginResult{}, err
	}
	own, err := p.n.identity.sessions.Open(ctx, sessions.Opening{
		UserID: opened.UserID, IP: r.From.IP, UserAgent: r.From.UserAgent, Provider: opened.Provider, ClientID: r.ClientID, MFA: opened.MFA, MFAPending: opened.MFAPending,
	})
	if err != nil {
		return accounts.LoginResult{}, err
	}
	return p.n.identity.accounts.Issue(ctx, own, "")
}

// End implements pages.SignIn.
func (p pageSignIn) End(ctx context.Context, userID, sessionID string) error {
	_, err := p.n.identity.sessions.End(ctx, userID, sessionID, session.CauseLogout)
	return err
}

// workspaceClient is the client that the visitors of a workspace sign in with: it returns them to its pages.
func (n *Node) workspaceClient(_ context.Context, clientID string) (client oidc.Client, ok bool, err error) {
	id, isWorkspace := strings.CutPrefix(clientID, workspace.ClientID(""))
	if !isWorkspace {
		return client, false, nil
	}
	var rec projections.Record
	err = n.models.View(func(r projections.Reader) (err error) {
		rec, ok, err = projections.Workspaces{}.Record(r, id)
		return err
	})
	if err != nil || !ok || rec.Deleted != nil {
		return client, false, err
	}
	h := n.config().HTTP
	origin, err := url.Parse(h.Origin())
	if err != nil {
		return client, false, err
	}
	port := ""
	if p := origin.Port(); p != "" {
		port = ":" + p
	}
	hosts := []string{}
	if h.PagesHost != "" {
		host := rec.Meta.Slug + strings.ToLower(h.PagesHost)
		if !strings.Contains(h.PagesHost, ":") {
			host += port
		}
		hosts = append(hosts, host)
	}
	client = oidc.Client{ID: clientID, Name: rec.Meta.Name, Trusted: true}
	client.RedirectURIs = append(client.RedirectURIs, h.Origin()+pages.Prefix+url.PathEscape(rec.Meta.Slug)+"/_svc/callback")
	for _, host := range append(hosts, rec.Meta.CustomDomains...) {
		client.RedirectURIs = append(client.RedirectURIs, origin.Scheme+"://"+host+"/_svc/callback")
	}
	for _, host := range rec.Meta.CustomDomains {
		client.RedirectURIs = append(client.RedirectURIs, "https://"+host+"/_svc/callback", origin.Scheme+"://"+host+port+"/_svc/callback")
	}
	return client, true, nil
}

// pageUploads stores files that visitors send.
type pageUploads struct{ files *files.Handlers }

// Store implements pages.Uploads.
func (p pageUploads) Store(ctx context.Context, workspaceID string, u pages.Upload) (pages.StoredFile, error) {
	stored, address, err := p.files.StoreForVisitor(ctx, workspaceID, u.Name, u.Type, u.Content)
	return pages.StoredFile{ID: stored.ID, URL: address, Name: stored.Name, MimeType: stored.Mimetype, Size: stored.Size}, err
}
