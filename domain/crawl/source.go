// Package crawl holds the rules of reading a site: which addresses belong to a source, in which order they are visited,
// what becomes of each, and how a run ends.
package crawl

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/domain/document"
	"svc/domain/kbdocument"
)

// The ways in which a source uses sitemaps.
const (
	SitemapAuto = "auto" // they add addresses
	SitemapOnly = "only" // no links are followed
	SitemapOff  = "off"
)

// Source is a site of a knowledge base, and how it is read.
type Source struct {
	URLs             []string
	Hosts            []string // besides those of URLs
	Include, Exclude []string // patterns
	Depth            int      // links from a start address
	MaxPages         int
	Sitemap          string
	Schedule         string // "": it is read when somebody asks
	Selector         kbdocument.Selector
	Types            []string
	IgnoreParams     []string
	Headers          map[string]string
	Delay            time.Duration
	Robots           bool
	KeepVanished     bool
	Disabled         bool
	Tags             []string // nil: those of the page
	Metadata         map[string]any
	Language         string
}

// Sources returns the sources of a checked knowledge base by id, with their defaults.
func Sources(base *document.Map) map[string]Source {
	sources := map[string]Source{}
	for id, v := range document.Knowledge.Complete(base).Object("sources").All() {
		if m, ok := v.(*document.Map); ok {
			sources[id] = parse(m)
		}
	}
	return sources
}

func parse(m *document.Map) Source {
	s := Source{
		URLs: texts(m, "urls"), Hosts: texts(m, "hosts"), Include: texts(m, "include"), Exclude: texts(m, "exclude"),
		Depth: int(number(m, "depth")), MaxPages: int(number(m, "maxPages")), Sitemap: m.Text("sitemap"), Schedule: m.Text("schedule"),
		Types: texts(m, "types"), IgnoreParams: texts(m, "ignoreParams"), Headers: map[string]string{},
		Delay: time.Duration(number(m, "delay") * float64(time.Second)), Robots: flag(m, "robots"), KeepVanished: flag(m, "keepVanished"),
		Disabled: flag(m, "disabled"), Tags: texts(m, "tags"), Language: m.Text("language"),
	}
	selector := m.Object("selector")
	s.Selector = kbdocument.Selector{CSS: selector.Text("css"), XPath: selector.Text("xpath"), Remove: texts(selector, "remove")}
	for name := range m.Object("headers").All() {
		s.Headers[strings.ToLower(name)] = m.Object("headers").Text(name)
	}
	if metadata := m.Object("metadata"); metadata != nil {
		s.Metadata, _ = document.Plain(metadata).(map[string]any)
	}
	return s
}

func texts(m *document.Map, name string) (list []string) {
	v, _ := m.Get(name)
	items, _ := v.([]any)
	for _, item := range items {
		if s, ok := item.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

func number(m *document.Map, name string) float64 {
	v, _ := m.Get(name)
	f, _ := v.(float64)
	return f
}

func flag(m *document.Map, name string) bool {
	v, _ := m.Get(name)
	b, _ := v.(bool)
	return b
}

// regexPrefix begins a pattern that is a regular expression.
const regexPrefix = "regex:"

// compilePattern returns the expression that a pattern of addresses stands for. One that begins with a slash is about
// the path and the query, others are about the whole address.
func compilePattern(pattern string) (expression *regexp.Regexp, ofPath bool, err error) {
	if text, ok := strings.CutPrefix(pattern, regexPrefix); ok {
		expression, err = regexp.Compile(text)
		return expression, false, err
	}
	parts := strings.Split(pattern, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	expression, err = regexp.Compile("^" + strings.Join(parts, ".*") + "$")
	return expression, strings.HasPrefix(pattern, "/"), err
}

// PatternProblem returns what is wrong with a pattern of addresses, "" for nothing.
func PatternProblem(pattern string) string {
	if _, _, err := compilePattern(pattern); err != nil {
		return "is no regular expression: " + err.Error()
	}
	return ""
}

// ExemptProblem returns the first host of a source that is not exempt from robots.txt, "" when all are.
func (s Source) ExemptProblem(exempt []string) string {
	for _, host := range slices.Sorted(hostsOf(s)) {
		name, _, _ := strings.Cut(host, ":")
		if !slices.Contains(exempt, host) && !slices.Contains(exempt, name) {
			return host
		}
	}
	return ""
}
