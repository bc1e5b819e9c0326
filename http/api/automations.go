package api

import (
	"svc/domain/document"
	"svc/projections"
)

// automationFolder holds the automations of a workspace.
var automationFolder = folder{
	name: "automations", noun: "automation", kind: document.Automation, readOnly: []string{"events", "warnings"}, required: []string{"name", "do"},
	fresh: func(doc *document.Map) {
		if given, _ := doc.Get("validateArguments"); given == nil {
			doc.Set("validateArguments", true)
		}
	},
	gone: func(item projections.Item) any { return map[string]string{"slug": item.Slug()} },
}
