// Package node puts the rooms of the house together: it opens the log and the
// read models, builds the gateway over them, serves, and closes everything in
// order. It is the only package, with its commands in cmd/svc, that knows them
// all; it holds no rule.
package node
