// Package fault tries to break the promises of the service: a 2xx means that
// the event is on disk, and nothing acknowledged is lost or applied twice. Its
// tests run with the build tag fault: make fault.
package fault
