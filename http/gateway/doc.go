// Package gateway is everything between the socket and a handler.
//
// A Gateway serves one table of routes. Each route says who may call it, how
// large its body may be, how often it may be called and who answers; New
// refuses a table with a row that leaves its permission open. The order in
// which a request is examined is written once, in Gateway.chain: correlation,
// CORS, API version, header cleaning, limits by IP, authentication, CSRF,
// limits by caller, body limit, permission, handler.
//
// Handlers are functions from a request to a value or an error, and this
// package is the only one that writes a body, so every answer has the same
// shape. What the gateway must ask of others (who is this, may they, count
// this, keep this answer) it asks through the small interfaces declared here.
package gateway
