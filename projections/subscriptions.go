package projections

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc/domain"
	"svc/domain/subscription"
	"svc/domain/workspace"
)

// Subscriptions is the read model of the subscriptions of workspaces, with their
// secrets still sealed.
//
//	s{workspace}\0{id}  SubscriptionRecord
//	i{id}               workspace
//	x{workspace}        nothing: the workspace is deleted
//	v                   sequence of the last event that changed any of these
type Subscriptions struct{}

// SubscriptionRecord is a subscription with its history.
type SubscriptionRecord struct {
	subscription.State
	CreatedAt string    `json:"createdAt"`
	CreatedBy string    `json:"createdBy"`
	UpdatedAt string    `json:"updatedAt"`
	UpdatedBy string    `json:"updatedBy"`
	Since     string    `json:"since"`             // id of the event that created it: it delivers later events
	ClosedAt  time.Time `json:"closedAt,omitzero"` // when its breaker was closed by a user
}

// Name implements Projection.
func (Subscriptions) Name() string { return "subscriptions.2" }

// Log implements Projection.
func (Subscriptions) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (s Subscriptions) Apply(tx Tx, ev domain.Recorded) error {
	var err error
	switch ev.Data.(type) {
	case subscription.Created:
		rec := SubscriptionRecord{CreatedAt: domain.FormatTime(ev.At), CreatedBy: ev.Meta.UserID, Since: ev.ID}
		err = errors.Join(s.put(tx, ev, rec), tx.Set(append([]byte{'i'}, ev.Stream.ID...), []byte(ev.Stream.Scope)))
	case subscription.Updated, subscription.Disabled:
		err = s.change(tx, ev)
	case subscription.Deleted:
		err = errors.Join(tx.Delete(subscriptionKey(ev.Stream.Scope, ev.Stream.ID)), tx.Delete(append([]byte{'i'}, ev.Stream.ID...)))
	case workspace.Deleted:
		err = tx.Set(append([]byte{'x'}, ev.Stream.ID...), nil)
	case workspace.Undeleted:
		err = tx.Delete(append([]byte{'x'}, ev.Stream.ID...))
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return tx.Set([]byte{'v'}, seqKey(ev.Seq))
}

// change folds an event into the record of its subscription.
func (s Subscriptions) change(tx Tx, ev domain.Recorded) error {
	var rec SubscriptionRecord
	if err := getJSON(tx, subscriptionKey(ev.Stream.Scope, ev.Stream.ID), &rec); err != nil {
		return err
	}
	if rec.ID == "" {
		return fmt.Errorf("subscription %s was never created", ev.Stream.ID)
	}
	if e, ok := ev.Data.(subscription.Updated); ok && e.Closes {
		rec.ClosedAt = ev.At.UTC()
	}
	return s.put(tx, ev, rec)
}

func (Subscriptions) put(tx Tx, ev domain.Recorded, rec SubscriptionRecord) error {
	rec.State = subscription.Decider.Evolve(rec.State, ev.Data)
	rec.UpdatedAt, rec.UpdatedBy = domain.FormatTime(ev.At), ev.Meta.UserID
	return setJSON(tx, subscriptionKey(ev.Stream.Scope, ev.Stream.ID), rec)
}

func subscriptionKey(workspaceID, id string) []byte { return scopedKey('s', workspaceID, []byte(id)) }

// Version changes whenever a subscription changes.
func (s Subscriptions) Version(r Reader) (uint64, error) {
	value, ok, err := r.Get(s, []byte{'v'})
	if err != nil || !ok || len(value) != 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// Get returns a subscription of a workspace.
func (s Subscriptions) Get(r Reader, workspaceID, id string) (rec SubscriptionRecord, ok bool, err error) {
	value, ok, err := r.Get(s, subscriptionKey(workspaceID, id))
	if err != nil || !ok {
		return rec, false, err
	}
	return rec, true, json.Unmarshal(value, &rec)
}

// GetActive returns a subscription that delivers now: it is not disabled, and its
// workspace is there.
func (s Subscriptions) GetActive(r Reader, workspaceID, id string) (rec SubscriptionRecord, ok bool, err error) {
	rec, ok, err = s.Get(r, workspaceID, id)
	if err != nil || !ok || rec.Disabled {
		return rec, false, err
	}
	gone, err := s.isWorkspaceDeleted(r, workspaceID)
	return rec, !gone, err
}

func (s Subscriptions) isWorkspaceDeleted(r Reader, workspaceID string) (bool, error) {
	_, gone, err := r.Get(s, append([]byte{'x'}, workspaceID...))
	return gone, err
}

// Of returns the subscriptions of a workspace, in the order of their ids.
func (s Subscriptions) Of(r Reader, workspaceID string) (list []SubscriptionRecord, err error) {
	err = s.list(r, scopedKey('s', workspaceID, nil), func(rec SubscriptionRecord) error {
		list = append(list, rec)
		return nil
	})
	return list, err
}

// Count returns how many subscriptions a workspace has.
func (s Subscriptions) Count(r Reader, workspaceID string) (n int, err error) {
	err = r.Iterate(s, Span{Prefix: scopedKey('s', workspaceID, nil), KeysOnly: true}, func(_, _ []byte) (bool, error) {
		n++
		return true, nil
	})
	return n, err
}

// All returns all subscriptions that deliver now.
func (s Subscriptions) All(r Reader) (list []SubscriptionRecord, err error) {
	err = s.list(r, []byte{'s'}, func(rec SubscriptionRecord) error {
		gone, err := s.isWorkspaceDeleted(r, rec.WorkspaceID)
		if !rec.Disabled && !gone {
			list = append(list, rec)
		}
		return err
	})
	return list, err
}

func (s Subscriptions) list(r Reader, prefix []byte, visit func(SubscriptionRecord) error) error {
	return r.Iterate(s, Span{Prefix: prefix}, func(_, value []byte) (bool, error) {
		var rec SubscriptionRecord
		if err := json.Unmarshal(value, &rec); err != nil {
			return false, err
		}
		return true, visit(rec)
	})
}
