package automation

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/automation/cron"
	"svc/domain/automation/expr"
	"svc/domain/value"
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

// eventPatternRule is the rule of when.events and wait: a type, or one ending in .*
func eventPatternRule(v any) string {
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

// natives are the event types that only the platform emits, except error and usage: a
// prefix and its suffixes. projections.Schedules stores which workspaces listen to them: when a type
// is added, it gets another number.
var natives = map[string]string{
	"webhooks.":                  "test deliveries.attempted",
	"gateway.login.":             "succeeded failed",
	"gateway.mfa.":               "succeeded failed",
	"gateway.passwordReset.":     "requested succeeded",
	"gateway.signup.":            "succeeded",
	"gateway.users.":             "created updated deleted",
	"gateway.sessions.":          "ended",
	"gateway.accessTokens.":      "created deleted",
	"gateway.jwks.":              "updated",
	"apikeys.":                   "created updated deleted",
	"workspaces.":                "created updated deleted undeleted configured restored duplicated locked unlocked imported staged",
	"workspaces.security.":       "updated",
	"workspaces.secrets.":        "updated",
	"workspaces.events.":         "updated",
	"workspaces.blocks.":         "updated",
	"workspaces.permissions.":    "shared deleted",
	"workspaces.automations.":    "created updated deleted",
	"workspaces.pages.":          "created updated deleted permissions.shared permissions.deleted",
	"workspaces.knowledgeBases.": "created updated deleted permissions.shared permissions.deleted",
	"workspaces.agents.":         "created updated deleted published unpublished permissions.shared permissions.deleted",
	"workspaces.tests.":          "created updated deleted",
	"knowledge.":                 "queried",
	"knowledge.documents.":       "added updated deleted ready failed removed requeued begun postponed embeddingQueued embedded embeddingPostponed",
	"knowledge.crawls.":          "started progress completed",
	"knowledge.reindex.":         "started completed",
	"agents.messages.":           "started completed",
	"agents.tools.":              "called",
	"workspaces.apps.":           "installed configured uninstalled",
	"workspaces.files.":          "uploaded updated deleted counted",
	"workspaces.subscriptions.":  "created updated deleted disabled",
	"workspaces.collections.":    "updated",
	"workspaces.versions.":       "published deleted progress marked intended",
	"workspaces.bulkImport.":     "started progress completed",
	"workspaces.bulkPush.":       "started progress completed",
	"apps.":                      "published deleted",
	"runtime.jwks.":              "updated",
	"runtime.interactions.":      "triggered",
	"runtime.webhooks.":          "triggered",
	"runtime.schedules.":         "triggered created",
	"runtime.automations.":       "executed",
	"runtime.fetch.":             "failed",
	"runtime.waits.":             "pending kept fulfilled expired",
	"runtime.runs.":              "replayed",
	"runtime.contexts.":          "updated",
	"events.userTopics.":         "created joined",
	"events.":                    "cleaned dropped deliveries.dropped",
	"workspaces.operations.":     "started cancelRequested resumed advanced ended",
	"runtime.trees.":             "started",
	"log.":                       "sealed",
	"names.":                     "taken released",
	"nats.users.":                "created deleted",
}

// nativeTypes are their whole names: every event is asked for.
var nativeTypes = func() map[string]bool {
	all := map[string]bool{}
	for prefix, names := range natives {
		for _, name := range strings.Fields(names) {
			all[prefix+name] = true
		}
	}
	return all
}()

// Native reports whether only the platform may emit an event type; not so error and usage.
func Native(eventType string) bool { return nativeTypes[eventType] }

// FitsNative reports whether a type or a pattern fits an event type that only the platform emits.
func FitsNative(pattern string) bool {
	if !strings.HasSuffix(pattern, ".*") {
		return Native(pattern)
	}
	for eventType := range nativeTypes {
		if MatchEvent(pattern, eventType) {
			return true
		}
	}
	return false
}

// emittedEventRule is the rule of names that are emitted.
func emittedEventRule(v any) string {
	if s, ok := v.(string); ok && Native(s) {
		return fmt.Sprintf("%q is an event of the platform itself", s)
	}
	return ""
}

// triggering are the events of the platform that start automations.
var triggering = []string{
	"workspaces.configured", "workspaces.imported", "workspaces.duplicated", "workspaces.deleted",
	"workspaces.automations.*", "workspaces.pages.*", "workspaces.apps.*", "workspaces.versions.*", "workspaces.knowledgeBases.*", "workspaces.agents.*", "workspaces.tests.*", "knowledge.documents.*", "knowledge.crawls.*", "agents.messages.completed",
	"workspaces.bulkImport.*", "workspaces.bulkPush.*", "workspaces.secrets.updated", "workspaces.security.updated",
	"apps.published", "apps.deleted", "events.userTopics.*",
	"runtime.fetch.failed", "runtime.interactions.triggered", "runtime.webhooks.triggered", "runtime.schedules.triggered",
}

// Triggering reports whether events of a type start automations at all.
func Triggering(eventType string) bool {
	return !Native(eventType) || slices.ContainsFunc(triggering, func(p string) bool { return MatchEvent(p, eventType) })
}

func scheduleRule(v any) string {
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
	for i, item := range listOf(o.At("events")) {
		name, ok := item.(string)
		if !ok || eventPatternRule(name) != "" {
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
	t.Schedules = c.schedules(listOf(o.At("schedules")))
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

func listOf(v any) []any {
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

// Autocomplete is the help for editors about an emitted event.
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
		params := in.Params.Source()
		name, ok := value.At(params, "event").(string)
		if !ok || name == "" || isDynamic(name) {
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

// Endpoint is the path that an automation answers: literal segments, :p for
// one segment, and *p at the end for one or more.
type Endpoint struct {
	path     string
	segments []segment
}

type segment struct {
	rank rank
	text string // of a literal; else the name of the parameter
}

// rank orders segments: a literal is chosen before a parameter, and that before
// a rest.
type rank uint8

const (
	literal rank = iota
	parameter
	rest
)

// maxEndpoint is the length of a path.
const maxEndpoint = 500

var parameterName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

func endpointRule(v any) string {
	if s, ok := v.(string); ok {
		if _, err := ParseEndpoint(s); err != nil {
			return err.Error()
		}
	}
	return ""
}

// ParseEndpoint reads a path. One slash at its end does not count.
func ParseEndpoint(path string) (*Endpoint, error) {
	path = strings.TrimSuffix(path, "/")
	if path == "" || !domain.IsLine(path, maxEndpoint) {
		return nil, errors.New("expected a path")
	}
	if strings.ContainsAny(path, "?#") {
		return nil, errors.New("a path has no ? and no #")
	}
	e := &Endpoint{path: path}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		s := segment{literal, part}
		switch {
		case part == "":
			return nil, errors.New("a path has no slash at its beginning and no two in a row")
		case part == "." || part == "..":
			return nil, errors.New("a path has no . and .. segments")
		case part[0] == ':':
			s = segment{parameter, part[1:]}
		case part[0] == '*':
			s = segment{rest, part[1:]}
		}
		if err := s.check(e.segments, i == len(parts)-1); err != nil {
			return nil, err
		}
		e.segments = append(e.segments, s)
	}
	return e, nil
}

func (s segment) check(before []segment, last bool) error {
	switch {
	case s.rank == literal:
		return nil
	case !parameterName.MatchString(s.text):
		return errors.New("a parameter has a name: a letter, then letters, digits, _ and -")
	case s.rank == rest && !last:
		return errors.New("a * parameter is the last segment")
	case slices.ContainsFunc(before, func(b segment) bool { return b.rank != literal && b.text == s.text }):
		return errors.New("two parameters have one name: " + s.text)
	}
	return nil
}

// literalEndpoint is the path of a slug, in which nothing is a parameter.
func literalEndpoint(slug string) *Endpoint {
	if slug == "" {
		return nil
	}
	e := &Endpoint{path: slug}
	for part := range strings.SplitSeq(slug, "/") {
		e.segments = append(e.segments, segment{literal, part})
	}
	return e
}

// String returns the path as written, without a slash at its end. Two
// automations may not have the same.
func (e *Endpoint) String() string { return e.path }

// Segments of a pattern, see Endpoint.Pattern.
const (
	ParameterSegment = "/:"
	RestSegment      = "/*"
)

// LiteralSegment returns a literal segment of a pattern.
func LiteralSegment(text string) string { return "/=" + text }

// Pattern returns the segments of the endpoint without the names of its parameters. Endpoints
// with the same pattern fit the same paths, and Compare finds them equal.
func (e *Endpoint) Pattern() string {
	var b strings.Builder
	for _, s := range e.segments {
		switch s.rank {
		case literal:
			b.WriteString(LiteralSegment(s.text))
		case parameter:
			b.WriteString(ParameterSegment)
		case rest:
			b.WriteString(RestSegment)
		}
	}
	return b.String()
}

// Match returns the parameters of an escaped path, and whether it fits.
func (e *Endpoint) Match(escaped string) (map[string]string, bool) {
	parts := strings.Split(strings.TrimSuffix(escaped, "/"), "/")
	if len(parts) < len(e.segments) || len(parts) > len(e.segments) && e.segments[len(e.segments)-1].rank != rest {
		return nil, false
	}
	params := map[string]string{}
	for i, s := range e.segments {
		text := parts[i]
		if s.rank == rest {
			text = strings.Join(parts[i:], "/")
		}
		decoded, err := url.PathUnescape(text)
		if err != nil || text == "" || s.rank == literal && decoded != s.text {
			return nil, false
		}
		if s.rank != literal {
			params[s.text] = decoded
		}
	}
	return params, true
}

// Compare orders endpoints that fit one path by who answers it: from the left,
// a literal before :p before *p. 0 is a tie.
func (e *Endpoint) Compare(other *Endpoint) int {
	return slices.CompareFunc(e.segments, other.segments, func(a, b segment) int { return cmp.Compare(a.rank, b.rank) })
}

// Awaited is one of the events that a wait is for.
type Awaited struct {
	Event           string        // a type, or a pattern ending in .*
	Matcher         *expr.Matcher // nil: whatever it holds
	CancelsTriggers bool          // of the events that fit
}

// WaitInstance is the key, in the event of a wait, of the full slug of the app instance
// whose names its filters use. Without it the wait belongs to the workspace, or is older
// than local names.
const WaitInstance = "appInstance"

// OneOf lists what a wait with these parameters is for, each item as it is written.
func OneOf(params any) []any {
	list, _ := value.At(params, "oneOf").([]any)
	return list
}

// ReadAwaited reads one item of a wait. A filter that is none is an error.
func ReadAwaited(item any) (Awaited, error) {
	a := Awaited{Event: value.Text(value.At(item, "event")), CancelsTriggers: cancelsTriggers(item)}
	filters, ok := value.At(item, "filters").(*value.Object)
	if !ok || filters.Len() == 0 {
		return a, nil
	}
	var err error
	a.Matcher, err = expr.CompileMatcher(filters, true)
	return a, err
}

// CancelsTriggers reports whether one of the events of a wait starts nothing else when it
// matches. The wait is in the format of its event.
func CancelsTriggers(wait []byte) bool {
	params, err := value.ParseJSON(string(wait))
	return err == nil && slices.ContainsFunc(OneOf(params), cancelsTriggers)
}

// MayCancel reports whether an item of a wait, as it is written, may cancel triggers once it
// is evaluated.
func MayCancel(item any) bool {
	_, isText := item.(string)
	_, computed := value.At(item, "cancelTriggers").(string)
	return isText || computed || cancelsTriggers(item)
}

func cancelsTriggers(item any) bool { return value.At(item, "cancelTriggers") == true }
