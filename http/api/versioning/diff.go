package versioning

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/feed"
	"svc/domain/textdiff"
	"svc/domain/workspace"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// diffResponse is what differs between two moments.
type diffResponse struct {
	From    string       `json:"from"`
	To      string       `json:"to"`
	Changes []fileChange `json:"changes"`
	Summary struct {
		Added    int `json:"added"`
		Modified int `json:"modified"`
		Deleted  int `json:"deleted"`
	} `json:"summary"`
}

// fileChange is what differs in one exported file.
type fileChange struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, modified, deleted
	Patch  string `json:"patch"`
}

// GetDiff handles GET /v2/workspaces/{workspaceId}/diff.
func (h *Handlers) GetDiff(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	from, to, object := q.Required("from"), q.Text("to"), q.Text("object")
	if err := q.Err(); err != nil {
		return nil, err
	}
	if to == "" {
		to = "current"
	}
	before, err := h.contentAt(r, "from", from)
	if err != nil {
		return nil, err
	}
	after, err := h.contentAt(r, "to", to)
	if err != nil {
		return nil, err
	}
	diff := diffResponse{From: from, To: to, Changes: []fileChange{}}
	for _, path := range h.differingPaths(r, before, after, object) {
		change, err := h.fileDiff(r.Context(), handler.WorkspaceID(r), path, before, after)
		if err != nil {
			return nil, err
		}
		if change.Patch != "" {
			diff.add(change)
		}
	}
	return diff, nil
}

func (d *diffResponse) add(c fileChange) {
	d.Changes = append(d.Changes, c)
	switch c.Change {
	case "added":
		d.Summary.Added++
	case "deleted":
		d.Summary.Deleted++
	default:
		d.Summary.Modified++
	}
}

// contentAt returns the content at a point: current, seq:{token}, at:{time}, a
// version by its name, or base:{repository} and remote:{repository}.
func (h *Handlers) contentAt(r *http.Request, name, point string) (contentState, error) {
	kind, value, _ := strings.Cut(point, ":")
	seq := uint64(math.MaxUint64)
	switch {
	case point == "current":
	case kind == "seq":
		n, err := documents.ParseSeq(name, value)
		if err != nil {
			return contentState{}, err
		}
		seq = n
	case kind == "at":
		at, err := time.Parse(time.RFC3339Nano, value)
		if err != nil {
			return contentState{}, domain.Refuse(domain.CodeInvalidParameter, "%s: at: takes an ISO 8601 time with an offset", name).With("parameter", name)
		}
		m, err := h.Documents.MomentAt(r, at)
		if err != nil {
			return contentState{}, err
		}
		seq = m.Seq
	case kind == "base" && value != "":
		return h.filesAt(r, value, h.Versioning.BaseFiles)
	case kind == "remote" && value != "":
		return h.filesAt(r, value, h.Versioning.RemoteFiles)
	default:
		n, err := h.Documents.VersionSeq(r, point)
		if err != nil {
			return contentState{}, err
		}
		seq = n
	}
	refs, err := h.Library.At(r.Context(), handler.WorkspaceID(r), seq)
	if err == nil && len(refs) == 0 {
		err = domain.Refuse(domain.CodeNotFound, "the workspace did not exist at that time").With("resource", "workspace").With("id", handler.WorkspaceID(r))
	}
	return contentState{refs: refs}, err
}

// differingPaths returns the paths that differ, of what was asked for and the caller
// may read.
func (h *Handlers) differingPaths(r *http.Request, before, after contentState, object string) (paths []string) {
	id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
	all := maps.Clone(before.refs)
	maps.Copy(all, after.refs)
	rd := h.ReadModel.Reader()
	defer rd.Close()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if before.refs[path].Hash == after.refs[path].Hash || object != "" && !feed.Like(object, path) {
			continue
		}
		if before.canRead(rd, rights, id, path) && after.canRead(rd, rights, id, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// fileDiff is how the file of a document changed.
func (h *Handlers) fileDiff(ctx context.Context, id, path string, before, after contentState) (c fileChange, err error) {
	location, ok := archive.Locate(path + ".yml")
	if !ok {
		return c, fmt.Errorf("%s of workspace %s has no file", path, id)
	}
	c = fileChange{Path: location.Path(), Change: "modified"}
	was, err := before.file(ctx, h, id, location)
	if err != nil {
		return c, err
	}
	is, err := after.file(ctx, h, id, location)
	if err != nil {
		return c, err
	}
	switch {
	case was == nil:
		c.Change = "added"
	case is == nil:
		c.Change = "deleted"
	case bytes.Equal(was, is):
		return c, nil
	}
	c.Patch = textdiff.Unified(c.Path, was, is)
	return c, nil
}

// file is the file of a document, nil when there is none.
func (s contentState) file(ctx context.Context, h *Handlers, id string, location archive.Location) (_ []byte, err error) {
	ref := s.refs[location.String()]
	if ref.Hash == "" {
		return nil, nil
	}
	doc := s.docs[ref.Hash]
	if doc == nil {
		if doc, err = h.Library.Document(ctx, id, ref); err != nil {
			return nil, err
		}
	}
	if location.Kind == document.Index {
		doc = documents.WithoutSecrets(doc)
	}
	return archive.Text(location, doc)
}

// contentState is the content of a workspace, as its history or a repository has it.
type contentState struct {
	refs map[string]content.Ref
	docs map[string]*document.Map // those that no history has, by their hash
}

// canRead reports whether somebody may read the document at a path.
func (s contentState) canRead(rd projections.Reader, rights *access.Rights, id, path string) bool {
	ref := s.refs[path]
	folder, slug := workspace.Folder(path)
	doc := s.docs[ref.Hash]
	if doc == nil || slug == "" {
		return documents.CanReadRef(rd, rights, id, path, ref)
	}
	return documents.CanReadForeign(rights, id, folder, slug, doc)
}

// filesAt is the content that files of a repository say. Files that cannot be read
// are left out.
func (h *Handlers) filesAt(r *http.Request, repositoryID string, files func(context.Context, string, string) (archive.Tree, error)) (contentState, error) {
	tree, err := files(r.Context(), handler.WorkspaceID(r), repositoryID)
	if err != nil {
		return contentState{}, err
	}
	read, err := archive.Read(tree, archive.Options{Limits: h.Content.Limits(), WorkspaceID: handler.WorkspaceID(r)})
	if err != nil {
		return contentState{}, err
	}
	s := contentState{refs: map[string]content.Ref{}, docs: map[string]*document.Map{}}
	for _, location := range read.Content.Locations() {
		doc := location.Kind.Canonical(read.Content.Get(location))
		if location.Slug != "" {
			doc.Set("slug", location.Slug)
			doc = location.Kind.Canonical(doc)
		}
		body, err := document.JSON(doc)
		if err != nil {
			return contentState{}, err
		}
		hash := workspace.HashOf(body)
		s.refs[location.String()], s.docs[hash] = content.Ref{Hash: hash}, doc
	}
	return s, nil
}
