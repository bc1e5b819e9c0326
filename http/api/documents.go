package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// folder is one sort of documents of a workspace, with what is its own. Handlers
// are the same for all.
type folder struct {
	name     string // also what rules call them
	noun     string // of one
	kind     *document.Kind
	readOnly []string // what the service sets, besides what it sets of all documents
	required []string // fields that a PATCH cannot remove
	// fresh completes a new document; nil: there is nothing to add.
	fresh func(*document.Map)
	// detail adds what reading a single one shows besides; nil: nothing.
	detail func(Deps, *http.Request, *shownDocument) error
	// gone is the answer to its deletion.
	gone func(projections.Item) any
}

// shownDocument is a document on its way to a reader.
type shownDocument struct {
	workspaceID string
	rights      *access.Rights
	item        projections.Item
	doc         *document.Map
	warnings    []located // of a document that was saved
}

func (f folder) may(action string) gateway.Action {
	return gateway.Action{Action: action, Subject: f.name}
}

// absent is the answer about a document that is not there: to those who may not
// look for one, what they hear of any.
func (f folder) absent(rights *access.Rights, action, slug string) error {
	if !rights.Could(action, f.name) {
		return rights.Refusal(action, f.name)
	}
	return domain.Refuse(domain.CodeNotFound, "there is no such %s", f.noun).With("resource", f.noun).With("id", slug)
}

// getDocument handles GET of one document, now or at a past moment.
func getDocument(d Deps, f folder) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, slug := workspaceID(r), gateway.Var(r, "slug")
		rights := gateway.GrantFrom(r.Context()).Rights
		m, past, err := momentOf(d, r)
		if err != nil {
			return nil, err
		}
		if past {
			return f.pastAnswer(d, r, m)
		}
		shown := &shownDocument{workspaceID: id, rights: rights}
		err = d.ReadModel.View(func(rd projections.Reader) (err error) {
			shown.item, err = f.find(rd, rights, id, slug, "read")
			return err
		})
		if err != nil {
			return nil, err
		}
		return f.answer(d, r, shown)
	}
}

// find returns a document on which the caller may do something.
func (f folder) find(rd projections.Reader, rights *access.Rights, id, slug, action string) (projections.Item, error) {
	item, ok, err := projections.Content{}.Get(rd, id, f.name+"/"+slug)
	if err != nil {
		return item, err
	}
	if !ok {
		return item, f.absent(rights, action, slug)
	}
	return item, checkOn(rights, action, f.name, objectAt(rd, id, f.name, item))
}

// checkOn is Rights.Check for an object that the caller may be able to read
// without being in the workspace: they are told which right they lack.
func checkOn(rights *access.Rights, action, subject string, o access.Object, fields ...string) error {
	err := rights.Check(action, subject, o, fields...)
	if err != nil && rights.Allows("read", subject, o) {
		return domain.Refuse(domain.CodePermissionDenied, "you lack permission to %s %s", action, subject).With("action", action).With("subject", subject)
	}
	return err
}

// answer is a document as a read shows it now. Its tag names its revision and,
// when more than the document is shown, all of it.
func (f folder) answer(d Deps, r *http.Request, shown *shownDocument) (any, error) {
	doc, err := d.Library.Document(r.Context(), shown.workspaceID, content.Ref{Hash: shown.item.Hash, Apart: shown.item.Apart})
	if err != nil {
		return nil, err
	}
	text, err := archive.Text(archive.Place{Kind: f.kind, Slug: shown.item.Slug()}, doc)
	if err != nil {
		return nil, err
	}
	err = d.ReadModel.View(func(rd projections.Reader) error {
		rec, _, err := projections.Workspaces{}.Record(rd, shown.workspaceID)
		if err != nil {
			return err
		}
		meta, err := projections.Content{}.Meta(rd, shown.workspaceID, shown.item.Hash)
		if err != nil {
			return err
		}
		shown.doc, err = completed(rd, shown.workspaceID, rec.Meta.Slug, shown.item, doc, meta)
		return err
	})
	tag := tagOf(shown.item.Revision)
	if err == nil && f.detail != nil {
		err = f.detail(d, r, shown)
	}
	if err != nil {
		return nil, err
	}
	if len(shown.warnings) > 0 {
		shown.doc.Set("warnings", document.ValueOf(shown.warnings))
	}
	whole, err := jsonOf(shown.doc, tag)
	if f.detail != nil {
		sum := sha256.Sum256(whole.json)
		whole.tag += "." + hex.EncodeToString(sum[:6])
	}
	return inEither(r, whole, text), err
}

// inEither is a document in the form that the client asks for.
func inEither(r *http.Request, whole tagged, text []byte) any {
	if !wantsYAML(r) {
		return whole
	}
	return inYAML(text, whole.tag)
}

// pastAnswer is a document as it was. Nobody can base a change on its tag.
func (f folder) pastAnswer(d Deps, r *http.Request, m moment) (any, error) {
	id, slug := workspaceID(r), gateway.Var(r, "slug")
	rights := gateway.GrantFrom(r.Context()).Rights
	refs, err := d.Library.At(r.Context(), id, m.seq)
	if err != nil {
		return nil, err
	}
	ref, ok := refs[f.name+"/"+slug]
	if !ok {
		return nil, f.absent(rights, "read", slug)
	}
	item := projections.Item{Path: f.name + "/" + slug, Hash: ref.Hash, ID: ref.ID, Apart: ref.Apart, Public: ref.Public}
	var meta projections.DocumentMeta
	err = d.ReadModel.View(func(rd projections.Reader) (err error) {
		// Who may read it is a matter of today: what was public once need not be now.
		now, _, err := projections.Content{}.Get(rd, id, item.Path)
		if err != nil {
			return err
		}
		item.Public = now.Public && now.ID == item.ID
		if err := rights.Check("read", f.name, objectAt(rd, id, f.name, item)); err != nil {
			return err
		}
		meta, err = projections.Content{}.Meta(rd, id, ref.Hash)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f.past(d, r, id, ref, meta)
}

func (f folder) past(d Deps, r *http.Request, id string, ref content.Ref, meta projections.DocumentMeta) (any, error) {
	doc, err := d.Library.Document(r.Context(), id, ref)
	if err != nil {
		return nil, err
	}
	text, err := archive.Text(archive.Place{Kind: f.kind, Slug: doc.Text("slug")}, doc)
	if err != nil {
		return nil, err
	}
	if ref.ID != "" {
		doc.Set("id", ref.ID)
		doc.Set("workspaceId", id)
		doc.Set("public", ref.Public)
	}
	if meta.Events != nil {
		doc.Set("events", meta.Events)
	}
	doc.Set("checksum", meta.Checksum)
	whole, err := jsonOf(doc, "at-"+workspace.HashOf(text)[:16])
	return inEither(r, whole, text), err
}
