package versioning

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/workspace"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// createdType is the change by which a workspace comes into being.
var createdType = workspace.Created{}.EventType()

// seqField is a sequence in a body: a token, or a content revision.
type seqField struct {
	given bool
	text  string
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *seqField) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var n json.Number
	if s.given = true; json.Unmarshal(b, &s.text) == nil {
		return nil
	}
	if json.Unmarshal(b, &n) != nil {
		return handler.RefuseField("seq", "must be a token or a number")
	}
	s.text = n.String()
	return nil
}

// number returns the sequence.
func (s seqField) number() (uint64, error) {
	n, err := documents.ParseSeq("seq", s.text)
	if err != nil {
		return 0, domain.Invalid(domain.FieldError{Field: "seq", Message: "must be a sequence token or a content revision"})
	}
	return n, nil
}

// isToken reports whether it is the position of a write, not of an event.
func (s seqField) isToken() bool {
	_, err := strconv.ParseUint(s.text, 10, 64)
	return err != nil
}

// restoreResponse is the answer to a restoration.
type restoreResponse struct {
	Workspace       json.RawMessage `json:"workspace"`
	Imported        []string        `json:"imported"`
	Deleted         []string        `json:"deleted"`
	Errors          []archive.Item  `json:"errors"`
	Warnings        []archive.Item  `json:"warnings"`
	ContentRevision uint64          `json:"contentRevision"`
}

// RestoreWorkspace handles POST /v2/workspaces/{workspaceId}/restore.
func (h *Handlers) RestoreWorkspace(r *http.Request) (any, error) {
	var in restoreRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	dry, err := handler.ReadDryRun(r)
	if err != nil {
		return nil, err
	}
	seq, from, err := in.moment(h, r)
	if err != nil {
		return nil, err
	}
	o := h.restoreOptions(r, dry || in.DryRun)
	result, err := h.Content.Restore(r.Context(), handler.WorkspaceID(r), seq, from, o)
	return h.restoredResponse(r, result, err)
}

// restoreOptions lets a restoration do what the caller may.
func (h *Handlers) restoreOptions(r *http.Request, dry bool) content.RestoreOptions {
	authorizer := h.Documents.NewChangeAuthorizer(r)
	return content.RestoreOptions{DryRun: dry, Secure: authorizer.Rights.Allows("manage_security", "workspaces", nil), Authorizer: authorizer}
}

// restoreRequest says what to go back to.
type restoreRequest struct {
	Seq     seqField `json:"seq"`
	At      *string  `json:"at"`
	Version *string  `json:"version"`
	DryRun  bool     `json:"dryRun"`
}

// moment returns the sequence to go back to, and how the event names it.
func (in restoreRequest) moment(h *Handlers, r *http.Request) (seq uint64, from workspace.From, err error) {
	given := 0
	for _, is := range []bool{in.Seq.given, in.At != nil, in.Version != nil} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return 0, from, handler.MissingField("seq")
	case given > 1:
		return 0, from, handler.RefuseField("seq", "give exactly one of seq, at and version")
	case in.Version != nil:
		seq, err = h.Documents.VersionSeq(r, *in.Version)
		return seq, workspace.From{Version: *in.Version}, err
	case in.Seq.given:
		seq, err = in.Seq.number()
		return seq, workspace.From{Seq: domain.At(domain.State, seq).Token()}, err
	}
	at, err := time.Parse(time.RFC3339Nano, *in.At)
	if err != nil {
		return 0, from, domain.Invalid(domain.FieldError{Field: "at", Message: "must be an ISO 8601 time with an offset"})
	}
	if err := h.awaitLog(r); err != nil {
		return 0, from, err
	}
	m, err := h.Documents.MomentAt(r, at)
	return m.Seq, workspace.From{At: at.UTC().Format(domain.Timestamp)}, err
}

// awaitLog waits until the read model has what the log has: a write may be about
// the one before it.
func (h *Handlers) awaitLog(r *http.Request) error {
	return h.Library.Reach(r.Context(), math.MaxUint64)
}

// UndoChange handles POST /v2/workspaces/{workspaceId}/undo.
func (h *Handlers) UndoChange(r *http.Request) (any, error) {
	var in struct {
		Seq seqField `json:"seq"`
	}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if !in.Seq.given {
		return nil, handler.MissingField("seq")
	}
	dry, err := handler.ReadDryRun(r)
	if err != nil {
		return nil, err
	}
	seq, err := in.Seq.number()
	if err == nil && in.Seq.isToken() {
		seq, err = h.findChange(r, seq)
	}
	if err != nil {
		return nil, err
	}
	o := h.restoreOptions(r, dry)
	result, err := h.Content.Undo(r.Context(), handler.WorkspaceID(r), seq, o)
	return h.restoredResponse(r, result, err)
}

// maxBeside is how many events a write records beside its change, at most.
const maxBeside = 100

// findChange returns the change of content that a write with this x-svc-seq made.
// The token names the last of its events, which may be the release of a lock or of
// a name.
func (h *Handlers) findChange(r *http.Request, seq uint64) (uint64, error) {
	if err := h.awaitLog(r); err != nil {
		return 0, err
	}
	id, change := handler.WorkspaceID(r), seq
	rd := h.ReadModel.Reader()
	defer rd.Close()
	var last *projections.Change
	err := projections.History{}.ListAll(rd, seq+1, func(c projections.Change) bool {
		if last == nil {
			last = &c
		}
		if c.Workspace != id || c.Seq+maxBeside < seq || c.CorrelationID != last.CorrelationID {
			return false
		}
		if c.Content {
			change = c.Seq
			return false
		}
		return true
	})
	return change, err
}

// restoredResponse is the answer to a restoration: the workspace as a read shows it, and
// what became of it.
func (h *Handlers) restoredResponse(r *http.Request, result content.Result, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	answer := restoreResponse{Imported: result.Imported, Deleted: result.Deleted, Errors: result.Errors, Warnings: result.Warnings, ContentRevision: result.Seq}
	inJSON := r.Clone(r.Context())
	inJSON.Header.Del("Accept")
	response, err := h.Workspaces.Response(inJSON, result.WorkspaceID, gateway.GrantFrom(r.Context()).Rights)
	if err != nil {
		return nil, err
	}
	if body, ok := response.(gateway.Encoded); ok {
		answer.Workspace = body.Encoded()
	}
	if result.Changed {
		return answer, nil
	}
	rec, _, err := projections.Find(h.ReadModel, projections.Workspaces{}.Record, result.WorkspaceID)
	answer.ContentRevision = rec.Dynamic.ContentRevision
	return answer, err
}
