// Package review finds what documents need of others: names that have to exist in their
// workspace, and how it is said that one does not.
package review

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/shape"
)

// UnknownFields are fields that an import kept and that mean nothing.
func UnknownFields(kind *document.Kind, doc *document.Map) (found []automation.Finding) {
	for _, f := range shape.Check(kind, doc) {
		found = append(found, automation.Finding{Field: f.Field, Message: f.Message, Warning: f.Unknown})
	}
	return found
}

// Page reviews a page: its fields, the automations that it and its blocks run, and the
// events that it emits.
func Page(doc *document.Map) automation.Review {
	r := automation.Review{Findings: UnknownFields(document.Page, doc)}
	r.Emits, _ = shape.PageEvents(doc)
	addAutomation := func(v any, field string) {
		slug, _ := v.(string)
		if m, ok := v.(*document.Map); ok {
			slug = m.Text("slug")
		}
		if slug != "" && !strings.Contains(slug, "{{") && !slices.ContainsFunc(r.Calls, func(c automation.Reference) bool { return c.Name == slug }) {
			r.Calls = append(r.Calls, automation.Reference{Name: slug, Field: field})
		}
	}
	run, _ := doc.Get("automation")
	addAutomation(run, "automation")
	blocks, _ := doc.Get("blocks")
	list, _ := blocks.([]any)
	for i, item := range list {
		block, ok := item.(*document.Map)
		if !ok || block.Text("appInstance") != "" || strings.Contains(block.Text("slug"), ".") {
			continue // an instance resolves its own names
		}
		run, _ := block.Get("automation")
		addAutomation(run, "blocks["+strconv.Itoa(i)+"].automation")
	}
	return r
}

// secretReference is what refers to a secret in a config.
var secretReference = regexp.MustCompile(`\{\{\s*secret\.([A-Za-z0-9_-]+)`)

// Secrets returns the secrets that the strings of a value refer to, each once.
func Secrets(v any, field string) (refs []automation.Reference) {
	switch v := v.(type) {
	case string:
		for _, m := range secretReference.FindAllStringSubmatch(v, -1) {
			refs = append(refs, automation.Reference{Name: m[1], Field: field})
		}
	case []any:
		for _, item := range v {
			refs = append(refs, Secrets(item, field)...)
		}
	case *document.Map:
		for key, item := range v.All() {
			refs = append(refs, Secrets(item, field+"."+key)...)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(refs, func(r automation.Reference) bool {
		before := seen[r.Name]
		seen[r.Name] = true
		return before
	})
}

// NoAutomation says that nothing is called so.
func NoAutomation(name string) string {
	return "there is no instruction and no automation " + quoted(name)
}

// NotOffered says that an app instance has no automation that the workspace could call so.
func NotOffered(instance, name string) string {
	return "the app instance " + quoted(instance) + " has no automation " + quoted(name) + " that can be called from here"
}

// Disabled says that an app instance cannot be called.
func Disabled(instance string) string {
	return "the app instance " + quoted(instance) + " is disabled: nothing of it can be called"
}

// NoSecret says that a secret has no value.
func NoSecret(name string) string { return "the secret " + quoted(name) + " has no value" }

// NobodyEmits says that nothing in the workspace emits an event.
func NobodyEmits(name string) string {
	return "no automation, page or app of this workspace emits " + quoted(name) + "; if it is sent from outside, declare it in events.types"
}

func quoted(name string) string { return `"` + name + `"` }
