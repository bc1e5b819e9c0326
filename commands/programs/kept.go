package programs

import (
	"svc/commands/cache"
	"svc/domain/automation/value"
	"svc/domain/document"
)

// How much of each is kept, in bytes of memory, roughly. Houses, editions and documents hold
// much of the same: together they take little more than one of them, and at worst all three.
const (
	programSetCacheBytes = 1 << 30 // 150,000 small workspaces, or 800 with 50 automations of 1 kB
	contentCacheBytes    = 1 << 30 // those of the workspaces that have program sets, and of their apps
	documentCacheBytes   = 1 << 30 // 40,000 of 1 kB: when one is saved, its workspace has all others
	valueCacheBytes      = 1 << 28 // 20 MB of documents that automations look at as $workspace
)

// What things take, measured.
const (
	bytesPerEntry  = 512 // a document, place, program or path, besides what is written there
	compiledFactor = 24  // a byte of a document that was compiled: 2 of scripts, 50 of lists of numbers
	valueFactor    = 12  // a byte of a document as a value
)

// maxCacheShare: one thing counts for a quarter of its cache at most. What is heavier is kept
// nevertheless: runs keep their program set, so that otherwise each would have one of its own.
const maxCacheShare = 4

// weighted is what knows how many bytes it takes, roughly.
type weighted interface{ weight() int }

func newCache[K comparable, V weighted](bound uint64) *cache.Cache[K, V] {
	return cache.Weighing(bound, func(_ K, v V) uint32 { return uint32(min(uint64(v.weight()), bound/maxCacheShare)) })
}

// weight is without the editions of the apps: those are shared with other program sets.
func (set *ProgramSet) weight() int {
	return bytesPerEntry*(1+len(set.scopes)+set.programCount) + set.Root.compiled.size
}

func (e *compiledContent) weight() int { return e.size }

func (c *compiledDocument) weight() int { return c.size }

// workspaceValue is all that a place consists of, as automations see it.
type workspaceValue struct {
	content *value.Object
	size    int
}

func (w workspaceValue) weight() int { return w.size }

// documentLength is how long a document is, in bytes.
func documentLength(doc *document.Map) int {
	text, _ := doc.MarshalJSON() // it was read from such a text
	return len(text)
}
