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

// register notes what starts a program besides calls.
func (h *House) register(p *Program) {
	if p.Disabled {
		return
	}
	if p.When.Endpoint != nil { // also of a private one: who declares an endpoint wants it called
		h.endpoints = append(h.endpoints, p)
	}
	if len(p.When.Schedules) > 0 && (!p.Private || p.Place.Parent == nil) { // a private one of an app runs in its own workspace only
		h.scheduled = append(h.scheduled, p)
	}
	for _, pattern := range p.When.Events {
		if strings.HasSuffix(pattern, ".*") {
			h.patterns = append(h.patterns, listener{pattern, p})
		} else {
			h.exact[pattern] = append(h.exact[pattern], p)
		}
	}
}

// Endpoint returns the automation that answers an escaped path, and the parameters in
// it; nil when none does.
func (h *House) Endpoint(escaped string) (*Program, map[string]string) {
	var best *Program
	var params map[string]string
	first, rest := firstSegment(escaped)
	for _, p := range h.endpoints {
		within, ok := escaped, true
		if prefix := p.Place.prefix(); prefix != "" {
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
func (h *House) Endpoints() iter.Seq2[string, *Program] {
	return func(yield func(string, *Program) bool) {
		for _, p := range h.endpoints {
			if !yield(escapedPath(p.Place.prefix()+p.When.Endpoint.String()), p) {
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
func (h *House) Scheduled() []*Program {
	return slices.SortedFunc(slices.Values(h.scheduled), func(a, b *Program) int { return cmp.Compare(a.Name, b.Name) })
}

// Listens reports whether anything in the house listens to events at all.
func (h *House) Listens() bool { return len(h.exact) > 0 || len(h.patterns) > 0 }

// Event is what decides who listens to an event.
type Event struct {
	Type     string
	Instance string // full slug of the app instance that a native event is about, "" for none
	App      string // slug of its app, when it is Alone, or of the app that the event is about
	Alone    bool   // nobody hears of it but the instance
	Foreign  bool   // it is about an app that the workspace does not publish
}

// brings are the events about app instances that one about the whole workspace brings.
var brings = map[string]string{
	"workspaces.deleted":    "workspaces.apps.uninstalled",
	"workspaces.duplicated": "workspaces.apps.installed",
}

// Brings returns what the app instances hear because of an event about the whole
// workspace, each of itself, in the order of their slugs.
func (h *House) Brings(eventType string) (events []Event) {
	kind, ok := brings[eventType]
	if !ok {
		return nil
	}
	for _, instance := range slices.Sorted(maps.Keys(h.places)) {
		if place := h.places[instance]; place.Parent != nil {
			events = append(events, Event{Type: kind, Instance: instance, App: place.App, Alone: true})
		}
	}
	return events
}

// Listeners returns the automations that an event starts, each once, in the order of
// their names.
func (h *House) Listeners(e Event) []*Program {
	if !automation.Triggering(e.Type) || !h.Listens() {
		return nil
	}
	var found []*Program
	for _, place := range h.hearing(e) {
		local := e.Type
		if !automation.Native(e.Type) {
			local = strings.TrimPrefix(e.Type, place.prefix())
		}
		for _, p := range h.exact[local] {
			if p.Place == place {
				found = append(found, p)
			}
		}
		for _, l := range h.patterns {
			if l.program.Place == place && automation.MatchEvent(l.pattern, local) {
				found = append(found, l.program)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Program) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(found)
}

// hearing returns the places that may hear of an event: the workspace, the instances
// whose full slug the type of a custom one begins with, and of a native one those
// that it is about. Of an app that somebody else publishes only its instances hear.
func (h *House) hearing(e Event) []*Place {
	places := []*Place{h.Root}
	if e.Alone {
		return []*Place{h.places[e.Instance]}
	}
	if e.Foreign {
		places = nil
	}
	if !automation.Native(e.Type) {
		for i, r := range e.Type {
			if r == '.' && h.places[e.Type[:i]] != nil && i > 0 {
				places = append(places, h.places[e.Type[:i]])
			}
		}
		return places
	}
	for _, place := range h.places {
		if place.Parent != nil && place.told(e) {
			places = append(places, place)
		}
	}
	return places
}

// told reports whether an app instance may hear of a native event.
func (p *Place) told(e Event) bool {
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
