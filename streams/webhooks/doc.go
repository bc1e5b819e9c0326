// Package webhooks delivers the events of workspaces to subscribers: at least once, in order if the subscription asks
// for it, and without a failing receiver delaying others.
//
// The log is the queue. Each subscription has a cursor in the feed: everything up to it is delivered, or recorded as
// a pending delivery. After a crash the events after the cursor are read again, and those with a record are skipped.
//
//	feed ──> worker of a subscription: filter, lanes by order key, breaker
//	             │ what is due
//	             v
//	         router of a partition ──> sender ──> receiver
//	             │ what came of it
//	             v
//	         recorder ──> activity log ──> read model of deliveries
package webhooks
