package workspaces

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// GetConfig handles GET /v2/workspaces/{workspaceId}/config, now or at a past
// moment. What its schema calls secret is masked.
func (h *Handlers) GetConfig(r *http.Request) (any, error) {
	m, past, err := h.Documents.ReadMoment(r)
	if err != nil {
		return nil, err
	}
	if !past {
		return h.configResponse(r)
	}
	index, err := h.Documents.IndexAt(r.Context(), handler.WorkspaceID(r), m.Seq)
	if err != nil {
		return nil, err
	}
	return handler.PartResponse(r, configOf(index), "at-"+strconv.FormatUint(m.Seq, 36))
}

// configOf returns the config of settings, empty when they have none.
func configOf(settings *document.Map) *document.Map {
	v, _ := settings.Get("config")
	if config, ok := v.(*document.Map); ok {
		return config
	}
	return document.MapOf()
}

// configResponse is the config as a read shows it now.
func (h *Handlers) configResponse(r *http.Request) (any, error) {
	settings, tag, err := h.readSettings(handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	return handler.PartResponse(r, configOf(settings), tag)
}

// readSettings returns the settings of a workspace, and their tag.
func (h *Handlers) readSettings(id string) (settings *document.Map, tag string, err error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	rec, _, err := projections.Workspaces{}.Record(rd, id)
	if err != nil {
		return nil, "", err
	}
	settings, ok, err := projections.Workspaces{}.Settings(rd, id)
	if err == nil && !ok {
		err = handler.NoWorkspace(id)
	}
	return settings, handler.RevisionTag(rec.Revision), err
}

// UpdateConfig handles PATCH /v2/workspaces/{workspaceId}/config: each of schema,
// block and value that is sent replaces the one there is; null removes it.
func (h *Handlers) UpdateConfig(r *http.Request) (any, error) {
	rights := gateway.GrantFrom(r.Context()).Rights
	if err := rights.Check("update", "workspaces", nil, "config"); err != nil {
		return nil, err
	}
	in, err := handler.ReadDocument(r)
	if err != nil {
		return nil, err
	}
	faults := shape.CheckConfig(in.Doc)
	dry, err := handler.ReadDryRun(r)
	if err != nil {
		return nil, err
	}
	if dry && len(faults) > 0 {
		return in.DryRunFaults(faults), nil
	}
	if dry {
		return in.DryRunError(withinConfig(h.checkConfig(r.Context(), handler.WorkspaceID(r), in.Doc)))
	}
	if err := shape.Refusal(faults); err != nil {
		return nil, in.WithLines(err)
	}
	if err := h.patchConfig(r.Context(), handler.WorkspaceID(r), in.Doc, handler.IfMatch(r)); err != nil {
		return nil, in.WithLines(withinConfig(err))
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return h.configResponse(r)
}

// patchConfig changes parts of the config. Two changes of different parts at once
// both count.
func (h *Handlers) patchConfig(ctx context.Context, id string, patch *document.Map, ifMatch string) error {
	return h.Content.Workspaces.ChangeConfig(ctx, id, ifMatch, func(config *document.Map) (*document.Map, error) { return handler.MergePatch(config, patch), nil })
}

// checkConfig refuses what patchConfig would, and changes nothing.
func (h *Handlers) checkConfig(ctx context.Context, id string, patch *document.Map) error {
	now, err := h.Content.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	config := document.Pair{Key: "config", Value: handler.MergePatch(now.State.Settings.Config, patch)}
	return checkCommand(now.State, workspace.Update{Patch: document.MapOf(config)})
}

// withinConfig names fields as the body of a config has them.
func withinConfig(err error) error {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return err
	}
	faults, ok := refusal.Details["errors"].([]domain.FieldError)
	if !ok {
		return err
	}
	const prefix = "config."
	inside := make([]domain.FieldError, len(faults))
	for i, f := range faults {
		if len(f.Field) > len(prefix) && f.Field[:len(prefix)] == prefix {
			f.Field = f.Field[len(prefix):]
		}
		inside[i] = f
	}
	named := domain.Invalid(inside...)
	named.Code = refusal.Code
	return named
}
