// Package search answers queries about events: which of them match, in which order, and
// their aggregations. Its language is a subset of that of search engines; anything else is
// refused with its path.
//
// Parse returns a Request. The reader of events passes each event that the Request matches
// to a Collector, which has the answer. There is no index here: Request.Filter says what
// every match has, so that the reader of an index can skip the rest.
package search

// Doc is an event as it is searched: Types.Doc makes one.
type Doc interface {
	// Values returns the values at a dotted path, lists element by element: texts,
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
