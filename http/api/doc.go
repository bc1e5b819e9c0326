// Package api is what the platform answers over HTTP: one table of routes, whose
// handlers are in a package for each subject.
//
// A handler decodes, asks a command or the read model, and answers; it holds no
// rule. The document openapi.yaml describes every row of the table, and tests
// hold the two together: no route without an operation, no operation without a
// route, no answer that the document does not allow, and nothing that was
// released ever leaves it.
package api
