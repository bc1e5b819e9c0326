package node

import (
	"encoding/json"
	"math"
	"slices"

	"svc/commands/cache"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/feed"
	"svc/projections"
)

// suppression knows which events start nothing, because a wait is for them.
type suppression struct {
	models *projections.Models
	waits  *cache.Cache[waitName, *cancelling]
}

// waitName names a wait.
type waitName struct{ workspaceID, id string }

// cancelling is a wait that keeps the events that it is for from starting anything else,
// as it is asked. It never changes.
type cancelling struct {
	projections.CancellingWait
	options  []automation.Awaited
	instance string // in whose names their filters are written
}

// keptWaits is how many waits are kept ready to be asked.
const keptWaits = 20_000

// Bounds of the work that all waits of a workspace together have with one event, and that
// one of them has.
const (
	stepsOfAll = 4 * expr.FilterSteps
	stepsOfOne = expr.FilterSteps
)

func newSuppression(models *projections.Models) *suppression {
	return &suppression{models: models, waits: cache.New[waitName, *cancelling](keptWaits)}
}

// Suppressed implements triggers.History.
func (s *suppression) Suppressed(e *feed.Event) (bool, error) {
	var list []*cancelling
	err := s.models.View(func(r projections.Reader) error {
		return projections.Runs{}.Waits(r, e.Source.WorkspaceID, e.Seq.Activity, func(id string, end uint64) (bool, error) {
			w, err := s.wait(r, waitName{e.Source.WorkspaceID, id})
			if w != nil && w.pending(e, end) {
				list = append(list, w)
			}
			return err == nil, err
		})
	})
	asked := &question{event: e, steps: stepsOfAll}
	return err == nil && slices.ContainsFunc(list, asked.of), err
}

// wait returns a wait, nil when it is none.
func (s *suppression) wait(r projections.Reader, name waitName) (*cancelling, error) {
	if w, ok := s.waits.Get(name); ok {
		return w, nil
	}
	kept, ok, err := projections.Runs{}.Cancelling(r, name.workspaceID, name.id)
	if err != nil || !ok {
		return nil, err
	}
	w := &cancelling{CancellingWait: kept}
	w.options, w.instance = cancellingOptions(kept.Wait)
	w.Wait = nil // it is read
	s.waits.Set(name, w)
	return w, nil
}

// cancellingOptions reads which events a wait keeps from starting anything else.
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

// pending reports whether a wait that ended at a sequence, or did not, was there when an
// event was recorded.
func (w *cancelling) pending(e *feed.Event, end uint64) bool {
	at := e.Seq.Activity
	return w.Seq < at && (end == 0 || end > at) && e.At.Before(w.ExpiresAt)
}

// question is asked of all waits of a workspace: whether they are for an event.
type question struct {
	event  *feed.Event
	steps  int // that may still be taken
	parsed any
	failed error
}

// of reports whether a wait is for the event.
func (q *question) of(w *cancelling) bool {
	for _, o := range w.options {
		if automation.MatchEvent(o.Event, q.event.Type) && (o.Matcher == nil || q.fits(w.instance, o.Matcher)) {
			return true
		}
	}
	return false
}

// fits reports whether the event fits a filter. What takes too much work does not.
func (q *question) fits(instance string, m *expr.Matcher) bool {
	if q.parsed == nil && q.failed == nil {
		q.parsed, q.failed = value.ParseJSON(string(q.event.JSON()))
	}
	if q.failed != nil || q.steps <= 0 {
		return false
	}
	fits, spent, err := m.MatchWithin(automation.LocalEvent(instance, q.parsed), min(stepsOfOne, q.steps))
	q.steps -= spent
	return err == nil && fits
}

// cancellingWaits is how many waits of a workspace keep events from starting anything
// else.
func (n *Node) cancellingWaits(workspaceID string) (count int, err error) {
	err = n.models.View(func(r projections.Reader) error {
		return projections.Runs{}.Waits(r, workspaceID, math.MaxUint64, func(string, uint64) (bool, error) {
			count++
			return true, nil
		})
	})
	return count, err
}
