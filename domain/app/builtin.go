package app

import (
	"strings"

	"svc/domain/document"
)

// BuiltInApp is an app that every installation has. It is part of the binary: nobody
// publishes it, and no event tells of it.
type BuiltInApp struct {
	App
	Folder string // where its content is: see commands/apps/builtin
}

// BuiltInRevision is the revision of the content of built-in apps: a process knows one.
const BuiltInRevision = 1

// builtInHome is what the ids of the workspaces begin with that built-in apps are the
// content of. No other workspace has such an id.
const builtInHome = "builtin:"

// IsBuiltInHome reports whether a workspace is the content of a built-in app.
func IsBuiltInHome(workspaceID string) bool { return strings.HasPrefix(workspaceID, builtInHome) }

// BuiltIns lists the built-in apps.
func BuiltIns() []BuiltInApp {
	return []BuiltInApp{
		builtIn("Collection", "collection", "Rows of one collection: find, insert, update, delete, count, aggregate."),
		builtIn("Custom Code", "custom-code", "JavaScript functions of its config, called from automations."),
	}
}

func builtIn(slug, folder, description string) BuiltInApp {
	return BuiltInApp{
		App: App{
			Slug: slug, WorkspaceID: builtInHome + folder, Name: document.InEveryLanguage(slug),
			Description: document.InEveryLanguage(description), Labels: []string{"built-in"},
		},
		Folder: folder,
	}
}

// BuiltIn returns the built-in app with this slug, whatever its case.
func BuiltIn(slug string) (b BuiltInApp, ok bool) {
	for _, b := range BuiltIns() {
		if strings.EqualFold(b.Slug, slug) {
			return b, true
		}
	}
	return BuiltInApp{}, false
}
