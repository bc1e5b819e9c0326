// Package parked keeps the states of trees that stand in a durable wait: where each
// of their branches is, and the variables. Any node goes on with one.
//
// They are sealed with the data key of their workspace and go when the tree goes
// on: they are no history.
package parked

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/commands"
	"svc/commands/vault"
	"svc/domain"
)

// Store keeps states. It is a *jetstream.Data, whose methods say what each of these
// does.
type Store interface {
	Replace(ctx context.Context, id domain.StreamID, name string, body []byte) error
	Since(ctx context.Context, id domain.StreamID, after uint64, visit func(seq uint64, snapshot bool, parts string, body []byte) error) error
	Drop(ctx context.Context, id domain.StreamID, below uint64) error
	Sweep(ctx context.Context, workspaceID, kind string, dry bool, over func(start []byte) bool) (count, bytes uint64, err error)
}

// Parked keeps the states of trees. Store and Vault are required.
type Parked struct {
	Store Store
	Vault commands.Vault
	Log   *slog.Logger // default slog.Default
}

// Put keeps the state of a tree in the place of an earlier one. It is on disk when
// Put returns nil. Two that are put at once leave either.
func (p *Parked) Put(ctx context.Context, workspaceID, treeID string, state []byte) error {
	sealed, err := p.Vault.Seal(ctx, workspaceID, state, purpose(treeID))
	if err == nil {
		err = p.Store.Replace(ctx, stream(workspaceID, treeID), rand.Text(), append(front(treeID), sealed...))
	}
	if err != nil {
		return fmt.Errorf("keep the state of tree %s: %w", treeID, err)
	}
	return nil
}

// Get returns the state that was put last; ok is false when there is none. One that the key
// of its workspace does not open is let go: its own was destroyed, and never comes back.
func (p *Parked) Get(ctx context.Context, workspaceID, treeID string) (state []byte, ok bool, err error) {
	var sealed []byte
	var last uint64
	err = p.Store.Since(ctx, stream(workspaceID, treeID), 0, func(seq uint64, _ bool, _ string, body []byte) error {
		sealed, last, ok = body, seq, true
		return nil
	})
	if err == nil && ok {
		sealed, _ = bytes.CutPrefix(sealed, front(treeID)) // one from before there were sweeps has none
		state, err = p.Vault.Open(ctx, workspaceID, sealed, purpose(treeID))
	}
	if errors.Is(err, vault.ErrNoKey) || errors.Is(err, vault.ErrDamaged) {
		ok, err = false, p.letGo(ctx, workspaceID, treeID, last, err)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the state of tree %s: %w", treeID, err)
	}
	return state, ok, nil
}

// letGo deletes a state that cannot be read any more, and says so. One that was stored since
// then stays.
func (p *Parked) letGo(ctx context.Context, workspaceID, treeID string, seq uint64, reason error) error {
	if err := p.Store.Drop(ctx, stream(workspaceID, treeID), seq+1); err != nil {
		return err
	}
	cmp.Or(p.Log, slog.Default()).WarnContext(ctx, "where a tree stood was forgotten: the key that it was sealed with is destroyed", "workspace", workspaceID, "executionId", treeID, "err", reason)
	return nil
}

// Drop forgets the state of a tree. Dropping nothing is no error.
func (p *Parked) Drop(ctx context.Context, workspaceID, treeID string) error {
	if err := p.Store.Drop(ctx, stream(workspaceID, treeID), 0); err != nil {
		return fmt.Errorf("forget the state of tree %s: %w", treeID, err)
	}
	return nil
}

// Sweep forgets the states of trees that are not open any more, and returns how many: a
// node may have gone between the end of a tree and forgetting where it stood. Those whose
// trees are younger than before are left alone: they may be open before that is known.
func (p *Parked) Sweep(ctx context.Context, before time.Time, open func(treeID string) bool) (swept uint64, err error) {
	swept, _, err = p.Store.Sweep(ctx, "", kind, false, func(start []byte) bool {
		name, _, found := bytes.Cut(start, []byte{0})
		id, malformed := ulid.ParseStrict(string(name))
		return found && malformed == nil && ulid.Time(id.Time()).Before(before) && !open(string(name))
	})
	if err != nil {
		return swept, fmt.Errorf("forget the states of trees that are over: %w", err)
	}
	return swept, nil
}

// front is what is stored in front of a state: whose it is, which is no secret.
func front(treeID string) []byte { return append([]byte(treeID), 0) }

// kind is that of the data that states are.
const kind = "trees"

// stream is where the state of a tree is.
func stream(workspaceID, treeID string) domain.StreamID {
	return domain.StreamID{Scope: workspaceID, Kind: kind, ID: treeID}
}

// purpose is what the state of a tree is sealed for.
func purpose(treeID string) string { return "trees/" + treeID }
