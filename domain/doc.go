// Package domain holds the rules of the workspace platform and nothing else.
//
// A rule is a pair of pure functions over one aggregate: Decide turns a command
// into the facts it causes, Evolve folds one fact into the state. Neither reads
// a clock, draws a random number, nor touches a disk or a socket: whatever they
// need of the outside arrives as a field of the command. Each aggregate lives
// in its own package below this one; this package holds what they share.
//
// Domain imports the standard library and small pure libraries only. Every other
// package may import it.
package domain
