package programs

import (
	"svc/commands/cache"
	"svc/domain/automation/value"
	"svc/domain/document"
)

// How much of each is kept, in bytes of memory, roughly. Houses, editions and documents hold
// much of the same: together they take little more than one of them, and at worst all three.
const (
	keptHouses    = 1 << 30 // 150,000 small workspaces, or 800 with 50 automations of 1 kB
	keptEditions  = 1 << 30 // those of the workspaces that have houses, and of their apps
	keptDocuments = 1 << 30 // 40,000 of 1 kB: when one is saved, its workspace has all others
	keptWholes    = 1 << 28 // 20 MB of documents that automations look at as $workspace
)

// What things take, measured.
const (
	perThing    = 512 // a document, place, program or path, besides what is written there
	perCompiled = 24  // a byte of a document that was compiled: 2 of scripts, 50 of lists of numbers
	perValue    = 12  // a byte of a document as a value
)

// share: one thing counts for a quarter of its cache at most. What is heavier is kept
// nevertheless: runs keep their house, so that otherwise each would have one of its own.
const share = 4

// weighty is what knows how many bytes it takes, roughly.
type weighty interface{ weight() int }

func cacheOf[K comparable, V weighty](bound uint64) *cache.Cache[K, V] {
	return cache.Weighing(bound, func(_ K, v V) uint32 { return uint32(min(uint64(v.weight()), bound/share)) })
}

// weight is without the editions of the apps: those are shared with other houses.
func (h *House) weight() int { return perThing*(1+len(h.places)+h.programs) + h.Root.edition.size }

func (e *edition) weight() int { return e.size }

func (c *compiled) weight() int { return c.size }

// whole is all that a place consists of, as automations see it.
type whole struct {
	content *value.Object
	size    int
}

func (w whole) weight() int { return w.size }

// lengthOf is how long a document is, in bytes.
func lengthOf(doc *document.Map) int {
	text, _ := doc.MarshalJSON() // it was read from such a text
	return len(text)
}
