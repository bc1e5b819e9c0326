// Package sandbox runs the JavaScript of automations. Each call has a process of
// its own, which ends after it.
//
// The child is the same binary. The interpreter in it has no network, files,
// modules or timers. As a second defence, the child has no environment, no
// descriptors but its pipes, limits on memory, time, descriptors and file sizes,
// and on Linux a filter that refuses sockets, files and other programs.
//
// Parent and child exchange frames (sandbox.go): the child says that it is ready,
// gets one job, sends each line of the console as it is written, and ends with a
// value or an error.
package sandbox
