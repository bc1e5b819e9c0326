package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"svc/commands"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation/value"
	"svc/domain/feed"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/streams"
	"svc/streams/triggers"
)

// triggersLease is for how long a share of the workspaces stays its node's without a
// word of it.
const triggersLease = 15 * time.Second

// openTriggers starts automations because something happened, on a node that has this
// role.
func (n *Node) openTriggers(ctx context.Context) error {
	var err error
	if !n.store.Alone() {
		if n.running.alive, err = n.store.Bucket(ctx, jetstream.BucketConfig{Name: "PROCESSES", TTL: aliveFor}); err != nil {
			return err
		}
		n.work("signs of life", n.live)
	}
	if !slices.Contains(n.config().Core.Roles, "runtime") {
		return nil
	}
	cursors, err := n.store.Bucket(ctx, jetstream.BucketConfig{Name: "TRIGGERS"})
	if err != nil {
		return err
	}
	o := triggers.Options{
		Feed: n.feed, Programs: n.running.programs, Runtime: n.running.runtime, History: runHistory{n.models, n.running.parked, n.gone}, Cursors: cursors,
		Caller: n.callerOf, Identify: n.identify, Fresh: n.everything, Position: n.models.Position,
		MaxDepth:    func() int { return n.config().Runtime.MaxSuccessiveCalls },
		MaxAttempts: func() int { return n.config().Runtime.ExecutionMaxAttempts },
		Log:         n.log,
	}
	if !n.store.Alone() {
		leases, err := n.store.Bucket(ctx, jetstream.BucketConfig{Name: "TRIGGERS_LEASES"})
		if err != nil {
			return err
		}
		o.Hold = func(ctx context.Context, name string, work func(context.Context) error) error {
			return streams.Lease{Bucket: leases, Name: name, TTL: triggersLease, Log: n.log}.Hold(ctx, work)
		}
	}
	t, err := triggers.New(o)
	if err != nil {
		return err
	}
	n.workInShares("triggers", t.Run)
	return nil
}

// gone reports whether the process that runs a tree is gone. Where there are no other
// nodes that is every one but this.
func (n *Node) gone(ctx context.Context, process string) (bool, error) {
	if process == n.running.process {
		return false, nil
	}
	if n.store.Alone() {
		return true, nil
	}
	_, _, err := n.running.alive.Get(ctx, process)
	if errors.Is(err, eventstore.ErrNoKey) {
		return true, nil
	}
	return false, err
}

// Signs of life: for how long one counts, and how often it is given.
const (
	aliveFor   = 15 * time.Second
	aliveEvery = 5 * time.Second
)

// live tells the other nodes that this one is there, until ctx ends.
func (n *Node) live(ctx context.Context) error {
	for {
		if _, err := n.running.alive.Put(ctx, n.running.process, []byte(time.Now().UTC().Format(time.RFC3339))); err != nil && ctx.Err() == nil {
			n.log.WarnContext(ctx, "the other nodes could not be told that this one is there", "err", err)
		}
		if err := commands.Sleep(ctx, aliveEvery); err != nil {
			return nil //nolint:nilerr // the node stops
		}
	}
}

// callerOf returns for whom an event starts automations: who emitted it, or whom the
// automation acted for that did; and the workspace itself for what the platform tells.
func (n *Node) callerOf(ctx context.Context, e *feed.Event) (runtime.Caller, error) {
	id := e.Source.WorkspaceID
	if e.Source.ServiceTopic != feed.Emitted {
		return runtime.Caller{Actor: domain.Actor{SessionID: e.Source.SessionID, UserID: e.Source.UserID}}, nil
	}
	actor := domain.Actor{UserID: e.Source.UserID, SessionID: e.Source.SessionID}
	if e.Actor != nil {
		actor = *e.Actor
	}
	return n.identify(ctx, id, actor)
}

// identify returns somebody who acts in a workspace, with what they may do there now.
func (n *Node) identify(_ context.Context, workspaceID string, actor domain.Actor) (runtime.Caller, error) {
	caller := runtime.Caller{Actor: actor, Credential: true}
	who := access.Principal{UserID: actor.UserID, SessionID: actor.SessionID, Workspace: actor.WorkspaceID}
	if actor.UserID != "" && actor.UserID != actor.SessionID {
		known, ok, err := n.people.identity.PrincipalOf(actor.UserID)
		if err != nil {
			return caller, err
		}
		if ok {
			known.SessionID = actor.SessionID
			who = known
		}
	}
	caller.Email = who.Email
	if len(who.AuthData) > 0 {
		data := map[string]any{}
		for key, v := range who.AuthData {
			data[key] = v
		}
		caller.AuthData, _ = value.From(data).(*value.Object)
	}
	rights, found, err := n.people.identity.RightsOf(who, workspaceID)
	if err != nil {
		return caller, err
	}
	if !found {
		rights = access.Outside(who)
	}
	caller.Rights, caller.Role = rights, rights.Role()
	return caller, nil
}
