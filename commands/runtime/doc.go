// Package runtime runs automations: it runs the interpreter (machine) and performs the
// effects that it requests.
//
// A run here is one execution tree: the execution that a trigger starts and everything that
// it calls. It has one goroutine, in which the machine takes its turns. Effects that take
// time have their own goroutines and send their answers back. All events of a run are on
// the log before its response is sent. Its parts are:
//
//   - run: the turns, and what is stored between them
//   - performer: the effects, by the table in effects.go, and the waits
//   - world: what the machine reads and writes at once: contexts, config, secrets, clock
//   - executions: those that have not ended
//   - runSecrets: what must not be shown, and redaction
//   - runEvents and journal: the events of the run, and appending them
//   - runRecording: the recording for replays
//   - lifetime: time limits and cancelling
//   - turnSlot: the slot in which it computes
//
// The state of a run is stored before it waits, so that any node can resume it (Resume). A
// run can be cancelled (Cancel), broken off when the other nodes consider this one lost
// (BreakOffAll), and recorded for a replay.
package runtime
