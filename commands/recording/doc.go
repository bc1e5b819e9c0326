// Package recording keeps what happened to a tree of executions, and plays it again.
//
// The interpreter is pure: given the same answers in the same turns it does the same.
// A Recorder notes all that the outside told a tree: what it started with, the time
// and chance it asked for, each context when it was read, and every request with its
// answer, in the order of the answers and with the turn of the machine in which they
// came. Nothing is written down while the tree runs: values never change, so the
// recorder only holds on to them until it is known whether the record is kept.
//
// A replay runs a new machine whose world and answers come from a record. Nothing
// leaves; only custom code is executed again, with the clock and the seed it had. With
// the documents of the record the turns are the same, and so is everything else. With
// those of now, requests are found by where in the execution they were made, and what
// differs is reported.
package recording
