package workspaces

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"svc/commands"
	"svc/domain"
	"svc/domain/document"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// repositoryTestResponse is the answer to a test of a repository.
type repositoryTestResponse struct {
	Reachable    bool             `json:"reachable"`
	Empty        bool             `json:"empty"`
	Branches     []string         `json:"branches"`
	TargetExists bool             `json:"targetBranchExists"`
	FinalURL     string           `json:"finalUrl"`
	HostKey      *hostKeyResponse `json:"hostKey,omitempty"`
	Error        *failureResponse `json:"error,omitempty"`
}

type hostKeyResponse struct {
	Type        string `json:"type"`
	Fingerprint string `json:"fingerprint"`
	Line        string `json:"line"`
}

// failureResponse is a refusal that is told and not answered with.
type failureResponse struct {
	Code    domain.Code    `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// platformRepositoryResponse is a repository of the platform as every workspace shows it: there
// is no credential in it.
type platformRepositoryResponse struct {
	Name   string             `json:"name"`
	Type   string             `json:"type"`
	Mode   string             `json:"mode"`
	Config repositoryLocation `json:"config"`
	Groups []string           `json:"groups"` // that runs over many workspaces can be about
	Checks string             `json:"checks,omitempty"`
}

type repositoryLocation struct {
	URL     string `json:"url,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Dirpath string `json:"dirpath,omitempty"`
}

// addPlatformRepositories adds to the JSON of a workspace the repositories of the platform that
// none of its own hides.
func (h *Handlers) addPlatformRepositories(doc []byte) ([]byte, error) {
	all := h.Repositories.Platforms()
	if len(all) == 0 {
		return doc, nil
	}
	var own struct {
		Repositories map[string]json.RawMessage `json:"repositories"`
	}
	if err := json.Unmarshal(doc, &own); err != nil {
		return nil, err
	}
	responses := map[string]platformRepositoryResponse{}
	for _, one := range all {
		if _, hidden := own.Repositories[one.ID]; !hidden {
			response := platformRepositoryResponse{
				Name: one.Name, Type: one.Type, Mode: one.Mode, Config: repositoryLocation{one.Remote.URL, one.Branch, cmp.Or(one.Dir, one.Root)}, Groups: h.Repositories.GroupNames(),
			}
			if one.Checks {
				response.Checks = "required"
			}
			responses[one.ID] = response
		}
	}
	more, err := json.Marshal(map[string]any{"platformRepositories": responses})
	return append(append(doc[:len(doc)-1], ','), more[1:]...), err
}

// updateSettings changes settings of a workspace. Repositories take more: their
// credentials are sealed.
func (h *Handlers) updateSettings(ctx context.Context, id string, patch *document.Map, ifMatch string) (commands.Workspace, error) {
	if _, given := patch.Get("repositories"); given {
		return h.Repositories.Update(ctx, id, patch, ifMatch)
	}
	return h.Workspaces.Update(ctx, id, patch, ifMatch)
}

// TestRepository handles POST …/repositories/{repositoryId}/test.
func (h *Handlers) TestRepository(r *http.Request) (any, error) {
	now, err := h.Content.Workspaces.Get(r.Context(), handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	report, err := h.Repositories.Test(r.Context(), now.State, gateway.Var(r, "repositoryId"))
	if err != nil {
		return nil, err
	}
	response := repositoryTestResponse{
		Reachable: report.Reachable, Empty: report.Empty, Branches: report.Branches, TargetExists: report.TargetExists, FinalURL: report.FinalURL,
	}
	if key := report.HostKey; key != nil {
		response.HostKey = &hostKeyResponse{key.Type, key.Fingerprint, key.Line}
	}
	if e := report.Error; e != nil {
		response.Error = &failureResponse{e.Code, e.Message, e.Details}
	}
	return response, nil
}
