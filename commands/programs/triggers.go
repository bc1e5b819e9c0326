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

// registerTriggers indexes the triggers of a program.
func (set *ProgramSet) registerTriggers(p *Program) {
	if p.Disabled {
		return
	}
	if p.When.Endpoint != nil { // private automations too: an endpoint is declared to be called
		set.endpoints = append(set.endpoints, p)
	}
	if len(p.When.Schedules) > 0 && (!p.Private || p.Scope.Parent == nil) { // schedules of private automations of an app run only in its own workspace
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

// MatchEndpoint returns the automation of an escaped path and the parameters in it; nil when
// none matches.
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
		if ok && (best == nil || p.When.Endpoint.Compare(best.When.Endpoint) < 0) {
			best, params = p, found
		}
	}
	return best, params
}

// firstSegment returns the first segment of an escaped path, decoded, and the rest unchanged.
// The first segment names the instance: instance slugs have no slash.
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

// Endpoints returns the escaped endpoint paths with their automations, sorted by name.
func (set *ProgramSet) Endpoints() iter.Seq2[string, *Program] {
	return func(yield func(string, *Program) bool) {
		for _, p := range set.endpoints {
			if !yield(escapedPath(p.Scope.namePrefix()+p.When.Endpoint.String()), p) {
				return
			}
		}
	}
}

// escapedPath escapes a path except for stars: parameters begin with them.
func escapedPath(path string) string {
	u := url.URL{Path: path}
	return strings.ReplaceAll(u.EscapedPath(), "%2A", "*")
}

// Scheduled returns the automations with schedules, sorted by name.
func (set *ProgramSet) Scheduled() []*Program {
	return slices.SortedFunc(slices.Values(set.scheduled), func(a, b *Program) int { return cmp.Compare(a.Name, b.Name) })
}

// HasListeners reports whether any program listens to events.
func (set *ProgramSet) HasListeners() bool {
	return len(set.listeners) > 0 || len(set.patternListeners) > 0
}

// Event holds what decides which programs an event starts.
type Event struct {
	Type           string
	Instance       string // full slug of the app instance that a native event is about, "" for none
	App            string // slug of its app, when InstanceOnly, or of the app that the event is about
	InstanceOnly   bool   // only the instance receives it
	OtherPublisher bool   // it is about an app of another publisher
}

// instanceEventTypes maps an event about the whole workspace to the event that each app
// instance receives.
var instanceEventTypes = map[string]string{
	"workspaces.deleted":    "workspaces.apps.uninstalled",
	"workspaces.duplicated": "workspaces.apps.installed",
}

// InstanceEvents returns the events that app instances receive because of an event about the
// whole workspace, sorted by slug.
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

// Listeners returns the automations that an event starts, each once, sorted by name.
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

// listeningScopes returns the scopes that may receive an event: the workspace; for a custom
// event the instances whose full slug its type begins with; for a native event the instances
// that it is about. An event about an app of another publisher reaches only its instances.
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

// receivesEvent reports whether an app instance receives a native event.
func (p *Scope) receivesEvent(e Event) bool {
	switch e.Type {
	case "workspaces.apps.installed", "workspaces.apps.configured", "workspaces.apps.uninstalled":
		return e.Instance == p.Instance
	}
	return IsAboutApp(e.Type) && e.App == p.App
}

// IsAboutApp reports whether events of a type are about an app. They are recorded on the
// platform; the publisher of the app and its instances receive them.
func IsAboutApp(eventType string) bool {
	return eventType == "apps.published" || eventType == "apps.deleted"
}
