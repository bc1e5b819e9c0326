// Package client calls the API of a service from afar: as the commands of the
// binary do, with the access token of a profile, and following what takes long.
//
// A call that may have been lost on the way is sent again under the same
// Idempotency-Key, so that nothing happens twice; a stream that breaks goes on
// after the last frame that arrived. What the service refuses is an *Error. No
// token is ever part of an error's text.
package client
