package triggers

import (
	"encoding/json"
	"slices"

	"svc/commands/cache"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/feed"
	"svc/domain/value"
	"svc/projections"
)

// Suppression knows which events start nothing, because a wait keeps them from it.
type Suppression struct {
	models *projections.Models
	waits  *cache.Cache[waitKey, *cancellingWait]
}

// waitKey identifies a wait.
type waitKey struct{ workspaceID, id string }

// cancellingWait is a wait that keeps the events that it is for from starting anything else.
// It never changes.
type cancellingWait struct {
	projections.CancellingWait
	options  []automation.Awaited
	instance string // the app instance in whose names the filters are written
}

// cachedWaits is how many waits are cached.
const cachedWaits = 20_000

// Limits of the work that all waits of a workspace together have with one event, and that
// one of them has.
const (
	stepsOfAll = 4 * expr.FilterSteps
	stepsOfOne = expr.FilterSteps
)

// NewSuppression returns a Suppression.
func NewSuppression(models *projections.Models) *Suppression {
	return &Suppression{models: models, waits: cache.New[waitKey, *cancellingWait](cachedWaits)}
}

// Suppressed implements History.
func (s *Suppression) Suppressed(e *feed.Event) (bool, error) {
	list, err := s.pendingWaits(e)
	q := &waitQuery{event: e, steps: stepsOfAll}
	return err == nil && slices.ContainsFunc(list, q.matches), err
}

// pendingWaits returns the waits of a workspace that were pending when an event was recorded.
func (s *Suppression) pendingWaits(e *feed.Event) (list []*cancellingWait, err error) {
	r := s.models.Reader()
	defer r.Close()
	err = projections.Runs{}.Waits(r, e.Source.WorkspaceID, e.Seq.Activity, func(id string, end uint64) (bool, error) {
		w, err := s.find(r, waitKey{e.Source.WorkspaceID, id})
		if w != nil && w.isPending(e, end) {
			list = append(list, w)
		}
		return err == nil, err
	})
	return list, err
}

// find returns a wait; nil when it cancels no triggers.
func (s *Suppression) find(r projections.Reader, key waitKey) (*cancellingWait, error) {
	if w, ok := s.waits.Get(key); ok {
		return w, nil
	}
	stored, ok, err := projections.Runs{}.Cancelling(r, key.workspaceID, key.id)
	if err != nil || !ok {
		return nil, err
	}
	w := &cancellingWait{CancellingWait: stored}
	w.options, w.instance = cancellingOptions(stored.Wait)
	w.Wait = nil // it is parsed
	s.waits.Set(key, w)
	return w, nil
}

// cancellingOptions returns which events a wait keeps from starting anything else.
func cancellingOptions(wait json.RawMessage) (options []automation.Awaited, instance string) {
	params, err := value.ParseJSON(string(wait))
	if err != nil {
		return nil, ""
	}
	for _, item := range automation.OneOf(params) {
		if o, err := automation.ReadAwaited(item); err == nil && o.CancelsTriggers {
			options = append(options, o)
		}
	}
	instance, _ = value.At(params, automation.WaitInstance).(string)
	return options, instance
}

// isPending reports whether a wait that ended at a sequence, 0: has not ended, was pending
// when an event was recorded.
func (w *cancellingWait) isPending(e *feed.Event, end uint64) bool {
	at := e.Seq.Activity
	return w.Seq < at && (end == 0 || end > at) && e.At.Before(w.ExpiresAt)
}

// waitQuery asks all waits of a workspace whether they are for an event.
type waitQuery struct {
	event  *feed.Event
	steps  int // that are left
	parsed any
	failed error
}

// matches reports whether a wait is for the event.
func (q *waitQuery) matches(w *cancellingWait) bool {
	for _, o := range w.options {
		if automation.MatchEvent(o.Event, q.event.Type) && (o.Matcher == nil || q.matchesFilter(w.instance, o.Matcher)) {
			return true
		}
	}
	return false
}

// matchesFilter reports whether the event matches a filter. A filter that takes too many
// steps does not match.
func (q *waitQuery) matchesFilter(instance string, m *expr.Matcher) bool {
	if q.parsed == nil && q.failed == nil {
		q.parsed, q.failed = value.ParseJSON(string(q.event.JSON()))
	}
	if q.failed != nil || q.steps <= 0 {
		return false
	}
	matched, spent, err := m.MatchWithin(automation.LocalEvent(instance, q.parsed), min(stepsOfOne, q.steps))
	q.steps -= spent
	return err == nil && matched
}
