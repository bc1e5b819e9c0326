package versioning

import (
	"context"
	"errors"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/workspace"
)

// settled is what is known about a push whose answer was lost.
type settled int

const (
	stored settled = iota // the remote has it
	unsent                // the remote is as it was: it can be sent again
	passed                // somebody else was there
)

func (s settled) outcome() outcome {
	if s == stored {
		return sent
	}
	return raced
}

// patience is how long is waited before each look at a remote that did not answer.
var patience = []time.Duration{0, time.Second, 4 * time.Second, 16 * time.Second}

// settle finds out what became of a push. lost says that its answer was, cause how
// the sending failed, nil when it was lost after it.
func (p *push) settle(ctx context.Context, intent workspace.Intent, lost bool, cause error) (settled, error) {
	if cause != nil && !isRemote(cause) {
		return passed, cause
	}
	var err error
	for _, wait := range patience {
		if err := commands.Sleep(ctx, wait); err != nil {
			return passed, outcomeUnknown(p.remote, err)
		}
		var state settled
		if state, err = p.v.find(ctx, p.remote, intent); err == nil {
			return state, nil
		}
		if !isRemote(err) {
			break
		}
	}
	if !lost {
		return passed, err
	}
	return passed, outcomeUnknown(p.remote, err)
}

// isRemote reports whether an error is the network's or the remote's, which may
// pass.
func isRemote(err error) bool {
	refusal, ok := errors.AsType[*domain.Error](err)
	return ok && (refusal.Code == domain.CodeUnavailable || refusal.Code == domain.CodeGatewayTimeout)
}

// resends is how often what the remote did not get is sent again.
const resends = 2

func cutOff(r *remote) error {
	return domain.Refuse(domain.CodeUnavailable, "the connection was lost each time before the repository had everything: nothing was changed there").
		Reason("remote_unreachable").With("repositoryId", r.repo.ID)
}

func outcomeUnknown(r *remote, cause error) error {
	refusal := domain.Refuse(domain.CodeUnavailable, "the connection was lost after sending, and the repository cannot be asked what became of it: the next push, pull or refreshed status finds out").
		Reason("outcome_unknown").With("repositoryId", r.repo.ID)
	if known, ok := errors.AsType[*domain.Error](cause); ok {
		refusal.With("cause", known.Details["reason"])
	}
	return refusal
}

// find looks at a remote for a push that was sent: T is its commit or contains it;
// when only the tag was to be moved, because the commit was there before, that is.
func (v *Versioning) find(ctx context.Context, r *remote, intent workspace.Intent) (settled, error) {
	if err := r.look(ctx); err != nil {
		return passed, err
	}
	in := len(intent.Moves) == 1 && r.refs.IDs[intent.Moves[0].Name] == intent.Moves[0].New
	if len(intent.Moves) > 1 && r.head() != "" {
		var err error
		if in, err = r.contains(ctx, intent.Commit); err != nil {
			return passed, err
		}
	}
	if in {
		return stored, nil
	}
	for _, m := range intent.Moves {
		if at := r.refs.IDs[m.Name]; at != m.Old && at != m.New {
			return passed, nil
		}
	}
	return unsent, nil
}

// contains reports whether T is at a commit, or has it in its history.
func (r *remote) contains(ctx context.Context, commit string) (bool, error) {
	if r.head() == commit {
		return true, nil
	}
	if err := r.Fetch(ctx, r.head()); err != nil {
		return false, err
	}
	return r.Objects().IsAncestor(commit, r.head())
}
