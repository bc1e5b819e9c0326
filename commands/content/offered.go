package content

import (
	"slices"

	"svc/domain/automation"
	"svc/domain/document"
)

// Offered returns the events that automations of an app have to do with, as those
// who install it see them: without private ones, and without those of the
// platform, which nobody can send it.
func Offered(automations []*document.Map) *document.Map {
	var all automation.Events
	for _, doc := range automations {
		if off, _ := boolOf(doc, "disabled"); off {
			continue
		}
		parsed, _ := automation.Parse(doc, automation.Rules{})
		if parsed == nil {
			continue
		}
		ev := parsed.Events()
		private := func(event string) bool { return slices.Contains(ev.Private, event) }
		all.Emit = append(all.Emit, slices.DeleteFunc(ev.Emit, private)...)
		all.Listen = append(all.Listen, slices.DeleteFunc(ev.Listen, automation.Native)...)
		all.Autocomplete = append(all.Autocomplete, slices.DeleteFunc(ev.Autocomplete, func(a automation.Autocomplete) bool { return private(a.Event) })...)
	}
	slices.Sort(all.Emit)
	slices.Sort(all.Listen)
	all.Emit, all.Listen = slices.Compact(all.Emit), slices.Compact(all.Listen)
	return eventsOf(all)
}

// Prefixed returns events as they are called outside of an instance.
func Prefixed(events *document.Map, prefix string) *document.Map {
	if events == nil {
		return nil
	}
	outside := document.MapOf()
	for key, v := range events.All() {
		values, _ := v.([]any)
		named := make([]any, len(values))
		for i, item := range values {
			named[i] = prefixed(item, prefix)
		}
		outside.Set(key, named)
	}
	return outside
}

// prefixed is the name of an event, or what says more about one.
func prefixed(v any, prefix string) any {
	switch v := v.(type) {
	case string:
		return prefix + v
	case *document.Map:
		v = v.Copy()
		v.Set("event", prefix+v.Text("event"))
		return v
	}
	return v
}
