package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"svc/commands"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/feed"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Emitter records what is emitted. It is a commands.Events.
type Emitter interface {
	Emit(ctx context.Context, workspaceID string, batch []commands.Emission, may ...func(domain.Recorded) error) ([]domain.Recorded, error)
}

// emitRequest is an event that a client emits.
type emitRequest struct {
	Type    *string              `json:"type"`
	Payload json.RawMessage      `json:"payload"`
	Target  *domain.Target       `json:"target"`
	Options *domain.EventOptions `json:"options"`
}

// emitBatch is the body of POST …/events.
type emitBatch struct {
	Events []emitRequest `json:"events"`
}

var errOtherShape = errors.New("encoding/json decides")

// DecodeBody implements gateway.SelfDecoder.
func (b *emitBatch) DecodeBody(body []byte) error {
	var events []emitRequest
	err := domain.VisitMembers(body, func(key, value []byte) error {
		if string(key) != "events" {
			return errOtherShape
		}
		events = []emitRequest{}
		return domain.VisitElements(value, func(value []byte) error {
			events = append(events, emitRequest{})
			return events[len(events)-1].decode(value)
		})
	})
	if err == nil {
		b.Events = events
	}
	return err
}

// decode sets e, which is empty, from an element of a body.
func (e *emitRequest) decode(body []byte) error {
	return domain.VisitMembers(body, func(key, value []byte) error {
		if string(value) == "null" {
			return errOtherShape
		}
		switch string(key) {
		case "type":
			e.Type = new(string)
			return domain.DecodeText(e.Type, value)
		case "payload":
			e.Payload = value
			return nil
		case "target":
			return json.Unmarshal(value, &e.Target)
		case "options":
			return json.Unmarshal(value, &e.Options)
		}
		return errOtherShape
	})
}

// command returns the emission as it is recorded; field is what it is called in errors.
func (e emitRequest) command(field string) (commands.Emission, error) {
	if e.Type == nil {
		return commands.Emission{}, handler.MissingField(field + ".type")
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

// EmitEvents handles POST …/events: all of the events are recorded, or none.
func (h *Handlers) EmitEvents(r *http.Request) (any, error) {
	var in emitBatch
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if in.Events == nil {
		return nil, handler.MissingField("events")
	}
	batch := make([]commands.Emission, len(in.Events))
	for i, e := range in.Events {
		var err error
		if batch[i], err = e.command(fmt.Sprintf("events[%d]", i)); err != nil {
			return nil, err
		}
	}
	emitted, err := h.emit(r.Context(), gateway.GrantFrom(r.Context()).Rights, handler.WorkspaceID(r), batch)
	if err != nil {
		return nil, err
	}
	answer := gateway.Status(http.StatusCreated, eventList(emitted))
	for _, e := range emitted {
		if e.Options.Persisted() {
			return answer.With("Location", handler.Location(r, e.ID)), nil
		}
	}
	return answer, nil
}

// ToEmitter is for whom acts what events of a caller start; nil when their source says
// all there is to it.
func ToEmitter(c gateway.Caller) *domain.Actor {
	a := handler.ToActor(c)
	if a.KeyID == "" && a.KeyRole == "" && a.WorkspaceID == "" && a.Scopes == nil && !a.Lent {
		return nil
	}
	a.UserID = c.Actor()
	return &a
}

// emit records events of the caller of ctx, if they may emit each of them, and returns
// them as they are shown.
func (h *Handlers) emit(ctx context.Context, rights *access.Rights, workspaceID string, batch []commands.Emission) ([]*feed.Event, error) {
	caller := gateway.CallerFrom(ctx)
	always, by := rights.Always("create", "events"), ToEmitter(caller)
	visitor := rights.Role() == "" && caller.KeyID == ""
	for i := range batch {
		batch[i].Actor = by
	}
	made, err := h.Emitter.Emit(ctx, workspaceID, batch, func(ev domain.Recorded) error {
		if !always {
			refusal := rights.Check("create", "events", feed.Of(ev, domain.Position{}, ev.Body))
			if refusal != nil && caller.Kind == gateway.KindNone {
				return gateway.MissingCredential()
			}
			if refusal != nil {
				return refusal
			}
		}
		if visitor {
			return h.refuseVisitor(workspaceID, ev.Data.EventType())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h.Feed.Recorded(ctx, made...)
}

// refuseVisitor refuses an event by which somebody without a role in the workspace, and
// without a key of it, would speak for the platform or for an app instance.
func (h *Handlers) refuseVisitor(workspaceID, eventType string) error {
	reserved := eventType == "error" || eventType == "usage" || strings.HasSuffix(eventType, ".usage")
	if instance, _, within := strings.Cut(eventType, "."); within && !reserved {
		var err error
		if _, reserved, err = projections.FindIn(h.ReadModel, projections.Content{}.Get, workspaceID, documents.InstanceFolder+instance); err != nil {
			return err
		}
	}
	if !reserved {
		return nil
	}
	return domain.Refuse(domain.CodePermissionDenied, "only members of the workspace may emit %s", eventType).
		With("action", "create").With("subject", "events").With("type", eventType)
}
