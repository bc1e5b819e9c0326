package automation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/automation/cron"
	"svc/domain/automation/value"
)

// Triggers are what starts an automation besides calls.
type Triggers struct {
	Events    []string // types, or patterns ending in .*
	Endpoint  *Endpoint
	Schedules []*cron.Schedule
}

// maxPattern is the length of a pattern: the name of an event with that of an
// app's instance in front.
const maxPattern = 400

// pattern is the rule of when.events and wait: a type, or one ending in .*
func pattern(v any) string {
	s, _ := v.(string)
	exact := strings.TrimSuffix(s, ".*")
	switch {
	case s == "" || exact == "" || !domain.IsLine(s, maxPattern):
		return "expected the name of an event"
	case strings.Contains(exact, "*"):
		return "* may only be the last part, after a dot"
	}
	return ""
}

// MatchEvent reports whether an event type fits a type or a pattern ending in
// .*
func MatchEvent(pattern, eventType string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasSuffix(prefix, ".") {
		return strings.HasPrefix(eventType, prefix) && eventType != prefix
	}
	return pattern == eventType
}

// triggering are the events of the platform that start automations.
var triggering = []string{
	"workspaces.configured", "workspaces.imported", "workspaces.duplicated", "workspaces.deleted",
	"workspaces.automations.*", "workspaces.pages.*", "workspaces.apps.*", "workspaces.versions.*",
	"workspaces.bulkImport.*", "workspaces.bulkPush.*", "workspaces.secrets.updated", "workspaces.security.updated",
	"apps.published", "apps.deleted", "events.userTopics.*",
	"runtime.fetch.failed", "runtime.interactions.triggered", "runtime.webhooks.triggered", "runtime.schedules.triggered",
}

// Triggering reports whether events of a type start automations at all.
func Triggering(eventType string) bool {
	return !Native(eventType) || slices.ContainsFunc(triggering, func(p string) bool { return MatchEvent(p, eventType) })
}

func schedule(v any) string {
	s, _ := v.(string)
	if _, err := cron.Parse(s); err != nil {
		return err.Error()
	}
	return ""
}

// when reads the triggers. What has a fault is left out.
func (c *checker) when(v any, slug string) Triggers {
	o, ok := v.(*value.Object)
	if !ok {
		return Triggers{}
	}
	var t Triggers
	for i, item := range items(o.At("events")) {
		name, ok := item.(string)
		if !ok || pattern(name) != "" {
			continue
		}
		if !Triggering(name) || name == "runtime.waits.*" {
			c.warn("", fmt.Sprintf("when.events[%d]", i), "%s starts no automation; wait for it instead", name)
		}
		t.Events = append(t.Events, name)
	}
	switch at := o.At("endpoint").(type) {
	case bool:
		if at {
			t.Endpoint = literalEndpoint(slug)
		}
	case string:
		t.Endpoint, _ = ParseEndpoint(at)
	}
	t.Schedules = c.schedules(items(o.At("schedules")))
	return t
}

// MaxSchedules is how many schedules an automation has.
const MaxSchedules = 100

func (c *checker) schedules(list []any) []*cron.Schedule {
	var all []*cron.Schedule
	if len(list) > MaxSchedules {
		c.fault(InvalidSchedule, "when.schedules", "an automation has at most %d schedules", MaxSchedules)
		return nil
	}
	for i, item := range list {
		src, _ := item.(string)
		s, err := cron.Parse(src)
		if err != nil {
			continue // reported by its rule
		}
		path := fmt.Sprintf("when.schedules[%d]", i)
		if c.MinPeriod > time.Minute { // no schedule fires more often than that
			if period, ok := s.Period(); ok && period < c.MinPeriod {
				c.fault(InvalidSchedule, path, "fires every %s; at least %s must lie between", period, c.MinPeriod)
				continue
			}
		}
		all = append(all, s)
	}
	return all
}

func items(v any) []any {
	list, _ := v.([]any)
	return list
}

// Firing is a schedule and when it fires next.
type Firing struct {
	Cron string
	Next []time.Time
}

// Firings returns for each schedule its next n firings after now.
func (a *Automation) Firings(now time.Time, zone *time.Location, n int) []Firing {
	var all []Firing
	for _, s := range a.When.Schedules {
		all = append(all, Firing{Cron: s.String(), Next: s.Upcoming(now, zone, n)})
	}
	return all
}

// Autocomplete is what editors are told of an emitted event.
type Autocomplete struct {
	Event        string
	Autocomplete any
}

// Events are the types that an automation has to do with, each once, in the
// order of the document.
type Events struct {
	Emit, Listen []string
	Private      []string // emitted, and not in the published list of an app
	Autocomplete []Autocomplete
}

// Events returns the types that are written out in emit and in when.
func (a *Automation) Events() Events {
	e := Events{Listen: unique(a.When.Events)}
	a.Walk(func(in *Instruction) {
		if in.Name != "emit" || in.Params == nil {
			return
		}
		params := in.Params.Written()
		name, ok := value.At(params, "event").(string)
		if !ok || name == "" || dynamic(name) {
			return
		}
		e.Emit = append(e.Emit, name)
		if value.At(params, "private") == true {
			e.Private = append(e.Private, name)
		}
		if !value.IsNothing(in.Autocomplete) {
			e.Autocomplete = append(e.Autocomplete, Autocomplete{name, in.Autocomplete})
		}
	})
	e.Emit, e.Private = unique(e.Emit), unique(e.Private)
	return e
}

func unique(list []string) []string {
	all := []string{}
	for _, s := range list {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
