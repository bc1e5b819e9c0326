package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"svc/commands"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/feed"
	"svc/http/gateway"
	"svc/projections"
)

// mayEmit is the right to emit events. Whether it is one to these events is decided
// when they are known.
var mayEmit = gateway.Action{Action: "create", Subject: "events", Anyone: true}

// Emitter records what is emitted. It is a commands.Events.
type Emitter interface {
	Emit(ctx context.Context, workspaceID string, batch []commands.Emission, may ...func(domain.Recorded) error) ([]domain.Recorded, error)
}

// emission is an event that a client emits.
type emission struct {
	Type    *string              `json:"type"`
	Payload json.RawMessage      `json:"payload"`
	Target  *domain.Target       `json:"target"`
	Options *domain.EventOptions `json:"options"`
}

// command returns the emission as it is recorded; field is what it is called in errors.
func (e emission) command(field string) (commands.Emission, error) {
	if e.Type == nil {
		return commands.Emission{}, missing(field + ".type")
	}
	made := commands.Emission{Type: *e.Type, Payload: e.Payload}
	if e.Target != nil && *e.Target != (domain.Target{}) {
		made.Target = e.Target
	}
	if e.Options != nil {
		made.Options = *e.Options
	}
	return made, nil
}

// emitEvents handles POST …/events: all of the events are recorded, or none.
func emitEvents(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in struct {
			Events []emission `json:"events"`
		}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if in.Events == nil {
			return nil, missing("events")
		}
		batch := make([]commands.Emission, len(in.Events))
		for i, e := range in.Events {
			var err error
			if batch[i], err = e.command(fmt.Sprintf("events[%d]", i)); err != nil {
				return nil, err
			}
		}
		shown, err := d.emit(r.Context(), gateway.GrantFrom(r.Context()).Rights, workspaceID(r), batch)
		if err != nil {
			return nil, err
		}
		answer := gateway.Status(http.StatusCreated, eventList(shown))
		for _, e := range shown {
			if e.Options.Persisted() {
				return answer.With("Location", strings.TrimRight(r.URL.Path, "/")+"/"+e.ID), nil
			}
		}
		return answer, nil
	}
}

// emitterOf is for whom acts what events of a caller start; nil when their source says
// all there is to it.
func emitterOf(c gateway.Caller) *domain.Actor {
	a := actorOf(c)
	if a.KeyID == "" && a.KeyRole == "" && a.WorkspaceID == "" && a.Scopes == nil && !a.Lent {
		return nil
	}
	a.UserID = c.Actor()
	return &a
}

// emit records events of the caller of ctx, if they may emit each of them, and returns
// them as they are shown.
func (d Deps) emit(ctx context.Context, rights *access.Rights, workspaceID string, batch []commands.Emission) ([]*feed.Event, error) {
	caller := gateway.CallerFrom(ctx)
	always, by := rights.Always(mayEmit.Action, mayEmit.Subject), emitterOf(caller)
	visitor := rights.Role() == "" && caller.KeyID == ""
	for i := range batch {
		batch[i].Actor = by
	}
	made, err := d.Emitter.Emit(ctx, workspaceID, batch, func(ev domain.Recorded) error {
		if !always {
			refusal := rights.Check(mayEmit.Action, mayEmit.Subject, feed.Of(ev, domain.Position{}, ev.Body))
			if refusal != nil && caller.Kind == gateway.KindNone {
				return domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
			}
			if refusal != nil {
				return refusal
			}
		}
		if visitor {
			return d.refuseVisitor(workspaceID, ev.Data.EventType())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d.Feed.Recorded(ctx, made...)
}

// refuseVisitor refuses an event by which somebody without a role in the workspace, and
// without a key of it, would speak for the platform or for an app instance.
func (d Deps) refuseVisitor(workspaceID, eventType string) error {
	reserved := eventType == "error" || eventType == "usage" || strings.HasSuffix(eventType, ".usage")
	if instance, _, within := strings.Cut(eventType, "."); within && !reserved {
		err := d.ReadModel.View(func(rd projections.Reader) (err error) {
			_, reserved, err = projections.Content{}.Get(rd, workspaceID, instanceFolder+instance)
			return err
		})
		if err != nil {
			return err
		}
	}
	if !reserved {
		return nil
	}
	return domain.Refuse(domain.CodePermissionDenied, "only members of the workspace may emit %s", eventType).
		With("action", mayEmit.Action).With("subject", mayEmit.Subject).With("type", eventType)
}
