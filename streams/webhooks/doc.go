// Package webhooks delivers the events of workspaces to those who have subscribed to
// them: at least once, in order where that was asked for, and so that a receiver that
// is dead holds nobody up but itself.
//
// The log is the queue. Each subscription has a place in the feed up to which
// everything is taken care of: delivered, or recorded as a delivery that waits. After
// a crash what is behind that place is looked at again, and what the records know to
// be delivered is passed over.
//
//	feed ──> worker of a subscription: filter, lanes by order key, breaker
//	             │ what is due
//	             v
//	         router of a partition ──> sender ──> receiver
//	             │ what came of it
//	             v
//	         recorder ──> activity log ──> read model of deliveries
package webhooks
