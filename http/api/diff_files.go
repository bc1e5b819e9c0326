package api

import (
	"context"
	"net/http"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/projections"
)

// state is the content of a workspace, as its history or a repository has it.
type state struct {
	refs map[string]content.Ref
	docs map[string]*document.Map // those that no history has, by their hash
}

// mayRead reports whether somebody may read the document at a path.
func (s state) mayRead(rd projections.Reader, rights *access.Rights, id, path string) bool {
	ref := s.refs[path]
	folder, slug := workspace.Folder(path)
	doc := s.docs[ref.Hash]
	if doc == nil || slug == "" {
		return mayReadRef(rd, rights, id, path, ref)
	}
	return mayReadForeign(rights, id, folder, slug, doc)
}

// mayReadForeign reports whether somebody may read a document that is not in the
// workspace, as if it was.
func mayReadForeign(rights *access.Rights, id, folder, slug string, doc *document.Map) bool {
	fields := access.Fields{"slug": slug, "workspaceId": id}
	for key, v := range doc.All() {
		fields[key] = v
	}
	return rights.Allows("read", subjectOf(folder), fields)
}

// mayReadAt reports whether somebody may read what is at a path here, and each of
// docs, which others have there.
func mayReadAt(rd projections.Reader, rights *access.Rights, id, path string, docs ...*document.Map) bool {
	folder, slug := workspace.Folder(path)
	if slug == "" {
		return true
	}
	item, here, err := projections.Content{}.Get(rd, id, path)
	if err != nil || here && !mayReadDocument(rd, rights, id, folder, item) {
		return false
	}
	if !here && len(docs) == 0 {
		docs = []*document.Map{nil}
	}
	for _, doc := range docs {
		if !mayReadForeign(rights, id, folder, slug, doc) {
			return false
		}
	}
	return true
}

// filesAt is the content that files of a repository say. Files that cannot be read
// are left out.
func filesAt(d Deps, r *http.Request, repositoryID string, files func(context.Context, string, string) (archive.Tree, error)) (state, error) {
	tree, err := files(r.Context(), workspaceID(r), repositoryID)
	if err != nil {
		return state{}, err
	}
	read, err := archive.Read(tree, archive.Options{Limits: d.Content.Limits(), WorkspaceID: workspaceID(r)})
	if err != nil {
		return state{}, err
	}
	s := state{refs: map[string]content.Ref{}, docs: map[string]*document.Map{}}
	for _, place := range read.Content.Places() {
		doc := place.Kind.Canonical(read.Content.Get(place))
		if place.Slug != "" {
			doc.Set("slug", place.Slug)
			doc = place.Kind.Canonical(doc)
		}
		body, err := document.JSON(doc)
		if err != nil {
			return state{}, err
		}
		hash := workspace.HashOf(body)
		s.refs[place.String()], s.docs[hash] = content.Ref{Hash: hash}, doc
	}
	return s, nil
}
