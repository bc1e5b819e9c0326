package programs

import (
	"cmp"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"svc/domain/automation"
)

// registerTriggers notes what starts a program besides calls.
func (set *ProgramSet) registerTriggers(p *Program) {
	if p.Disabled {
		return
	}
	if p.When.Endpoint != nil { // also of a private one: who declares an endpoint wants it called
		set.endpoints = append(set.endpoints, p)
	}
	if len(p.When.Schedules) > 0 && (!p.Private || p.Scope.Parent == nil) { // a private one of an app runs in its own workspace only
		set.scheduled = append(set.scheduled, p)
	}
	for _, pattern := range p.When.Events {
		if strings.HasSuffix(pattern, ".*") {
			set.patternListeners = append(set.patternListeners, patternListener{pattern, p})
		} else {
			set.listeners[pattern] = append(set.listeners[pattern], p)
		}
	}
}

// MatchEndpoint returns the automation that answers an escaped path, and the parameters in
// it; nil when none does.
func (set *ProgramSet) MatchEndpoint(escaped string) (*Program, map[string]string) {
	var best *Program
	var params map[string]string
	first, rest := firstSegment(escaped)
	for _, p := range set.endpoints {
		within, ok := escaped, true
		if prefix := p.Scope.namePrefix(); prefix != "" {
			within, ok = strings.CutPrefix(first, prefix)
			within = url.PathEscape(within) + rest
		}
		if !ok {
			continue
		}
		found, ok := p.When.Endpoint.Match(within)
		if ok && (best == nil || better(p, best)) {
			best, params = p, found
		}
	}
	return best, params
}

// firstSegment returns the first segment of an escaped path, decoded, and the rest as it
// is. Instances are named in the first: their slugs have no slash.
func firstSegment(escaped string) (first, rest string) {
	end := strings.IndexByte(escaped, '/')
	if end < 0 {
		end = len(escaped)
	}
	first, err := url.PathUnescape(escaped[:end])
	if err != nil {
		return "", escaped // it names no instance
	}
	return first, escaped[end:]
}

// better reports whether a answers rather than b, which comes first by its name.
func better(a, b *Program) bool {
	return a.When.Endpoint.Compare(b.When.Endpoint) < 0
}

// Endpoints returns the paths that are answered, escaped, with the automations that
// answer them, in the order of their names.
func (set *ProgramSet) Endpoints() iter.Seq2[string, *Program] {
	return func(yield func(string, *Program) bool) {
		for _, p := range set.endpoints {
			if !yield(escapedPath(p.Scope.namePrefix()+p.When.Endpoint.String()), p) {
				return
			}
		}
	}
}

// escapedPath escapes a path, but for the stars that URLs may have: parameters begin
// with them.
func escapedPath(path string) string {
	u := url.URL{Path: path}
	return strings.ReplaceAll(u.EscapedPath(), "%2A", "*")
}

// Scheduled returns the automations that have schedules, in the order of their names.
func (set *ProgramSet) Scheduled() []*Program {
	return slices.SortedFunc(slices.Values(set.scheduled), func(a, b *Program) int { return cmp.Compare(a.Name, b.Name) })
}

// HasListeners reports whether anything in the program set listens to events at all.
func (set *ProgramSet) HasListeners() bool {
	return len(set.listeners) > 0 || len(set.patternListeners) > 0
}

// Event is what decides who listens to an event.
type Event struct {
	Type           string
	Instance       string // full slug of the app instance that a native event is about, "" for none
	App            string // slug of its app, when it is Alone, or of the app that the event is about
	InstanceOnly   bool   // nobody hears of it but the instance
	OtherPublisher bool   // it is about an app that the workspace does not publish
}

// limitSize are the events about app instances that one about the whole workspace brings.
var instanceEventTypes = map[string]string{
	"workspaces.deleted":    "workspaces.apps.uninstalled",
	"workspaces.duplicated": "workspaces.apps.installed",
}

// InstanceEvents returns what the app instances hear because of an event about the whole
// workspace, each of itself, in the order of their slugs.
func (set *ProgramSet) InstanceEvents(eventType string) (events []Event) {
	kind, ok := instanceEventTypes[eventType]
	if !ok {
		return nil
	}
	for _, instance := range slices.Sorted(maps.Keys(set.scopes)) {
		if scope := set.scopes[instance]; scope.Parent != nil {
			events = append(events, Event{Type: kind, Instance: instance, App: scope.App, InstanceOnly: true})
		}
	}
	return events
}

// Listeners returns the automations that an event starts, each once, in the order of
// their names.
func (set *ProgramSet) Listeners(e Event) []*Program {
	if !automation.Triggering(e.Type) || !set.HasListeners() {
		return nil
	}
	var found []*Program
	for _, scope := range set.listeningScopes(e) {
		local := e.Type
		if !automation.Native(e.Type) {
			local = strings.TrimPrefix(e.Type, scope.namePrefix())
		}
		for _, p := range set.listeners[local] {
			if p.Scope == scope {
				found = append(found, p)
			}
		}
		for _, l := range set.patternListeners {
			if l.program.Scope == scope && automation.MatchEvent(l.pattern, local) {
				found = append(found, l.program)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Program) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(found)
}

// listeningScopes returns the places that may hear of an event: the workspace, the instances
// whose full slug the type of a custom one begins with, and of a native one those
// that it is about. Of an app that somebody else publishes only its instances hear.
func (set *ProgramSet) listeningScopes(e Event) []*Scope {
	scopes := []*Scope{set.Root}
	if e.InstanceOnly {
		return []*Scope{set.scopes[e.Instance]}
	}
	if e.OtherPublisher {
		scopes = nil
	}
	if !automation.Native(e.Type) {
		for i, r := range e.Type {
			if r == '.' && set.scopes[e.Type[:i]] != nil && i > 0 {
				scopes = append(scopes, set.scopes[e.Type[:i]])
			}
		}
		return scopes
	}
	for _, scope := range set.scopes {
		if scope.Parent != nil && scope.receivesEvent(e) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// receivesEvent reports whether an app instance may hear of a native event.
func (p *Scope) receivesEvent(e Event) bool {
	switch e.Type {
	case "workspaces.apps.installed", "workspaces.apps.configured", "workspaces.apps.uninstalled":
		return e.Instance == p.Instance
	}
	return IsAboutApp(e.Type) && e.App == p.App
}

// IsAboutApp reports whether events of a type are about an app. They are recorded on the
// platform: who publishes the app hears of them, and its instances.
func IsAboutApp(eventType string) bool {
	return eventType == "apps.published" || eventType == "apps.deleted"
}
