// Package feed reads the events of workspaces: stored ones by the index that the read
// models keep, live ones as they come, both in one order. Lists, streams, webhooks and
// subscribers from outside all read here.
//
// The order is that of time, facts before activity of the same instant. A position is
// how far a reader has come in each of the two logs, so that whoever goes on from one
// misses nothing and gets nothing twice, however the two are interleaved.
package feed
