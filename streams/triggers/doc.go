// Package triggers starts automations when an event is recorded, and handles trees whose node
// is gone: parked trees are resumed, others are started again or recorded as interrupted.
//
// Workspaces are divided into partitions, each processed by one node. It reads the events of
// its workspaces in order, and starts the listeners. Its saved cursor does not pass an event
// whose trees have not ended: after a crash the events after the cursor are read again, and a
// tree that has ended according to the log is not started a second time. A workspace with too
// many unfinished trees is read on its own, so that it does not delay the others.
package triggers
