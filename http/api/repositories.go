package api

import (
	"context"
	"net/http"

	"svc/commands"
	"svc/domain"
	"svc/domain/document"
	"svc/http/gateway"
)

// shownTest is the answer to a test of a repository.
type shownTest struct {
	Reachable    bool          `json:"reachable"`
	Empty        bool          `json:"empty"`
	Branches     []string      `json:"branches"`
	TargetExists bool          `json:"targetBranchExists"`
	FinalURL     string        `json:"finalUrl"`
	HostKey      *shownHostKey `json:"hostKey,omitempty"`
	Error        *shownFailure `json:"error,omitempty"`
}

type shownHostKey struct {
	Type        string `json:"type"`
	Fingerprint string `json:"fingerprint"`
	Line        string `json:"line"`
}

// shownFailure is a refusal that is told and not answered with.
type shownFailure struct {
	Code    domain.Code    `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// update changes settings of a workspace. Repositories take more: their
// credentials are sealed.
func (d Deps) update(ctx context.Context, id string, patch *document.Map, ifMatch string) (commands.Workspace, error) {
	if _, given := patch.Get("repositories"); given {
		return d.Repositories.Update(ctx, id, patch, ifMatch)
	}
	return d.Workspaces.Update(ctx, id, patch, ifMatch)
}

// testRepository handles POST …/repositories/{repositoryId}/test.
func testRepository(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		now, err := d.Content.Workspaces.Get(r.Context(), workspaceID(r))
		if err != nil {
			return nil, err
		}
		report, err := d.Repositories.Test(r.Context(), now.State, gateway.Var(r, "repositoryId"))
		if err != nil {
			return nil, err
		}
		shown := shownTest{
			Reachable: report.Reachable, Empty: report.Empty, Branches: report.Branches, TargetExists: report.TargetExists, FinalURL: report.FinalURL,
		}
		if key := report.HostKey; key != nil {
			shown.HostKey = &shownHostKey{key.Type, key.Fingerprint, key.Line}
		}
		if e := report.Error; e != nil {
			shown.Error = &shownFailure{e.Code, e.Message, e.Details}
		}
		return shown, nil
	}
}
