// Package schedules fires automations when their time comes.
//
// Workspaces are divided into shares, each looked after by one node. What a workspace
// has scheduled is registered when its documents change, and kept in a bucket, so that
// a node that takes a share over need not look at any document. The next times stand
// in a heap: while nothing is due, nothing is done.
//
// A firing is an event whose id is made of workspace, automation, schedule and time,
// and the tree is begun once that is on the log: a time fires once, however many nodes
// and restarts there are. How far a share was looked after is saved as it goes; times
// that nobody looked at are made up for by one late firing of each schedule, and what
// had fired and did not end is begun again.
package schedules
