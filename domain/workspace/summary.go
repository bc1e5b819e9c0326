package workspace

import (
	"fmt"

	"svc/domain"
	"svc/domain/document"
)

// nouns are what the documents of a folder are called in sentences.
var nouns = map[string]string{"automations": "Automation", "pages": "Page", "imports": "App instance"}

// Summarise tells in a sentence what an event did to a workspace; "" for an event
// that is nobody's business, or not of a workspace.
func Summarise(ev domain.Event) string {
	switch e := ev.(type) {
	case Created:
		return fmt.Sprintf("Workspace %s created", e.Workspace.Settings.Name)
	case Duplicated:
		return fmt.Sprintf("Copied from workspace %s", e.From.Name)
	case Updated:
		return "Settings changed"
	case Configured:
		return "Config changed"
	case BlocksUpdated:
		return "Blocks changed"
	case EventsUpdated:
		return "Event types changed"
	case Secured:
		return "Security document replaced"
	case SecretsUpdated:
		return fmt.Sprintf("Secrets changed: %d set, %d removed", len(e.Values), len(e.Deleted))
	case Shared:
		return fmt.Sprintf("Shared with %s", e.Target)
	case Unshared:
		return fmt.Sprintf("No longer shared with %s", e.Target)
	case PageShared:
		return fmt.Sprintf("Page %s shared with %s", slugOf(e.Path), e.Target)
	case PageUnshared:
		return fmt.Sprintf("Page %s no longer shared with %s", slugOf(e.Path), e.Target)
	case Imported:
		return fmt.Sprintf("Imported: %d changed, %d deleted, %d errors", e.Import.FilesCount, e.Import.DeletedCount, len(e.Import.Errors))
	case Restored:
		return fmt.Sprintf("Restored: %d changed, %d deleted", max(len(e.Restore.Files), e.Restore.FilesCount), max(len(e.Restore.Deleted), e.Restore.DeletedCount))
	case Locked:
		return fmt.Sprintf("Locked: %s", e.Reason)
	case Unlocked:
		return fmt.Sprintf("Unlocked: %s", e.Cause)
	case Deleted:
		return "Workspace deleted"
	case Undeleted:
		return "Workspace brought back"
	case Published:
		return fmt.Sprintf("Version %s saved", e.Version.Name)
	case VersionDeleted:
		return fmt.Sprintf("Version %s deleted", e.Version.Name)
	}
	return summariseDocument(ev)
}

func summariseDocument(ev domain.Event) string {
	d, ok := DeltaOf(ev)
	if !ok {
		return ""
	}
	if len(d.Deleted) > 0 {
		folder, slug := Folder(d.Deleted[0])
		return fmt.Sprintf("%s %s deleted", nouns[folder], slug)
	}
	if len(d.Entries) == 0 {
		return ""
	}
	e := d.Entries[0]
	folder, slug := Folder(e.Path)
	switch ev.(type) {
	case AutomationCreated, PageCreated, Installed:
		return fmt.Sprintf("%s %s created", nouns[folder], slug)
	}
	if e.From != "" {
		return fmt.Sprintf("%s %s renamed to %s", nouns[folder], slugOf(e.From), slug)
	}
	return fmt.Sprintf("%s %s changed", nouns[folder], slug)
}

// IndexPart is what the names of parts begin with that are in the index.
const IndexPart = "index#"

// Parts names what a new index changes of the one before: index#name, and
// index#blocks/hero for a single block.
func Parts(before, after *document.Map) []string {
	var parts []string
	for _, key := range keysOf(before, after) {
		a, inA := before.Get(key)
		b, inB := after.Get(key)
		if inA == inB && document.Equal(a, b) {
			continue
		}
		was, is := asMap(a), asMap(b)
		if key != "blocks" {
			parts = append(parts, IndexPart+key)
			continue
		}
		for _, slug := range keysOf(was, is) {
			x, inX := was.Get(slug)
			y, inY := is.Get(slug)
			if inX != inY || !document.Equal(x, y) {
				parts = append(parts, IndexPart+"blocks/"+slug)
			}
		}
	}
	return parts
}

func asMap(v any) *document.Map {
	m, _ := v.(*document.Map)
	return m
}

func keysOf(a, b *document.Map) []string {
	keys := a.Keys()
	for _, key := range b.Keys() {
		if _, known := a.Get(key); !known {
			keys = append(keys, key)
		}
	}
	return keys
}
