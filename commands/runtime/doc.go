// Package runtime runs automations: it lets the interpreter compute, and carries out
// what that asks for.
//
// A tree is the execution that a trigger starts and everything that it calls. It has
// one goroutine, in which the machine takes its turns; effects that take time have one
// each, and hand their answer back. The tree knows whom it acts for, holds the contexts
// that it has read, redacts what it tells, and keeps a journal: whatever it did is on
// the log before its answer leaves.
//
// Where a tree stands is kept before it waits, so that any node can go on with it
// (Resume). It can be cancelled (Cancel), broken off when the other nodes take this one
// for lost (Leave), and recorded for a replay.
package runtime
