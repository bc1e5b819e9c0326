// Package streams holds the consumers of events and the periodic jobs: the feed, webhooks, triggers, schedules,
// monitoring, cleanup and the rotation of signing keys, each with a Run(ctx) error. They receive only events that are
// synced to disk.
//
// It may import domain, eventstore, projections and commands, and never http.
//
// This package itself has what they share: Lease, partitions of workspaces, ProgressTracker, and TreeRestarter.
package streams
