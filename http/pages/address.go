package pages

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"svc/commands/apps"
	"svc/domain"
	"svc/domain/page"
	"svc/http/gateway"
	"svc/projections"
)

// Prefix is the path on the host of the API below which the pages of all workspaces are served.
const Prefix = "/pages/"

// place is the workspace that a request is about, and where its pages are served.
type place struct {
	workspaceID string
	record      projections.Record
	settings    *settings
	site        site
	ownHost     bool   // a sub-domain of PAGES_HOST, or a domain of the workspace
	path        string // below the base, without the leading slash, decoded
}

// dnsLabel is a slug that can be a sub-domain.
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// hostOf returns the host of a request in lower case without its port.
func hostOf(r *http.Request) string {
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(host, ".")
}

// pagesSuffix returns PAGES_HOST without its port; "" when it is not set.
func (p *Pages) pagesSuffix() string {
	suffix := strings.ToLower(p.PagesHost())
	if name, _, ok := strings.Cut(suffix, ":"); ok {
		suffix = name
	}
	return suffix
}

// OnOwnHost reports whether a request came to a host of pages: a sub-domain of PAGES_HOST, or a domain of a workspace.
func (p *Pages) OnOwnHost(r *http.Request) bool {
	host := hostOf(r)
	if slug, ok := p.slugOfHost(host); ok {
		return slug != ""
	}
	if !strings.Contains(host, ".") || host == p.apiHost {
		return false
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return false
	}
	id, err := p.workspaceByDomain(host)
	return err == nil && id != ""
}

// slugOfHost returns the slug that a sub-domain of PAGES_HOST names; ok is false for any other host.
func (p *Pages) slugOfHost(host string) (slug string, ok bool) {
	suffix := p.pagesSuffix()
	if suffix == "" || host == p.apiHost {
		return "", false
	}
	slug, ok = strings.CutSuffix(host, suffix)
	return slug, ok && slug != "" && !strings.Contains(slug, ".")
}

func (p *Pages) workspaceByDomain(host string) (id string, err error) {
	err = p.ReadModel.View(func(rd projections.Reader) error {
		id, err = projections.Workspaces{}.ByDomain(rd, host)
		return err
	})
	return id, err
}

var errNoPage = domain.Refuse(domain.CodeNotFound, "there is no such page").With("resource", "page")

// place finds the workspace of a request. It refuses with 404 when there is none.
func (p *Pages) place(r *http.Request) (at place, err error) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	slug := ""
	if at.ownHost = p.OnOwnHost(r); at.ownHost {
		host := hostOf(r)
		if found, ok := p.slugOfHost(host); ok {
			slug = found
		} else if at.workspaceID, err = p.workspaceByDomain(host); err != nil {
			return at, err
		}
	} else {
		slug = gateway.Var(r, "workspaceSlug")
		at.site.base = Prefix + url.PathEscape(slug)
		path = strings.TrimPrefix(strings.TrimPrefix(path, strings.TrimPrefix(Prefix, "/")), slug)
		path = strings.TrimPrefix(path, "/")
	}
	at.path = path
	err = p.ReadModel.View(func(rd projections.Reader) error {
		if slug != "" {
			if at.workspaceID, err = (projections.Workspaces{}).BySlug(rd, slug); err != nil {
				return err
			}
		}
		found := false
		if at.workspaceID != "" {
			at.record, found, err = projections.Workspaces{}.Record(rd, at.workspaceID)
		}
		if err == nil && (!found || at.record.Deleted != nil) {
			err = errNoPage
		}
		if err == nil {
			at.settings, err = p.settings(rd, at.record)
		}
		return err
	})
	return at, err
}

// subdomain returns the address of a path on the sub-domain of a workspace; "" when it has none.
func (p *Pages) subdomain(r *http.Request, slug, path string) string {
	suffix := p.PagesHost()
	if suffix == "" || !dnsLabel.MatchString(slug) {
		return ""
	}
	if !strings.Contains(suffix, ":") {
		if _, port, err := net.SplitHostPort(r.Host); err == nil {
			suffix += ":" + port
		}
	}
	return scheme(r) + "://" + slug + strings.ToLower(suffix) + path
}

func scheme(r *http.Request) string {
	if gateway.Secure(r) {
		return "https"
	}
	return "http"
}

// found is the page that a path names.
type found struct {
	item     projections.Item
	slug     string
	language page.Language
	prefixed bool // the path begins with the language
	exists   bool
}

// findPage finds the page of a path: a path that is a slug is that page, else its first segment may be a language.
func (p *Pages) findPage(ctx context.Context, at place) (f found, err error) {
	err = p.ReadModel.View(func(rd projections.Reader) error {
		f.slug = at.path
		if f.slug == "" {
			f.slug = "index"
		}
		if f.item, f.exists, err = FindPage(ctx, rd, p.Shelf, at.workspaceID, f.slug); err != nil || f.exists {
			return err
		}
		language, rest, ok := page.SplitLanguage(at.path)
		if !ok {
			return nil
		}
		f.language, f.prefixed, f.slug = language, true, rest
		if f.slug == "" {
			f.slug = "index"
		}
		f.item, f.exists, err = FindPage(ctx, rd, p.Shelf, at.workspaceID, f.slug)
		return err
	})
	return f, err
}

// FindPage returns a page of a workspace as its visitors see it. The documentation of an app is public, in the form
// that was published last; other pages are as they are saved.
func FindPage(ctx context.Context, rd projections.Reader, shelf *apps.Shelf, workspaceID, slug string) (item projections.Item, exists bool, err error) {
	path := "pages/" + slug
	if slug == apps.DocumentationPage {
		app, published, err := projections.Apps{}.Of(rd, workspaceID)
		if err != nil {
			return item, false, err
		}
		if published {
			revision := app.Revision(projections.Current)
			detail, err := shelf.Read(ctx, workspaceID, revision)
			if err != nil {
				return item, false, err
			}
			if ref := detail.Documentation; ref != nil {
				return projections.Item{
					Path: path, ID: ref.ID, Hash: ref.Hash, Apart: ref.Apart, Public: true, Revision: revision, Created: revision, Updated: revision,
				}, true, nil
			}
		}
	}
	return projections.Content{}.Get(rd, workspaceID, path)
}

// canonicalPath returns where a path should lead instead; "" when it is right. Queries are kept.
func canonicalPath(r *http.Request, at place) string {
	path := at.path
	if path == "" {
		if at.site.base != "" && !strings.HasSuffix(r.URL.Path, "/") {
			return withQuery(at.site.base+"/", r)
		}
		return ""
	}
	next := strings.TrimRight(path, "/")
	if next == "index" {
		next = ""
	} else if before, ok := strings.CutSuffix(next, "/index"); ok && page.IsLanguageTag(before) {
		next = before
	}
	if next == path {
		return ""
	}
	target := at.site.base + "/"
	if next != "" {
		target += (&url.URL{Path: next}).EscapedPath()
	}
	return withQuery(target, r)
}

// withQuery returns a path with the query of a request.
func withQuery(path string, r *http.Request) string {
	if r.URL.RawQuery == "" {
		return path
	}
	return path + "?" + r.URL.RawQuery
}
