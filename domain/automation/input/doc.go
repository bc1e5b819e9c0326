// Package input is what an automation is given: it checks an input against the
// typed fields and schemas of the document, and knows which of its values are
// secret or not to be told.
//
// Compile reads a document once; the Shape it returns is shared by every run.
// Schemas are JSON Schema 2020-12, closed: a reference stays in its schema, $id
// and $schema say nothing. They are checked here and not by a library, because
// who writes a schema is not who runs it: a schema whose parts multiply takes
// other validators time without end, while here every step is counted (see
// maxWork). What a schema means is held against such a library by the tests.
//
// An input is checked as its JSON: bytes are a base64 string, what has no JSON is
// null. Nothing is coerced.
package input

// The limits of a check.
const (
	// maxWork bounds the steps of one check: less than a second. A value met by a
	// schema is a step, and so are some characters met by a part of a pattern.
	maxWork = 5_000_000
	// patternWork is how many characters a part of a pattern meets in a step.
	patternWork = 32
	// faultWork is how many steps it is to tell a fault.
	faultWork = 50
	// maxDepth bounds how deep schemas and values are in each other.
	maxDepth = 10_000
	// maxFaults is how many faults are told.
	maxFaults = 50
	// maxPatterns is how large the patterns of a document are once compiled,
	// together.
	maxPatterns = 100_000
	// maxText is the length of a path that is told, in characters: keys can be as
	// long as an input.
	maxText = 400
	// maxSecret is how long a secret is, in bytes: as those that automations keep.
	maxSecret = 64 << 10
	// maxChoices is how many allowed values are told.
	maxChoices = 100
)
