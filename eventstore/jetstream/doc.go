// Package jetstream keeps events on NATS JetStream.
//
// By default it runs the broker inside the process, with its files under
// Options.Dir, and makes every append durable with one fsync for all who wait
// (gate.go). With Options.URL it uses a broker elsewhere; nothing else changes.
//
// The streams are one visible table (streams.go). User text never becomes a
// subject as it is (subject.go).
package jetstream
