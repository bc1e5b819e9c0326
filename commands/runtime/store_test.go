package runtime_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"svc/domain"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

// store is a real one that can refuse.
type store struct {
	*jetstream.Store
	refuses  atomic.Pointer[func(commits []eventstore.Commit) bool]
	denies   atomic.Pointer[func(commits []eventstore.Commit) bool]
	payloads atomic.Int64 // how many are still to be refused

	mu   sync.Mutex
	told []eventstore.Fact // what is on the log, in order
}

func (s *store) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	if refuses := s.refuses.Load(); refuses != nil && (*refuses)(commits) {
		return eventstore.Receipt{}, fmt.Errorf("%w: a hiccup", eventstore.ErrUnavailable)
	}
	if denies := s.denies.Load(); denies != nil && (*denies)(commits) {
		return eventstore.Receipt{}, domain.Refuse(domain.CodeInvalidRequest, "too large")
	}
	receipt, err := s.Store.Log.Append(ctx, commits...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range commits {
		if err == nil {
			s.told = append(s.told, c.Facts...)
		}
	}
	return receipt, err
}

func (s *store) Put(ctx context.Context, workspaceID, eventID string, body []byte) error {
	if s.payloads.Add(-1) >= 0 {
		return fmt.Errorf("%w: a hiccup", eventstore.ErrUnavailable)
	}
	return s.Store.Payloads.Put(ctx, workspaceID, eventID, body)
}

// recordRefusal lets the store refuse what is asked for.
func (s *store) refuse(what func(commits []eventstore.Commit) bool) { s.refuses.Store(&what) }

// deny lets the store refuse for good what is asked for.
func (s *store) deny(what func(commits []eventstore.Commit) bool) { s.denies.Store(&what) }
