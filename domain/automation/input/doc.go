// Package input checks the input of an automation against the typed fields and schemas of
// its document, and knows which of its values are secret or redacted.
//
// Compile reads a document once; all runs share the Shape it returns. Schemas are JSON
// Schema 2020-12, closed: references stay in the schema, $id and $schema are ignored. They
// are checked here and not by a library, because the author of a schema is not who runs
// it: a schema whose parts multiply takes other validators unlimited time, while every
// step is counted here (see maxWork). Tests compare the results with such a library.
//
// An input is checked as its JSON: bytes are a base64 string, what has no JSON is null.
// Nothing is coerced.
package input

// The limits of a check.
const (
	// maxWork bounds the steps of one check: less than a second. A value met by a
	// schema is a step, and so are some characters met by a part of a pattern.
	maxWork = 5_000_000
	// patternWork is how many characters a part of a pattern meets in a step.
	patternWork = 32
	// faultWork is the number of steps that a fault costs.
	faultWork = 50
	// maxDepth bounds how deep schemas and values are in each other.
	maxDepth = 10_000
	// maxFaults is how many faults are reported.
	maxFaults = 50
	// maxPatterns is how large the patterns of a document are once compiled,
	// together.
	maxPatterns = 100_000
	// maxText is the length of a reported path, in characters: keys can be as long as an
	// input.
	maxText = 400
	// maxSecret is how long a secret is, in bytes: as those that automations keep.
	maxSecret = 64 << 10
	// maxChoices is how many allowed values are reported.
	maxChoices = 100
)
