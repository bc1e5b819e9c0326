// Package schedules starts automations at their scheduled times.
//
// Workspaces are divided into partitions, each processed by one node. The schedules of a workspace are registered in
// a bucket when its documents change, so that a node that takes a partition over need not read any document. The next
// times are in a heap: while nothing is due, nothing is done.
//
// A firing is an event whose id is derived from workspace, automation, schedule and time. Its tree starts once the
// event is on the log: a time fires once, whatever nodes and restarts there are. The cursor of a partition is saved
// regularly. Missed times cause one late firing per schedule, and firings that did not end are started again.
package schedules
