// Package sandbox runs the JavaScript of automations. Each call has a process of
// its own, which ends after it.
//
// The child is the same binary. The interpreter in it has no network, files,
// modules or timers. As a second defence, the child is confined.
//
// Parent and child exchange frames of package confined: the child says that it is ready,
// gets one job, sends each line of the console as it is written, and ends with a
// value or an error.
package sandbox
