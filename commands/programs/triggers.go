package programs

import (
	"cmp"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"svc/domain/automation"
	"svc/domain/persistent"
)

// MatchEndpoint returns the automation of an escaped path and the parameters in it; nil when
// none matches.
func (set *ProgramSet) MatchEndpoint(escaped string) (*Program, map[string]string) {
	var best *Program
	var params map[string]string
	match := func(instance, within string) {
		id, ok := set.index.findEndpoint(instance, within)
		if !ok {
			return
		}
		p := set.program(id)
		order := 0
		if best != nil {
			order = cmp.Or(p.When.Endpoint.Compare(best.When.Endpoint), strings.Compare(p.Name, best.Name))
		}
		if found, ok := p.When.Endpoint.Match(within); ok && (best == nil || order < 0) {
			best, params = p, found
		}
	}
	match("", escaped)
	first, rest := firstSegment(escaped)
	for i := range len(first) {
		if first[i] == '.' {
			match(first[:i], url.PathEscape(first[i+1:])+rest)
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
		ids := slices.SortedFunc(maps.Values(maps.Collect(set.index.endpoints.All())), func(a, b programID) int { return strings.Compare(a.name(), b.name()) })
		for _, id := range ids {
			p := set.program(id)
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

// Schedules names the automations of a program set that have schedules. It keeps nothing else of the program set in
// memory. The zero Schedules has none.
type Schedules struct{ index persistent.Map[programID] }

// Schedules returns the names of the automations with schedules.
func (set *ProgramSet) Schedules() Schedules { return Schedules{set.index.scheduled} }

// ChangedSince returns the names, sorted, of the automations whose documents or app instances have changed since an
// earlier program set of the workspace, and some others. It costs what has changed, unless the program set was built
// from nothing: then it returns all names of both.
func (s Schedules) ChangedSince(earlier Schedules) []string {
	return slices.Collect(s.index.Changes(earlier.index))
}

// ScheduledProgram returns the automation with a name if it has schedules, else nil.
func (set *ProgramSet) ScheduledProgram(name string) *Program {
	id, ok := set.index.scheduled.Get(name)
	if !ok {
		return nil
	}
	return set.program(id)
}

// ToolLabel is the label of automations, and of agents, that MCP clients may call.
const ToolLabel = "mcp"

// Tools returns the automations of the workspace itself that MCP clients may call, sorted by their slugs.
func (set *ProgramSet) Tools() iter.Seq[*Program] {
	return func(yield func(*Program) bool) {
		for _, id := range set.index.tools.All() {
			if !yield(set.program(id)) {
				return
			}
		}
	}
}

// HasListeners reports whether any program listens to events.
func (set *ProgramSet) HasListeners() bool { return set.index.listeners.Len() > 0 }

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
	for name, n := range set.index.instances.All() {
		if n.compiled != nil {
			events = append(events, Event{Type: kind, Instance: name, App: n.install.app, InstanceOnly: true})
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
		for _, id := range set.index.listening(scope.Instance, local) {
			found = append(found, scope.program(id.slug))
		}
	}
	slices.SortFunc(found, func(a, b *Program) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(found)
}

// listeningScopes returns the scopes that may receive an event: the workspace; for a custom
// event the instances whose full slug its type begins with; for a native event the instances
// that it is about. An event about an app of another publisher reaches only its instances.
func (set *ProgramSet) listeningScopes(e Event) []*Scope {
	if e.InstanceOnly {
		return []*Scope{set.Scope(e.Instance)}
	}
	var scopes []*Scope
	if !e.OtherPublisher {
		scopes = append(scopes, set.Root)
	}
	add := func(instance string) {
		if scope := set.Scope(instance); scope != nil && scope.Parent != nil {
			scopes = append(scopes, scope)
		}
	}
	switch {
	case !automation.Native(e.Type):
		for i, r := range e.Type {
			if r == '.' {
				add(e.Type[:i])
			}
		}
	case IsAboutApp(e.Type):
		for name, n := range set.index.instances.All() {
			if n.install.app == e.App {
				add(name)
			}
		}
	case e.Type == "workspaces.apps.installed" || e.Type == "workspaces.apps.configured" || e.Type == "workspaces.apps.uninstalled":
		add(e.Instance)
	}
	return scopes
}

// IsAboutApp reports whether events of a type are about an app. They are recorded on the
// platform; the publisher of the app and its instances receive them.
func IsAboutApp(eventType string) bool {
	return eventType == "apps.published" || eventType == "apps.deleted"
}
