// Package streams is what happens because something happened: consumers of the
// logs that have effects, such as the feed, webhooks, triggers, schedules, bulk
// runs and cleanup. Each has a Run(ctx) error, and each is handed only events
// that are on disk: eventstore.Store.Subscribe never delivers others.
//
// It may import domain, eventstore, projections and commands, and never http.
// What is done by one node at a time is done under a Lease; the first of it is the
// rotation of the signing keys.
package streams
