// Package streams is what happens because something happened, or because it is time:
// the feed, webhooks, triggers, schedules, monitoring, cleanup and the rotation of
// signing keys, each with a Run(ctx) error. They are handed only events that are on
// disk.
//
// It may import domain, eventstore, projections and commands, and never http.
//
// Here is what they share: the Lease under which one node at a time does something,
// shares of workspaces, the Ledger of how far a reader is, and Trees, which begins
// trees again that broke off.
package streams
