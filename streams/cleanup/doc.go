// Package cleanup erases what is old: activity events after their time, those of small
// workspaces that nobody uses and of deleted ones, the payloads of executions, and the
// records of runs that have expired, and contents that nothing refers to.
//
// It touches the activity log and what is kept apart from it, and never the log that
// state is folded from. What is to be erased is noted first, then the read models are
// told to forget it, by an event, then it is purged; who comes after a crash finds
// the note and does all of it again. What trees need that are not over is said again
// before.
package cleanup
