package runs

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"svc/commands"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/value"
	"svc/http/api/events"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// waitResponse is a wait as it is answered.
type waitResponse struct {
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

// ListWaits handles GET /v2/workspaces/{workspaceId}/waits, the oldest first. Who may read
// the events of a run may read its waits.
func (h *Handlers) ListWaits(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page := q.Page(20, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
	items, total := []waitResponse{}, 0
	if rights == nil {
		return gateway.List(r, items, total, page), nil
	}
	allowed, sure := rights.DecideForAll("read", "events", knownRunFields(id))
	if sure && !allowed {
		return gateway.List(r, items, total, page), nil
	}
	may := events.NewEventFilter(rights)
	rd := h.ReadModel.Reader()
	defer rd.Close()
	var failed error
	err := projections.Runs{}.PendingWaits(rd, id, func(w projections.PendingWait) bool {
		inPage := total >= page.Offset() && len(items) < page.Limit
		if sure && !inPage {
			total++
			return true
		}
		run, known, err := projections.Runs{}.Get(rd, id, w.CorrelationID)
		if failed = err; err != nil || !sure && (!known || !may(run.Event())) {
			return err == nil
		}
		if total++; inPage {
			items = append(items, waitResponse{w.ID, w.CorrelationID, w.Automation, run.StartedBy, handler.FormatTime(w.Since), w.Until, waitedEvents(w.Wait)})
		}
		return true
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	return gateway.List(r, items, total, page), nil
}

// AnswerWait handles POST /v2/workspaces/{workspaceId}/waits/{waitId}/answer: it emits an
// event that the wait is for.
func (h *Handlers) AnswerWait(r *http.Request) (any, error) {
	var in struct {
		Event   *string         `json:"event"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if in.Event == nil {
		return nil, handler.MissingField("event")
	}
	id, waitID := handler.WorkspaceID(r), gateway.Var(r, "waitId")
	wait, pending, ended, err := h.findWait(id, waitID)
	switch {
	case err != nil:
		return nil, err
	case ended:
		return nil, domain.Refuse(domain.CodeConflict, "the wait is over already").Reason("already_ended")
	case !pending:
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such wait").With("resource", "wait").With("id", waitID)
	}
	programSet, err := h.programSet(r)
	if err != nil {
		return nil, err
	}
	if err := checkTestRun(programSet, wait.Automation, gateway.GrantFrom(r.Context()).Rights); err != nil {
		return nil, err
	}
	if err := checkFitsWait(wait, *in.Event, in.Payload); err != nil {
		return nil, err
	}
	made, err := h.Emitter.Emit(r.Context(), id, []commands.Emission{{
		Type: *in.Event, Payload: in.Payload, Actor: events.ToEmitter(gateway.CallerFrom(r.Context())),
	}})
	if err != nil {
		return nil, err
	}
	return map[string]any{"id": wait.ID, "correlationId": wait.CorrelationID, "event": map[string]string{"id": made[0].ID, "type": *in.Event}}, nil
}

func (h *Handlers) findWait(workspaceID, id string) (wait projections.PendingWait, pending, ended bool, err error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	return projections.Runs{}.PendingWait(rd, workspaceID, id)
}

// checkFitsWait refuses an event that would not end a wait: one of another type, or with a
// payload that the filters do not fit. Filters on anything but type and payload are left
// to the wait itself.
func checkFitsWait(wait projections.PendingWait, event string, payload json.RawMessage) error {
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
