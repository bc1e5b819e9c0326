package crawl

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain/kbdocument"
)

// RobotsToken is what robots.txt and pages call us.
const RobotsToken = "svc-crawler"

// Robots is what the robots.txt of a site says to us, by RFC 9309.
type Robots struct {
	Delay    time.Duration // between requests; 0: it does not say
	Sitemaps []string

	rules []robotsRule
}

// robotsRule is a line of robots.txt, with escapes in their shortest form.
type robotsRule struct {
	pattern string
	allow   bool
}

// maxCrawlDelay is how much of a delay that a site asks for is given.
const maxCrawlDelay = time.Minute

// robotsGroup is what robots.txt says to those of one name.
type robotsGroup struct {
	rules []robotsRule
	delay time.Duration
}

// ParseRobots reads a robots.txt. Lines that are not understood say nothing.
func ParseRobots(text string) Robots {
	var r Robots
	groups, agents, inRules := map[string]*robotsGroup{}, []string{}, false
	for line := range strings.Lines(strings.ReplaceAll(text, "\r", "\n")) {
		line, _, _ := strings.Cut(line, "#")
		key, text, _ := strings.Cut(line, ":")
		key, text = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(text)
		switch key {
		case "sitemap":
			r.Sitemaps = append(r.Sitemaps, text)
		case "user-agent":
			if inRules {
				agents, inRules = nil, false
			}
			name, _, _ := strings.Cut(strings.ToLower(text), "/")
			agents = append(agents, name)
			if groups[name] == nil {
				groups[name] = &robotsGroup{}
			}
		case "allow", "disallow":
			inRules = true
			for _, name := range agents {
				if text != "" {
					groups[name].rules = append(groups[name].rules, robotsRule{kbdocument.NormaliseEscapes(text), key == "allow"})
				}
			}
		case "crawl-delay":
			inRules = true
			seconds, err := strconv.ParseFloat(text, 64)
			for _, name := range agents {
				if err == nil && seconds > 0 {
					groups[name].delay = time.Duration(min(seconds, maxCrawlDelay.Seconds()) * float64(time.Second))
				}
			}
		}
	}
	group := groups[RobotsToken]
	if group == nil {
		group = groups["*"]
	}
	if group != nil {
		r.rules, r.Delay = group.rules, group.delay
	}
	return r
}

// Allows reports whether we may load a path with its query. Of the rules that match, the longest counts; of equal ones,
// the one that allows.
func (r Robots) Allows(path string) bool {
	best := robotsRule{allow: true}
	path = escapeSpecial(kbdocument.NormaliseEscapes(path))
	for _, rule := range r.rules {
		if matchesRobots(rule.pattern, path) && (len(rule.pattern) > len(best.pattern) || len(rule.pattern) == len(best.pattern) && rule.allow) {
			best = rule
		}
	}
	return best.allow
}

// escapeSpecial escapes the characters that have a meaning in patterns of robots.txt: in a path they have none.
func escapeSpecial(text string) string { return specialCharacters.Replace(text) }

var specialCharacters = strings.NewReplacer("*", "%2A", "$", "%24")

// matchesRobots matches a pattern of robots.txt: * is any text, $ at the end is the end of the path.
func matchesRobots(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	for i, part := range parts {
		parts[i] = escapeSpecial(part)
	}
	if !strings.HasPrefix(path, parts[0]) {
		return false
	}
	rest := path[len(parts[0]):]
	for i, part := range parts[1:] {
		if whole && i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !whole || rest == ""
}

// Directives reads what a page says: whether it is not to be stored, and its links not to be followed.
func Directives(text string) (noIndex, noFollow bool) {
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		switch strings.TrimSpace(word) {
		case "noindex":
			noIndex = true
		case "nofollow":
			noFollow = true
		case "none":
			noIndex, noFollow = true, true
		}
	}
	return noIndex, noFollow
}

// valuedDirectives are directives with a value: what stands before their colon is not a crawler.
var valuedDirectives = []string{"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}

// HeaderDirectives reads what the headers X-Robots-Tag of a response say to us. A directive after the name of a crawler
// and a colon, and those that follow it in the same header, are for that crawler only.
func HeaderDirectives(headers []string) (noIndex, noFollow bool) {
	for _, header := range headers {
		forUs := true
		for word := range strings.SplitSeq(strings.ToLower(header), ",") {
			name, rest, ok := strings.Cut(word, ":")
			name = strings.TrimSpace(name)
			if ok && !slices.Contains(valuedDirectives, name) && !strings.Contains(name, " ") { // that is a time
				name, _, _ = strings.Cut(name, "/")
				forUs, word = name == RobotsToken || name == "*", rest
			}
			if forUs {
				index, follow := Directives(word)
				noIndex, noFollow = noIndex || index, noFollow || follow
			}
		}
	}
	return noIndex, noFollow
}
