// Package apitest holds the API to its document: tests of any package may ask
// whether an answer is one that openapi.yaml allows, and the guard compares two
// documents and names what a client of the older one would miss.
//
// It is for tests. No production package imports it.
package apitest
