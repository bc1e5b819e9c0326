package node

import (
	"context"
	"slices"
	"time"

	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/feed"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/streams"
	"svc/streams/triggers"
)

// openTriggers starts automations because something happened, on a node that has this
// role. Every node runs trees, and takes care of its own that broke off.
func (n *Node) openTriggers(ctx context.Context) error {
	cursors, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "TRIGGERS"})
	if err != nil {
		return err
	}
	o := triggers.Options{
		Feed: n.feed, Programs: n.running.programs, Runtime: n.running.runtime, History: n.runHistory(), Cursors: cursors,
		Caller: n.callerOf, Identify: n.identify, Audience: n.audienceOf, Fresh: n.everything, Saved: n.saved, Position: n.models.Position,
		MaxDepth:    func() int { return n.config().Runtime.MaxSuccessiveCalls },
		MaxAttempts: func() int { return n.config().Runtime.ExecutionMaxAttempts },
		LookEvery:   n.lease(), Log: n.log,
	}
	if !n.store.Alone() {
		leases, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "TRIGGERS_LEASES"})
		if err != nil {
			return err
		}
		o.Hold = func(ctx context.Context, name string, work func(context.Context) error) error {
			return streams.Lease{Bucket: leases, Name: name, TTL: n.lease(), Log: n.log}.Hold(ctx, work)
		}
	}
	t, err := triggers.New(o)
	if err != nil {
		return err
	}
	if slices.Contains(n.config().Core.Roles, "runtime") {
		if err := t.InitCursors(ctx); err != nil {
			return err
		}
		n.workUnderLeases("triggers", t.Run)
	}
	n.work("broken trees", t.HandleOwnOrphans)
	return nil
}

// runHistory is what this node knows of what was started before.
func (n *Node) runHistory() runHistory {
	return runHistory{
		models: n.models, parked: n.running.parked, process: n.running.runtime.CurrentProcess, gone: n.gone, holds: n.running.runtime.IsRunning, fresh: n.everything,
		longest:     func() time.Duration { return n.config().Runtime.ExecutionMaxActive + time.Minute },
		suppression: newSuppression(n.models),
	}
}

// audienceOf returns who publishes an app, or did, and the workspaces that may have
// instances of it: their own, or within instances of other apps.
func (n *Node) audienceOf(appSlug string) (publisher string, users []string, err error) {
	err = n.models.View(func(r projections.Reader) (err error) {
		if publisher, err = (projections.Apps{}).Publisher(r, appSlug); err != nil {
			return err
		}
		known := map[string]bool{}
		for apps := []string{appSlug}; len(apps) > 0; apps = apps[1:] {
			found, err := projections.Content{}.Users(r, apps[0])
			if err != nil {
				return err
			}
			for _, id := range found {
				if known[id] {
					continue
				}
				known[id] = true
				users = append(users, id)
				other, ok, err := projections.Apps{}.Of(r, id)
				if err != nil {
					return err
				}
				if ok {
					apps = append(apps, other.Slug)
				}
			}
		}
		return nil
	})
	return publisher, users, err
}

// saved waits until the read models have what any node has saved in workspaces.
func (n *Node) saved(ctx context.Context) error {
	if err := n.store.Log.Refresh(ctx); err != nil {
		return err
	}
	return n.models.Reach(ctx, domain.At(domain.State, n.store.Log.Known().State))
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
	who, err := n.people.identity.Acting(actor, workspaceID)
	if err != nil {
		return caller, err
	}
	caller.Email, caller.AuthData = who.Email, runtime.AuthDataOf(who.AuthData)
	rights, found, err := n.people.identity.RightsOf(who, workspaceID)
	if err != nil {
		return caller, err
	}
	if !found {
		rights = access.OutsideRights(who)
	}
	caller.Rights, caller.Role = rights, rights.Role()
	return caller, nil
}
