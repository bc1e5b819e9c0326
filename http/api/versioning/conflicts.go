package versioning

import (
	"encoding/json"
	"net/http"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/merge"
	"svc/commands/versioning"
	"svc/commands/yamltext"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// side is what one side of a conflict says of a file.
type side struct {
	Content string `json:"content"`
}

func sideOf(text []byte) *side {
	if text == nil {
		return nil
	}
	return &side{string(text)}
}

type conflictFile struct {
	workspace.ConflictFile
	Keys   []string `json:"keys"`
	Base   *side    `json:"base"`
	Ours   *side    `json:"ours"`
	Theirs *side    `json:"theirs"`
	Merged string   `json:"merged"`
}

// conflictsResponse is a conflict that waits to be decided.
type conflictsResponse struct {
	OperationID  string         `json:"operationId,omitempty"`
	RepositoryID string         `json:"repositoryId,omitempty"`
	Branch       string         `json:"branch,omitempty"`
	TargetBranch string         `json:"targetBranch,omitempty"`
	Base         string         `json:"base,omitempty"`
	Ours         string         `json:"ours,omitempty"`
	Theirs       string         `json:"theirs,omitempty"`
	Files        []conflictFile `json:"files"`
}

// GetConflicts handles GET /v2/workspaces/{workspaceId}/conflicts.
func (h *Handlers) GetConflicts(r *http.Request) (any, error) {
	found, files, err := h.Versioning.Conflicts(r.Context(), handler.WorkspaceID(r))
	if err != nil || found == nil {
		return conflictsResponse{Files: []conflictFile{}}, err
	}
	answer := conflictsResponse{
		OperationID: found.OperationID, RepositoryID: found.RepositoryID, Branch: found.Branch, TargetBranch: found.Location.Branch,
		Ours: found.Ours.Commit, Theirs: found.Theirs.Commit, Files: make([]conflictFile, 0, len(files)),
	}
	if found.Base != nil {
		answer.Base = found.Base.Commit
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	for _, f := range files {
		answer.Files = append(answer.Files, toConflictFile(rd, gateway.GrantFrom(r.Context()).Rights, handler.WorkspaceID(r), f))
	}
	return answer, nil
}

// toConflictFile is a file in conflict. Who may not read the document is told of it,
// because somebody has to decide, but not what it says.
func toConflictFile(rd projections.Reader, rights *access.Rights, id string, f merge.Conflict) conflictFile {
	response := conflictFile{ConflictFile: workspace.ConflictFile{Path: f.Path, Kind: string(f.Kind)}, Keys: []string{}}
	var docs []*document.Map
	for _, text := range [][]byte{f.Base, f.Ours, f.Theirs} {
		if doc, err := yamltext.ReadMap(text, document.FileLimits); text != nil && err == nil {
			docs = append(docs, doc)
		}
	}
	if location, ok := archive.Locate(f.Path); !ok || !documents.CanReadAt(rd, rights, id, location.String(), docs...) {
		return response
	}
	response.Keys = append(response.Keys, f.Keys...)
	response.Base, response.Ours, response.Theirs, response.Merged = sideOf(f.Base), sideOf(f.Ours), sideOf(f.Theirs), f.Merged
	return response
}

// resolutionField is what becomes of one file: {use}, or {content}, which is null
// when the file goes.
type resolutionField struct{ versioning.Resolution }

// UnmarshalJSON implements json.Unmarshaler.
func (f *resolutionField) UnmarshalJSON(b []byte) error {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(b, &in); err != nil {
		return handler.RefuseField("files", "each file takes an object with use or content")
	}
	for key, value := range in {
		ok := false
		switch key {
		case "use":
			ok = json.Unmarshal(value, &f.Use) == nil
		case "content":
			f.Delete = string(value) == "null"
			ok = json.Unmarshal(value, &f.Content) == nil
		}
		if !ok {
			return handler.RefuseField("files", "each file takes an object with use (ours or theirs) or content (a text, or null)")
		}
	}
	return nil
}

// ResolveConflicts handles POST /v2/workspaces/{workspaceId}/conflicts/resolve.
func (h *Handlers) ResolveConflicts(r *http.Request) (any, error) {
	if _, err := readOperationWait(r); err != nil {
		return nil, err
	}
	var in struct {
		Files map[string]resolutionField `json:"files"`
	}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	files := make(map[string]versioning.Resolution, len(in.Files))
	for path, f := range in.Files {
		files[path] = f.Resolution
	}
	may := h.withImportRights(gateway.CallerFrom(r.Context()), content.ImportOptions{}, handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights)
	started, err := h.Versioning.Resolve(r.Context(), handler.WorkspaceID(r), files, may)
	if err != nil {
		return nil, err
	}
	return h.operationResponse(r, started, operationResult)
}
