// Package commands changes things: it loads an aggregate, lets the domain
// decide, and appends the facts that follow. It holds no rule of its own, and
// it reads no read model: what a command must look up arrives through a small
// interface that the command declares.
package commands
