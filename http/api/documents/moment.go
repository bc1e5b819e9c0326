package documents

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"svc/commands/content"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Moment is a point in the history of a workspace.
type Moment struct {
	Seq uint64
}

// ReadMoment reads the moment that a read asks for: version, at or atSeq. past is
// false when it asks for now.
func (h *Handlers) ReadMoment(r *http.Request) (m Moment, past bool, err error) {
	q := gateway.NewQuery(r)
	version, at, seq := q.Text("version"), q.Time("at"), q.Text("atSeq")
	if err := q.Err(); err != nil {
		return m, false, err
	}
	given := 0
	for _, is := range []bool{version != "", !at.IsZero(), seq != ""} {
		if is {
			given++
		}
	}
	switch {
	case given == 0 || version == "current":
		return m, false, nil
	case given > 1:
		return m, false, domain.Refuse(domain.CodeInvalidParameter, "give one of version, at and atSeq").With("parameter", "atSeq")
	case version != "":
		m.Seq, err = h.VersionSeq(r, version)
		return m, true, err
	case seq != "":
		n, err := ParseSeq("atSeq", seq)
		m, err := h.momentAtSeq(r, n, err)
		return m, true, err
	}
	m, err = h.MomentAt(r, at)
	return m, true, err
}

// ParseSeq reads a token, or a content revision.
func ParseSeq(name, text string) (uint64, error) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	p, err := domain.ParsePosition(text)
	if err != nil || p.State == 0 {
		return 0, domain.Refuse(domain.CodeInvalidParameter, "%s must be a sequence token or a content revision", name).With("parameter", name)
	}
	return p.State, nil
}

// momentAtSeq is the moment at a sequence.
func (h *Handlers) momentAtSeq(r *http.Request, seq uint64, err error) (Moment, error) {
	if err != nil {
		return Moment{}, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	return Moment{seq}, checkExisted(rd, handler.WorkspaceID(r), seq)
}

// MomentAt is the moment at a time.
func (h *Handlers) MomentAt(r *http.Request, at time.Time) (m Moment, err error) {
	id := handler.WorkspaceID(r)
	rd := h.ReadModel.Reader()
	defer rd.Close()
	if m.Seq, err = (projections.History{}).SeqAt(rd, id, at); err != nil {
		return m, err
	}
	return m, checkExisted(rd, id, m.Seq)
}

// checkExisted refuses a moment before a workspace was created.
func checkExisted(rd projections.Reader, id string, seq uint64) error {
	revision, err := projections.History{}.Revision(rd, id, seq)
	if err == nil && revision == 0 {
		err = domain.Refuse(domain.CodeNotFound, "the workspace did not exist at that time").With("resource", "workspace").With("id", id)
	}
	return err
}

// InlineDocument returns the document of an item whose body is not kept apart.
func InlineDocument(rd projections.Reader, id string, item projections.Item) (*document.Map, error) {
	body, ok, err := projections.Content{}.Body(rd, id, item.Hash)
	if err != nil || !ok {
		return nil, err
	}
	doc := document.MapOf()
	return doc, doc.UnmarshalJSON(body)
}

// VersionSeq returns the sequence of the content that a version holds.
func (h *Handlers) VersionSeq(r *http.Request, name string) (seq uint64, err error) {
	rec, ok, err := projections.FindIn(h.ReadModel, projections.Versions{}.Get, handler.WorkspaceID(r), name)
	if err == nil && !ok {
		err = workspace.NoVersion(name)
	}
	return rec.ContentRevision, err
}

// IndexAt returns the index document that a workspace had, without secrets.
func (h *Handlers) IndexAt(ctx context.Context, id string, seq uint64) (*document.Map, error) {
	refs, err := h.Library.At(ctx, id, seq)
	if err != nil {
		return nil, err
	}
	ref, ok := refs["index"]
	if !ok {
		return document.MapOf(), nil
	}
	index, err := h.Library.Document(ctx, id, content.Ref{Hash: ref.Hash, Apart: ref.Apart})
	if err != nil {
		return nil, err
	}
	return WithoutSecrets(index), nil
}

// WithoutSecrets returns an index document as it may be shown.
func WithoutSecrets(index *document.Map) *document.Map {
	config, _ := index.Get("config")
	if m, ok := config.(*document.Map); ok {
		index = index.Copy()
		index.Set("config", workspace.HideSecrets(m))
	}
	return index
}
