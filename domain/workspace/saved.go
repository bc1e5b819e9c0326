package workspace

import (
	"encoding/json"

	"svc/domain"
	"svc/domain/document"
)

// The events of single documents. Each carries its entry; what the feed shows is
// the payload of the catalogue.
type (
	// AutomationCreated says that an automation came into being.
	AutomationCreated struct{ Entry }
	// AutomationUpdated says that an automation was replaced, or renamed.
	AutomationUpdated struct{ Entry }
	// AutomationDeleted says that an automation is gone.
	AutomationDeleted struct {
		Slug string `json:"automationSlug"`
	}
	// PageCreated says that a page came into being.
	PageCreated struct{ Entry }
	// PageUpdated says that a page was replaced, or renamed.
	PageUpdated struct{ Entry }
	// PageDeleted says that a page is gone.
	PageDeleted struct {
		Slug string `json:"pageSlug"`
	}
	// Installed says that an app was installed.
	Installed struct{ Entry }
	// InstanceConfigured says that an app instance was changed, or renamed.
	InstanceConfigured struct{ Entry }
	// Uninstalled says that an app instance is gone.
	Uninstalled struct {
		Slug string `json:"slug"`
	}
)

// EventType implements domain.Event.
func (AutomationCreated) EventType() string { return "workspaces.automations.created" }

// EventType implements domain.Event.
func (AutomationUpdated) EventType() string { return "workspaces.automations.updated" }

// EventType implements domain.Event.
func (AutomationDeleted) EventType() string { return "workspaces.automations.deleted" }

// EventType implements domain.Event.
func (PageCreated) EventType() string { return "workspaces.pages.created" }

// EventType implements domain.Event.
func (PageUpdated) EventType() string { return "workspaces.pages.updated" }

// EventType implements domain.Event.
func (PageDeleted) EventType() string { return "workspaces.pages.deleted" }

// EventType implements domain.Event.
func (Installed) EventType() string { return "workspaces.apps.installed" }

// EventType implements domain.Event.
func (InstanceConfigured) EventType() string { return "workspaces.apps.configured" }

// EventType implements domain.Event.
func (Uninstalled) EventType() string { return "workspaces.apps.uninstalled" }

// saved is the event of a Save.
func saved(folder string, c Save) domain.Event {
	switch {
	case folder == "pages" && c.Create:
		return PageCreated{c.Entry}
	case folder == "pages":
		return PageUpdated{c.Entry}
	case folder == "imports" && c.Create:
		return Installed{c.Entry}
	case folder == "imports":
		return InstanceConfigured{c.Entry}
	case c.Create:
		return AutomationCreated{c.Entry}
	}
	return AutomationUpdated{c.Entry}
}

// removed is the event of a Remove.
func removed(path string) domain.Event {
	folder, slug := Folder(path)
	switch folder {
	case "pages":
		return PageDeleted{slug}
	case "imports":
		return Uninstalled{slug}
	}
	return AutomationDeleted{slug}
}

// unlisted are the fields of documents that lists do not show.
var unlisted = map[string][]string{
	"automations": {"do", "output", "authorizations"},
	"pages":       {"styles", "onInit", "updateOn", "notifyOn", "automation"},
	"imports":     {"config"},
}

// Describe returns what lists show of a document.
func (e Entry) Describe() *document.Map {
	if e.About != nil {
		return e.About
	}
	var doc document.Map
	if json.Unmarshal(e.Body, &doc) != nil {
		return document.MapOf()
	}
	return Describe(e.Path, &doc)
}

// Describe returns what lists show of the document at a path.
func Describe(path string, doc *document.Map) *document.Map {
	folder, _ := Folder(path)
	short := doc.Copy()
	for _, key := range unlisted[folder] {
		short.Delete(key)
	}
	if blocks, ok := short.Get("blocks"); ok && folder == "pages" {
		short.Set("blocks", blockNames(blocks))
	}
	return short
}

// blockNames returns which blocks a page has, without their settings.
func blockNames(blocks any) any {
	list, _ := blocks.([]any)
	names := make([]any, 0, len(list))
	for _, item := range list {
		block, _ := item.(*document.Map)
		short := document.MapOf()
		for _, key := range []string{"slug", "appInstance"} {
			if v, ok := block.Get(key); ok {
				short.Set(key, v)
			}
		}
		names = append(names, short)
	}
	return names
}
