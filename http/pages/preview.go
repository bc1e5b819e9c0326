package pages

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"svc/domain"
	"svc/domain/page"
	"svc/domain/value"
	"svc/http/gateway"
	"svc/projections"
)

// PreviewLifetime is how long a draft of a page can be read.
const PreviewLifetime = 10 * time.Minute

// Draft is a page that is not saved, for its author to look at.
type Draft struct {
	WorkspaceID string
	Author      string        // who may read it, as gateway.Caller.Actor names them
	Document    *value.Object // without what the service sets
	Language    string        // "": the one that the browser asks for
	Automations bool          // run those of the page, as its author
}

// draftRecord is a draft as it is stored.
type draftRecord struct {
	WorkspaceID string          `json:"w"`
	Author      string          `json:"u"`
	Document    json.RawMessage `json:"d"`
	Language    string          `json:"l,omitempty"`
	Automations bool            `json:"a,omitempty"`
}

// Preview stores a draft for a while. It returns the path on the host of the API where its author can read it.
func (p *Pages) Preview(ctx context.Context, d Draft) (path string, expires time.Time, err error) {
	var slug string
	err = p.ReadModel.View(func(rd projections.Reader) error {
		rec, found, err := projections.Workspaces{}.Record(rd, d.WorkspaceID)
		if err == nil && !found {
			err = errNoPage
		}
		slug = rec.Meta.Slug
		return err
	})
	if err != nil {
		return "", expires, err
	}
	id := randomText()
	expires = p.Now().Add(PreviewLifetime)
	return Prefix + url.PathEscape(slug) + "/_svc/preview/" + id, expires, p.putRecord(ctx, "preview-"+id, draftRecord{
		WorkspaceID: d.WorkspaceID, Author: d.Author, Document: json.RawMessage(value.JSON(d.Document, "")), Language: d.Language, Automations: d.Automations,
	}, PreviewLifetime)
}

// showPreview handles GET …/_svc/preview/{preview}: a draft, for its author.
func (p *Pages) showPreview(r *http.Request) (any, error) {
	at, err := p.place(r)
	if err != nil {
		return p.errorAnswer(r, nil, err)
	}
	v, err := p.visitorOf(r, at)
	if err != nil {
		return nil, err
	}
	v.isDraft = true
	answer, err := v.preview(gateway.Var(r, "preview"))
	if err != nil {
		return p.errorAnswer(r, nil, err)
	}
	return answer, nil
}

var errNoPreview = domain.Refuse(domain.CodeNotFound, "there is no such preview any more").With("resource", "preview")

// preview renders a draft. Nothing can be done in it, and no event is recorded but those of its automations.
func (v *visit) preview(id string) (any, error) {
	ctx := v.request.Context()
	var rec draftRecord
	isStored, err := v.getRecord(ctx, "preview-"+id, &rec)
	if err != nil {
		return nil, err
	}
	if !isStored || rec.WorkspaceID != v.place.workspaceID {
		return nil, errNoPreview
	}
	stored, err := value.ParseJSON(string(rec.Document))
	if err != nil {
		return nil, err
	}
	slug, _ := objectOf(stored).At("slug").(string)
	pageID, err := v.checkAuthor(rec.Author, slug)
	if err != nil {
		return nil, err
	}
	doc := page.Compile(pageID, slug, objectOf(stored))
	f := found{slug: slug}
	f.language, f.prefixed = page.Language{Tag: rec.Language}, rec.Language != ""
	if !f.prefixed {
		f.language = page.ChooseLanguage(v.request.Header.Get("Accept-Language"), doc.Languages)
	}
	view := &page.View{
		Document: doc, Definitions: v.definitions(ctx, v.place), Language: f.language, SignedIn: v.isSignedIn(), Query: queryObject(v.request.URL.Query()), Now: v.Now(),
	}
	tree := view.Expand()
	if rec.Automations {
		run := automationRun{visit: v, view: view, page: slug, outputs: map[string]*value.Object{}}
		if tree, err = run.all(tree); err != nil {
			return nil, err
		}
	}
	out := v.newRendering(view, tree, "", nil)
	out.inert = true
	data := v.documentData(f, view, tree, false, "")
	data.Canonical = ""
	answer := v.htmlAnswer(out.document(data), http.StatusOK, f, "", f.language)
	answer.Header.Set("Content-Security-Policy", previewPolicy)
	return answer, nil
}

// checkAuthor refuses everybody but the author of a draft, and also the author when they may not change the page any
// more. It returns the id of the page that the draft would replace; "" when there is none.
func (v *visit) checkAuthor(author, slug string) (pageID string, err error) {
	switch v.caller.Actor() {
	case "":
		return "", domain.Refuse(domain.CodeMissingToken, "sign in to read this preview")
	case author:
	default:
		return "", domain.Refuse(domain.CodePermissionDenied, "a preview is for its author only")
	}
	may := v.rights.Could("update", "pages")
	err = v.ReadModel.View(func(rd projections.Reader) error {
		item, exists, err := projections.Content{}.Get(rd, v.place.workspaceID, "pages/"+slug)
		if exists {
			pageID, may = item.ID, v.rights.Allows("update", "pages", projections.Content{}.SharedObject(rd, v.place.workspaceID, item))
		}
		return err
	})
	if err == nil && !may {
		err = domain.Refuse(domain.CodePermissionDenied, "you may not change this page")
	}
	return pageID, err
}
