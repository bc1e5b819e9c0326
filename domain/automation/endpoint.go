package automation

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"svc/domain"
)

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
