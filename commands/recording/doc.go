// Package recording records what happens to a tree of executions, and replays it.
//
// The interpreter is pure: with the same answers in the same turns it does the same. A
// Recorder records everything that a tree gets from outside: its input, times and random
// bytes, each context when it was read, and every request with its answer, in the order of
// the answers and with the turn of the machine. Nothing is encoded while the tree runs:
// values never change, so the Recorder holds them until it is known whether the recording
// is stored.
//
// A replay runs a new machine whose world and answers come from a recording. Nothing is
// sent; only custom code is executed again, with its original clock and seed. With the
// recorded documents the turns are the same, and so is everything else. With the current
// documents, requests are found by their position in the execution, and differences are
// reported. How requests of a kind are listed and compared is in the table of
// instructions (automation.Effect).
package recording
