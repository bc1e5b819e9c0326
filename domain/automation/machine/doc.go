// Package machine is the interpreter of automations. It runs one tree: the execution that
// a trigger starts and all executions that it calls.
//
// A Machine only computes. Run executes the tree until every branch waits for something
// outside, and returns the requests. The caller performs them, in parallel and in any
// order, and passes each answer back. A World answers at once (contexts, time, random
// bytes). One instruction executes at a time, and the same answers in the same order have
// the same result: a run can be recorded and replayed.
//
// The state of a branch (lists of instructions, loops, tries, calls) is a stack of frames,
// not a Go stack: Save writes it at any wait, Restore continues from there on another
// machine.
package machine
