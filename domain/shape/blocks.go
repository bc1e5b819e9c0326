package shape

import (
	"slices"

	"svc/domain"
	"svc/domain/document"
)

// The limits of a page, and of a block of a workspace.
const (
	MaxBlocks = 2000
	MaxLevels = 20 // of blocks in blocks
)

// nested checks that the blocks of doc are neither too many nor too deep.
func (c *checker) nested(doc *document.Map, at *place) {
	var n counter
	n.count(doc, 0)
	if n.blocks > MaxBlocks {
		c.fault(domain.CodeValidation, at.at("blocks"), "there are at most %d blocks, those in blocks included", MaxBlocks)
	}
	if n.levels > MaxLevels {
		c.fault(domain.CodeValidation, at.at("blocks"), "blocks are nested at most %d deep", MaxLevels)
	}
}

// counter counts blocks.
type counter struct{ blocks, levels int }

// count looks for blocks in v, which is inside level of them.
func (n *counter) count(v any, level int) {
	if level > MaxLevels {
		return // enough is known
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n.count(item, level)
		}
	case *document.Map:
		for key, value := range v.All() {
			inside := blocksAt(key, value)
			for _, block := range inside {
				n.blocks++
				n.levels = max(n.levels, level+1)
				n.count(block, level+1)
			}
			if inside == nil {
				n.count(value, level)
			}
		}
	}
}

// blocksAt returns the blocks that stand at a key: in blocks a list of them, in
// content one or a list, if it is no text.
func blocksAt(key string, v any) []any {
	items, isList := v.([]any)
	switch {
	case key == "blocks" && isList:
		return items
	case key == "content" && isList && !slices.ContainsFunc(items, func(item any) bool { return !isBlock(item) }):
		return items
	case key == "content" && isBlock(v):
		return []any{v}
	}
	return nil
}

func isBlock(v any) bool {
	m, ok := v.(*document.Map)
	return ok && m.Text("slug") != ""
}
