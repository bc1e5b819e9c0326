package content

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/commands/extract"
	"svc/domain"
	"svc/domain/automation/cron"
	"svc/domain/crawl"
	"svc/domain/document"
	"svc/domain/shape"
)

// SourceRules are what the settings allow sources of knowledge bases.
type SourceRules struct {
	MaxPages     int           // CRAWLER_MAX_PAGES
	MinPeriod    time.Duration // CRAWLER_MIN_PERIOD
	RobotsExempt []string      // CRAWLER_ROBOTS_EXEMPT_HOSTS
}

// sourceFaults returns the faults of the sources of a well-formed knowledge base that depend on the settings, and those
// of selectors.
func (c *Content) sourceFaults(doc *document.Map) (faults []shape.Fault) {
	sources := crawl.Sources(doc)
	for _, id := range slices.Sorted(maps.Keys(sources)) {
		s := sources[id]
		fault := func(message string, at ...any) {
			faults = append(faults, shape.Fault{Field: shape.Path(append([]any{"sources", id}, at...)...), Message: message, Code: domain.CodeValidation})
		}
		if problem := extract.CSSProblem(s.Selector.CSS); s.Selector.CSS != "" && problem != "" {
			fault(problem, "selector", "css")
		}
		if problem := extract.XPathProblem(s.Selector.XPath); s.Selector.XPath != "" && problem != "" {
			fault(problem, "selector", "xpath")
		}
		for i, css := range s.Selector.Remove {
			if problem := extract.CSSProblem(css); problem != "" {
				fault(problem, "selector", "remove", i)
			}
		}
		if c.SourceRules == nil {
			continue
		}
		rules := c.SourceRules()
		if s.MaxPages > rules.MaxPages {
			fault(fmt.Sprintf("must be at most %d (CRAWLER_MAX_PAGES)", rules.MaxPages), "maxPages")
		}
		if host := s.ExemptProblem(rules.RobotsExempt); !s.Robots && host != "" {
			fault(fmt.Sprintf("robots.txt of %s must be obeyed: it is not one of CRAWLER_ROBOTS_EXEMPT_HOSTS", host), "robots")
		}
		if schedule, err := cron.Parse(s.Schedule); s.Schedule != "" && err == nil {
			if period, ok := schedule.Period(); ok && period < rules.MinPeriod {
				fault(fmt.Sprintf("must not begin more often than every %s (CRAWLER_MIN_PERIOD)", rules.MinPeriod), "schedule")
			}
		}
	}
	return faults
}
