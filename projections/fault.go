package projections

import (
	"fmt"

	"svc/domain"
)

// FaultKind says what stopped a log.
type FaultKind string

const (
	// FaultApply is a projection that refused an event.
	FaultApply FaultKind = "apply"
	// FaultGap is a range of sequences that STATE should hold and does not.
	FaultGap FaultKind = "gap"
	// FaultUnknown is an event on STATE of a type this version does not know.
	FaultUnknown FaultKind = "unknown"
	// FaultStore is a log or a store that does not answer. It is the one fault
	// that is tried again and can pass.
	FaultStore FaultKind = "store"
)

// Fault is why a log is not followed any further.
type Fault struct {
	Kind       FaultKind  `json:"kind"`
	Log        domain.Log `json:"log"`
	Projection string     `json:"projection,omitempty"`
	From       uint64     `json:"from"` // the first sequence concerned
	To         uint64     `json:"to"`   // the last one
	Message    string     `json:"message"`
	Err        error      `json:"-"`
}

// Error implements error.
func (f *Fault) Error() string {
	at := fmt.Sprintf("%s %d", f.Log, f.From)
	if f.To != f.From {
		at = fmt.Sprintf("%s-%d", at, f.To)
	}
	if f.Projection != "" {
		at = f.Projection + " at " + at
	}
	return fmt.Sprintf("projections: %s: %s: %s", f.Kind, at, f.Message)
}

// Unwrap returns the cause, if any.
func (f *Fault) Unwrap() error { return f.Err }

// stops reports whether the fault ends following until a rebuild or a restart.
func (f *Fault) stops() bool { return f != nil && f.Kind != FaultStore }

func gap(log domain.Log, from, to uint64) *Fault {
	return &Fault{Kind: FaultGap, Log: log, From: from, To: to,
		Message: fmt.Sprintf("%d events are missing from the log", to-from+1)}
}
