// Package process has what the process of a node needs of the machine that it runs on: the
// lock of the data directory, the logger, tracing, the pace of the garbage collector,
// listeners with TLS, profiles, and the client for calls to the service itself.
package process
