package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"svc/commands"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/http/gateway"
	"svc/projections"
)

// shownWait is a wait as it is answered.
type shownWait struct {
	ID            string        `json:"id"`
	CorrelationID string        `json:"correlationId"`
	Automation    string        `json:"automation"`
	StartedBy     string        `json:"startedBy,omitempty"` // who caused the run
	Since         string        `json:"since"`
	Until         string        `json:"until,omitempty"`
	WaitsFor      []waitedEvent `json:"waitsFor"` // none: it waits for time to pass
}

// waitedEvent is an event that a wait is for: a type, or a pattern ending in .*, with the
// name of the app instance in front.
type waitedEvent struct {
	Event   string          `json:"event"`
	Filters json.RawMessage `json:"filters,omitempty"`
}

func waitedEvents(wait json.RawMessage) []waitedEvent {
	var asked struct {
		OneOf []waitedEvent `json:"oneOf"`
	}
	_ = json.Unmarshal(wait, &asked) // what is no list of events is a sleep
	return append([]waitedEvent{}, asked.OneOf...)
}

// listWaits handles GET /v2/workspaces/{workspaceId}/waits, the oldest first. Who may read
// the events of a run may read its waits.
func listWaits(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		page := q.Page(20, 100)
		if err := q.Err(); err != nil {
			return nil, err
		}
		id, rights := workspaceID(r), gateway.GrantFrom(r.Context()).Rights
		shown, total := []shownWait{}, 0
		if rights == nil {
			return gateway.List(r, shown, total, page), nil
		}
		allowed, sure := rights.DecideForAll(mayReadEvents.Action, mayReadEvents.Subject, knownOfRuns(id))
		if sure && !allowed {
			return gateway.List(r, shown, total, page), nil
		}
		may := readable(rights)
		err := d.ReadModel.View(func(rd projections.Reader) error {
			var failed error
			err := projections.Runs{}.PendingWaits(rd, id, func(w projections.PendingWait) bool {
				inPage := total >= page.Offset() && len(shown) < page.Limit
				if sure && !inPage {
					total++
					return true
				}
				run, known, err := projections.Runs{}.Get(rd, id, w.CorrelationID)
				if failed = err; err != nil || !sure && (!known || !may(run.Event())) {
					return err == nil
				}
				if total++; inPage {
					shown = append(shown, shownWait{w.ID, w.CorrelationID, w.Automation, run.StartedBy, stampOf(w.Since), w.Until, waitedEvents(w.Wait)})
				}
				return true
			})
			return orElse(failed, err)
		})
		if err != nil {
			return nil, err
		}
		return gateway.List(r, shown, total, page), nil
	}
}

// answerWait handles POST /v2/workspaces/{workspaceId}/waits/{waitId}/answer: it emits an
// event that the wait is for.
func answerWait(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in struct {
			Event   *string         `json:"event"`
			Payload json.RawMessage `json:"payload"`
		}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if in.Event == nil {
			return nil, missing("event")
		}
		id, waitID := workspaceID(r), gateway.Var(r, "waitId")
		var wait projections.PendingWait
		var pending, ended bool
		err := d.ReadModel.View(func(rd projections.Reader) (err error) {
			wait, pending, ended, err = projections.Runs{}.PendingWait(rd, id, waitID)
			return err
		})
		switch {
		case err != nil:
			return nil, err
		case ended:
			return nil, domain.Refuse(domain.CodeConflict, "the wait is over already").Reason("already_ended")
		case !pending:
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such wait").With("resource", "wait").With("id", waitID)
		}
		programSet, err := d.programSet(r)
		if err != nil {
			return nil, err
		}
		if err := mayTestRun(programSet, wait.Automation, gateway.GrantFrom(r.Context()).Rights); err != nil {
			return nil, err
		}
		if err := fitsWait(wait, *in.Event, in.Payload); err != nil {
			return nil, err
		}
		made, err := d.Emitter.Emit(r.Context(), id, []commands.Emission{{
			Type: *in.Event, Payload: in.Payload, Actor: emitterOf(gateway.CallerFrom(r.Context())),
		}})
		if err != nil {
			return nil, err
		}
		return map[string]any{"id": wait.ID, "correlationId": wait.CorrelationID, "event": map[string]string{"id": made[0].ID, "type": *in.Event}}, nil
	}
}

// fitsWait refuses an event that would not end a wait: one of another type, or with a
// payload that the filters do not fit. Filters on anything but type and payload are left
// to the wait itself.
func fitsWait(wait projections.PendingWait, event string, payload json.RawMessage) error {
	params, err := value.ParseJSON(string(wait.Wait))
	if err != nil {
		return err
	}
	var names []string
	typed := false
	given := value.NewObject("type", event, "payload", &value.Object{})
	if len(payload) > 0 {
		body, err := value.ParseJSON(string(payload))
		if err != nil {
			return err
		}
		given.Set("payload", body)
	}
	for _, item := range automation.OneOf(params) {
		awaited, err := automation.ReadAwaited(item)
		if err != nil {
			return err
		}
		names = append(names, awaited.Event)
		if !automation.MatchEvent(awaited.Event, event) {
			continue
		}
		typed = true
		filters, _ := value.At(item, "filters").(*value.Object)
		known := !slices.ContainsFunc(filters.Keys(), func(key string) bool {
			root, _, _ := strings.Cut(key, ".")
			return root != "payload" && root != "type"
		})
		if awaited.Matcher == nil || !known {
			return nil
		}
		if fits, err := awaited.Matcher.Match(given); err != nil || fits {
			return err
		}
	}
	switch {
	case len(names) == 0:
		return domain.Invalid(domain.FieldError{Field: "event", Message: "the wait is for a time and cannot be ended by an event"})
	case !typed:
		return domain.Invalid(domain.FieldError{Field: "event", Message: "the wait is not for this event, but for: " + strings.Join(names, ", ")})
	}
	return domain.Invalid(domain.FieldError{Field: "payload", Message: "the payload does not fit the filters of the wait"})
}
