package api

import (
	"cmp"
	"context"
	"encoding/json"
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

// shownPlatform is a repository of the platform as every workspace shows it: there
// is no credential in it.
type shownPlatform struct {
	Name   string        `json:"name"`
	Type   string        `json:"type"`
	Mode   string        `json:"mode"`
	Config shownLocation `json:"config"`
	Groups []string      `json:"groups"` // that runs over many workspaces can be about
}

type shownLocation struct {
	URL     string `json:"url,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Dirpath string `json:"dirpath,omitempty"`
}

// withPlatform adds to the JSON of a workspace the repositories of the platform that
// none of its own hides.
func (d Deps) withPlatform(doc []byte) ([]byte, error) {
	all := d.Repositories.Platforms()
	if len(all) == 0 {
		return doc, nil
	}
	var own struct {
		Repositories map[string]json.RawMessage `json:"repositories"`
	}
	if err := json.Unmarshal(doc, &own); err != nil {
		return nil, err
	}
	shown := map[string]shownPlatform{}
	for _, one := range all {
		if _, hidden := own.Repositories[one.ID]; !hidden {
			shown[one.ID] = shownPlatform{
				one.Name, one.Type, one.Mode, shownLocation{one.Remote.URL, one.Branch, cmp.Or(one.Dir, one.Root)}, d.Repositories.GroupNames(),
			}
		}
	}
	more, err := json.Marshal(map[string]any{"platformRepositories": shown})
	return append(append(doc[:len(doc)-1], ','), more[1:]...), err
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
