// Package cleanup erases what is old: expired activity events, those of small inactive
// workspaces and of deleted ones, the payloads of executions, expired recordings of runs,
// and blobs that nothing refers to.
//
// It changes ACTIVITY and the data beside it, and never STATE. A note says first what is
// to be erased. Then an event drops it from the read models, then it is purged. After a
// crash the note is found, and everything is done again. Events that unfinished trees
// need are repeated before.
package cleanup
