package node

import (
	"context"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/streams/feed"
)

// openFeed opens what everybody reads events from.
func (n *Node) openFeed(context.Context) error {
	var err error
	n.feed, err = feed.New(feed.Options{Models: n.models, Store: n.store.Log, Payloads: n.store.Payloads, MaxLen: n.emitLimit, Broadcast: n.store.Broadcast("live"), Log: n.log})
	if err != nil {
		return err
	}
	n.work("the feed", n.feed.Run)
	return nil
}

// emitLimit is how many characters the payload of an event may have.
func (n *Node) emitLimit() int { return n.config().Broker.EmitMaxLen }

// recordLimit is how many characters the payload of an event of the platform may have
// before it is cut.
func (n *Node) recordLimit(eventType string) int {
	if eventType == (activity.Executed{}).EventType() {
		return n.config().Broker.EmitExecutedMaxLen
	}
	return n.emitLimit()
}

// emitter records what users emit.
func (n *Node) emitter() commands.Events {
	return commands.Events{
		Engine: n.engine, Now: time.Now, Limit: n.emitLimit,
		Live: func(_ string, ev domain.Recorded) {
			if err := n.feed.SendTransient(ev); err != nil {
				n.log.Warn("an event that is not kept did not reach its readers", "type", ev.Data.EventType(), "err", err)
			}
		},
	}
}
