// Package search answers questions about events: which of them match a query, in
// which order, and what they come to when they are put into buckets and counted. Its
// language is a part of the one that search engines speak; what is not part of it is
// refused with the path of it.
//
// A Request is made by Parse. Whoever has events shows each one that the Request
// matches to a Collector, and asks that one for the answer. Nothing here keeps an
// index: Request.Filter says what every match has, so that a reader of one can pass
// over the rest.
package search

// Doc is an event as it is searched: Types.Doc makes one.
type Doc interface {
	// Values returns what is at a dotted path, lists element by element: texts,
	// numbers, booleans, times and objects. The path "" is the whole event.
	Values(path string) []any
	// Says reports whether the event has all the words, anywhere.
	Says(words ...string) bool
	// JSON returns the event as it is shown.
	JSON() []byte
}

// Bounds of one request.
const (
	maxLimit    = 1000 // documents of one page
	usualLimit  = 100
	maxOffset   = 10_000   // documents before the page
	maxCounted  = 10_000   // up to here hits are counted without being asked for
	maxClauses  = 1024     // of all queries: conditions, words, ranges
	maxDepth    = 20       // of a query
	maxPattern  = 1000     // characters of a pattern
	maxPatterns = 4096     // characters of all patterns
	maxField    = 500      // characters of the name of a field
	maxSorts    = 10       // fields to sort by
	maxSource   = 200      // fields of the documents
	maxAggs     = 100      // in all
	maxAggDepth = 5        // of aggregations
	maxBuckets  = 10_000   // in an answer
	maxMemory   = 64 << 20 // bytes, roughly, of what is held for the answer
	maxFaults   = 20       // that are told
)
