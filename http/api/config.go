package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// getConfig handles GET /v2/workspaces/{workspaceId}/config, now or at a past
// moment. What its schema calls secret is masked.
func getConfig(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		m, past, err := momentOf(d, r)
		if err != nil {
			return nil, err
		}
		if !past {
			return configAnswer(d, r)
		}
		index, err := indexAt(r.Context(), d, workspaceID(r), m.seq)
		if err != nil {
			return nil, err
		}
		return inForm(r, configOf(index), "at-"+strconv.FormatUint(m.seq, 36))
	}
}

// configOf returns the config of settings, empty when they have none.
func configOf(settings *document.Map) *document.Map {
	v, _ := settings.Get("config")
	if config, ok := v.(*document.Map); ok {
		return config
	}
	return document.MapOf()
}

// configAnswer is the config as a read shows it now.
func configAnswer(d Deps, r *http.Request) (answer any, err error) {
	id := workspaceID(r)
	err = d.ReadModel.View(func(rd projections.Reader) error {
		rec, _, err := projections.Workspaces{}.Record(rd, id)
		if err != nil {
			return err
		}
		settings, ok, err := projections.Workspaces{}.Settings(rd, id)
		if err != nil || !ok {
			return orElse(err, noWorkspace(id))
		}
		answer, err = inForm(r, configOf(settings), tagOf(rec.Revision))
		return err
	})
	return answer, err
}

// updateConfig handles PATCH /v2/workspaces/{workspaceId}/config: each of schema,
// block and value that is sent replaces the one there is; null removes it.
func updateConfig(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		rights := gateway.GrantFrom(r.Context()).Rights
		if err := rights.Check("update", "workspaces", nil, "config"); err != nil {
			return nil, err
		}
		in, err := readDocument(r)
		if err != nil {
			return nil, err
		}
		faults := shape.CheckConfig(in.doc)
		dry, err := dryRun(r)
		if err != nil {
			return nil, err
		}
		if dry && len(faults) > 0 {
			return in.verdict(faults), nil
		}
		if dry {
			return in.judged(withinConfig(tryConfig(r.Context(), d, workspaceID(r), in.doc)))
		}
		if err := shape.Refusal(faults); err != nil {
			return nil, in.withLines(err)
		}
		if err := patchConfig(r.Context(), d, workspaceID(r), in.doc, ifMatch(r)); err != nil {
			return nil, in.withLines(withinConfig(err))
		}
		settle(r.Context(), d.ReadModel)
		return configAnswer(d, r)
	}
}

// patchConfig changes parts of the config. Two changes of different parts at once
// both count.
func patchConfig(ctx context.Context, d Deps, id string, patch *document.Map, ifMatch string) error {
	return d.Content.Workspaces.ChangeConfig(ctx, id, ifMatch, func(config *document.Map) (*document.Map, error) { return merged(config, patch), nil })
}

// patchedConfig is the change of settings that changes parts of the config.
func patchedConfig(now workspace.Settings, patch *document.Map) *document.Map {
	return document.MapOf(document.Pair{Key: "config", Value: merged(now.Config, patch)})
}

// tryConfig refuses what patchConfig would, and changes nothing.
func tryConfig(ctx context.Context, d Deps, id string, patch *document.Map) error {
	now, err := d.Content.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	return tryOn(now.State, workspace.Update{Patch: patchedConfig(now.State.Settings, patch)})
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
