// Package machine is the interpreter of automations: it runs one tree, the
// execution that a trigger starts and every execution it calls.
//
// A Machine does nothing but compute. Run runs the tree until every branch of it
// waits for something outside, and returns the requests; whoever runs the machine
// carries them out, side by side and in any order, and hands each answer back.
// What can be answered at once (contexts, the time, chance) is asked of a World.
// Inside, one instruction executes at a time, and given the same answers in the
// same order the same thing happens: a run can be recorded and played back.
//
// What a branch stands in (lists of instructions, loops, tries, calls) is a stack
// of frames and no Go stack: Save writes it down at any wait, Restore goes on from
// there on another machine.
package machine
