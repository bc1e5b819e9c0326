// Package sandbox runs the JavaScript of automations, each call in a process of
// its own that is thrown away afterwards.
//
// The child is this very binary. It has no environment, no descriptors but its
// pipes, limits on memory, time, descriptors and file sizes, and on Linux a
// filter that refuses it sockets, files and other programs. None of these is what
// keeps code in: the interpreter in the child knows no network, files, modules or
// timers to begin with. They are what remains should the interpreter be wrong,
// and what keeps code that takes all it can get from taking it from the service.
//
// Parent and child speak in frames (frames.go): the child says that it is ready,
// gets one job, tells each line of the console as it is written, and ends with a
// value or with what went wrong.
package sandbox
