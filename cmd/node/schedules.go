package node

import (
	"context"
	"slices"
	"time"

	"svc/eventstore/jetstream"
	"svc/streams"
	"svc/streams/schedules"
)

// openSchedules fires automations when their time comes, on a node that has this role.
func (n *Node) openSchedules(ctx context.Context) error {
	if !slices.Contains(n.config().Core.Roles, "runtime") {
		return nil
	}
	memory, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "SCHEDULES"})
	if err != nil {
		return err
	}
	o := schedules.Options{
		Store: n.store.Log, Bucket: memory, Models: n.models, Programs: n.running.programs, Runtime: n.running.runtime,
		Document: n.places.library.Document, Rules: n.places.content.Rules, Begun: n.runHistory().Begun, Fresh: n.everything, Host: n.host("runtime"), Log: n.log,
		Zone:        func() *time.Location { return n.config().Runtime.SchedulesTimezone },
		MaxAttempts: func() int { return n.config().Runtime.ExecutionMaxAttempts },
	}
	if n.opts.Clock != nil {
		o.Now = n.opts.Clock
	}
	if !n.store.Alone() {
		leases, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "SCHEDULES_LEASES"})
		if err != nil {
			return err
		}
		o.Hold = func(ctx context.Context, name string, work func(context.Context) error) error {
			return streams.Lease{Bucket: leases, Name: name, TTL: n.lease(), Log: n.log}.Hold(ctx, work)
		}
	}
	s, err := schedules.New(o)
	if err != nil {
		return err
	}
	n.workUnderLeases("schedules", s.Run)
	return nil
}
