package automation

import (
	"slices"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// Awaited is one of the events that a wait is for.
type Awaited struct {
	Event           string        // a type, or a pattern ending in .*
	Matcher         *expr.Matcher // nil: whatever it holds
	CancelsTriggers bool          // of the events that fit
}

// WaitInstance is the key of a wait, as its event tells it, under which it has the full slug
// of the app instance whose names its filters are written in. Waits that have none are of
// the workspace itself, or older than local names.
const WaitInstance = "appInstance"

// OneOf lists what a wait with these parameters is for, each item as it is written.
func OneOf(params any) []any {
	list, _ := value.At(params, "oneOf").([]any)
	return list
}

// ReadAwaited reads one item of a wait. A filter that is none is an error.
func ReadAwaited(item any) (Awaited, error) {
	a := Awaited{Event: value.Text(value.At(item, "event")), CancelsTriggers: cancels(item)}
	filters, ok := value.At(item, "filters").(*value.Object)
	if !ok || filters.Len() == 0 {
		return a, nil
	}
	var err error
	a.Matcher, err = expr.CompileMatcher(filters, true)
	return a, err
}

// CancelsTriggers reports whether one of the events that a wait is for starts nothing else
// when it fits. The wait is as its event tells it.
func CancelsTriggers(wait []byte) bool {
	params, err := value.ParseJSON(string(wait))
	return err == nil && slices.ContainsFunc(OneOf(params), cancels)
}

// MayCancel reports whether an item of a wait, as it is written, may cancel triggers once it
// is evaluated.
func MayCancel(item any) bool {
	_, isText := item.(string)
	_, computed := value.At(item, "cancelTriggers").(string)
	return isText || computed || cancels(item)
}

func cancels(item any) bool { return value.At(item, "cancelTriggers") == true }
