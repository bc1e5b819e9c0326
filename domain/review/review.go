// Package review finds what documents need of others: names that have to exist in their
// workspace, and how it is said that one does not.
package review

import (
	"regexp"
	"slices"
	"strconv"

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
	r := automation.Review{Findings: UnknownFields(document.Page, doc), Calls: calls(document.Page, doc)}
	r.Emits, _ = shape.PageEvents(doc)
	return r
}

// Agent reviews an agent: its fields, the automations that it may call, the knowledge bases that it searches, and the
// secrets that it sends to servers.
func Agent(doc *document.Map) automation.Review {
	r := automation.Review{Findings: UnknownFields(document.Agent, doc), Calls: calls(document.Agent, doc)}
	bases, _ := doc.Get("knowledge")
	list, _ := bases.([]any)
	for i, item := range list {
		entry, _ := item.(*document.Map)
		slug := entry.Text("base")
		if slug != "" && !slices.ContainsFunc(r.Bases, func(b automation.Reference) bool { return b.Name == slug }) {
			r.Bases = append(r.Bases, automation.Reference{Name: slug, Field: "knowledge[" + strconv.Itoa(i) + "].base"})
		}
	}
	tools, _ := doc.Get("tools")
	r.Secrets = Secrets(tools, "tools")
	return r
}

// Test reviews a test suite: its fields, and the automations that it names.
func Test(doc *document.Map) automation.Review {
	return automation.Review{Findings: UnknownFields(document.Test, doc), Calls: calls(document.Test, doc)}
}

// calls returns the automations that a document names, each where it is named first.
func calls(kind *document.Kind, doc *document.Map) (refs []automation.Reference) {
	for _, use := range shape.Uses(kind, doc) {
		if use.Kind == automation.Call && !slices.ContainsFunc(refs, func(r automation.Reference) bool { return r.Name == use.Name }) {
			refs = append(refs, automation.Reference{Name: use.Name, Field: use.Field})
		}
	}
	return refs
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

// DisabledAutomation says that an agent leaves an automation out.
func DisabledAutomation(name string) string {
	return "the automation " + quoted(name) + " is disabled: the agent does not offer it to its model"
}

// NoBase says that there is no such knowledge base.
func NoBase(name string) string { return "there is no knowledge base " + quoted(name) }

// NoSecret says that a secret has no value.
func NoSecret(name string) string { return "the secret " + quoted(name) + " has no value" }

// NobodyEmits says that nothing in the workspace emits an event.
func NobodyEmits(name string) string {
	return "no automation, page or app of this workspace emits " + quoted(name) + "; if it is sent from outside, declare it in events.types"
}

func quoted(name string) string { return `"` + name + `"` }
