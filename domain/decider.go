package domain

// Decider is the rule of one kind of aggregate over its state S and commands C.
type Decider[S, C any] struct {
	// Kind names the aggregate in stream ids and subjects.
	Kind string
	// Version is part of every snapshot; raise it when S or Evolve changes.
	Version int
	// Decide turns a command into the facts it causes, or refuses it. No facts
	// and no error means that there is nothing to do.
	Decide func(S, C) ([]Event, error)
	// Evolve folds one fact into the state. Facts it does not know change nothing.
	Evolve func(S, Event) S
}

// Fold applies events to s, in order.
func (d Decider[S, C]) Fold(s S, events ...Event) S {
	for _, ev := range events {
		s = d.Evolve(s, ev)
	}
	return s
}

// Stream returns the id of one aggregate of this kind.
func (d Decider[S, C]) Stream(scope, id string) StreamID {
	return StreamID{Scope: scope, Kind: d.Kind, ID: id}
}
