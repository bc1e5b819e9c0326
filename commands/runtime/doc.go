// Package runtime runs automations: it runs the interpreter (machine) and performs the
// effects that it requests.
//
// A run here is one execution tree: the execution that a trigger starts and everything that
// it calls. It has one goroutine, in which the machine takes its turns. Effects that take
// time have their own goroutines and send their answers back. The run knows its caller,
// caches the contexts that it has read, redacts everything that it records, and buffers its
// events in a journal. All of its events are on the log before its response is sent.
//
// The state of a run is stored before it waits, so that any node can resume it (Resume). A
// run can be cancelled (Cancel), broken off when the other nodes consider this one lost
// (BreakOffAll), and recorded for a replay.
package runtime
