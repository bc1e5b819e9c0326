package projections

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"svc/domain"
	"svc/domain/operation"
)

// Operations is the read model of the operations on workspaces.
//
//	o{workspace}\0{seq}  the operation; seq is that of its first event
//	i{id}                its key
//	r{id}                workspace: the operation has not ended
type Operations struct{}

// OperationRef names an operation.
type OperationRef struct{ WorkspaceID, ID string }

// Name implements Projection.
func (Operations) Name() string { return "operations.1" }

// Log implements Projection.
func (Operations) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (o Operations) Apply(tx Tx, ev domain.Recorded) error {
	if _, void := ev.Data.(domain.Void); void || ev.Stream.Kind != operation.Decider.Kind {
		return nil
	}
	scope, id := ev.Stream.Scope, ev.Stream.ID
	key, known, err := tx.Get(operationKey('i', id))
	if err != nil {
		return err
	}
	var op operation.State
	if !known {
		key = scopedKey('o', scope, binary.BigEndian.AppendUint64(nil, ev.Seq))
		if err := tx.Set(operationKey('i', id), key); err != nil {
			return err
		}
	} else if err := getJSON(tx, key, &op); err != nil {
		return fmt.Errorf("operation %s: %w", id, err)
	}
	op = operation.Decider.Evolve(op, ev.Data)
	if err := setJSON(tx, key, op); err != nil {
		return err
	}
	if op.Status.Ended() {
		return tx.Delete(operationKey('r', id))
	}
	return tx.Set(operationKey('r', id), []byte(scope))
}

func operationKey(space byte, id string) []byte { return append([]byte{space}, id...) }

// Get returns the operation with an id.
func (o Operations) Get(r Reader, id string) (op operation.State, ok bool, err error) {
	key, ok, err := r.Get(o, operationKey('i', id))
	if err != nil || !ok {
		return op, false, err
	}
	value, ok, err := r.Get(o, key)
	if err != nil || !ok {
		return op, false, err
	}
	return op, true, json.Unmarshal(value, &op)
}

// List visits the operations of a workspace, the newest first, until visit
// returns false.
func (o Operations) List(r Reader, workspaceID string, visit func(operation.State) (more bool)) error {
	return r.Iterate(o, Span{Prefix: scopedKey('o', workspaceID, nil), Reverse: true}, func(_, value []byte) (bool, error) {
		var op operation.State
		if err := json.Unmarshal(value, &op); err != nil {
			return false, err
		}
		return visit(op), nil
	})
}

// Running lists the operations that have not ended.
func (o Operations) Running(r Reader) (refs []OperationRef, err error) {
	err = r.Iterate(o, Span{Prefix: []byte{'r'}}, func(key, value []byte) (bool, error) {
		refs = append(refs, OperationRef{WorkspaceID: string(value), ID: string(key[1:])})
		return true, nil
	})
	return refs, err
}

// Reindexing returns the operation that processes a knowledge base again; ok is false when there is none.
func (o Operations) Reindexing(r Reader, workspaceID, baseID string) (op operation.State, ok bool, err error) {
	running, err := o.Running(r)
	for _, ref := range running {
		if ref.WorkspaceID != workspaceID {
			continue
		}
		op, known, err := o.Get(r, ref.ID)
		if err != nil || known && op.Reindex != nil && op.Reindex.BaseID == baseID {
			return op, err == nil, err
		}
	}
	return op, false, err
}

// Operated lists the operations that hold a lock which runs out.
func (w Workspaces) Operated(r Reader) (refs []OperationRef, err error) {
	locked, err := w.Expired(r, time.UnixMilli(1<<60)) // some day all of them have run out
	for _, id := range locked {
		rec, _, readErr := w.Record(r, id)
		if readErr != nil {
			return nil, readErr
		}
		if lock := rec.Dynamic.WriteLock; lock != nil && lock.Operation != nil {
			refs = append(refs, OperationRef{WorkspaceID: id, ID: lock.Operation.ID})
		}
	}
	return refs, err
}
