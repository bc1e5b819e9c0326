package crawl

import (
	"fmt"
	"iter"
	"maps"
	"net/url"
	"regexp"
	"strings"

	"svc/domain/kbdocument"
)

// Scope knows which addresses belong to a source.
type Scope struct {
	ignore           []string
	hosts, starts    map[string]bool
	include, exclude []addressPattern
}

type addressPattern struct {
	*regexp.Regexp
	ofPath bool
}

// NewScope returns the scope of a source. It fails for a pattern that is no regular expression.
func NewScope(s Source) (*Scope, error) {
	scope := &Scope{ignore: s.IgnoreParams, hosts: maps.Collect(asSet(hostsOf(s))), starts: map[string]bool{}}
	for _, text := range s.URLs {
		if address, err := scope.Normalise(text); err == nil {
			scope.starts[address] = true
		}
	}
	var err error
	if scope.include, err = compileAll(s.Include); err == nil {
		scope.exclude, err = compileAll(s.Exclude)
	}
	return scope, err
}

func compileAll(patterns []string) (list []addressPattern, err error) {
	for _, text := range patterns {
		expression, ofPath, err := compilePattern(text)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", text, err)
		}
		list = append(list, addressPattern{expression, ofPath})
	}
	return list, nil
}

func asSet(names iter.Seq[string]) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for name := range names {
			if !yield(name, true) {
				return
			}
		}
	}
}

// hostsOf returns the hosts of a source, with ports that are not the usual ones.
func hostsOf(s Source) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, text := range s.URLs {
			if host := HostOf(text); host != "" && !yield(host) {
				return
			}
		}
		for _, text := range s.Hosts {
			if host := HostOf("http://" + text); host != "" && !yield(host) {
				return
			}
		}
	}
}

// HostOf returns the host of an address, with the port that is not the usual one; "" when it is no address.
func HostOf(address string) string {
	normal, err := kbdocument.NormaliseURL(address)
	if err != nil {
		return ""
	}
	u, err := url.Parse(normal)
	if err != nil {
		return ""
	}
	return u.Host
}

// Normalise returns an address in the form in which two of the same page are equal.
func (s *Scope) Normalise(address string) (string, error) {
	return kbdocument.NormaliseURL(address, s.ignore...)
}

// Starts returns the addresses that a run begins with, in no order.
func (s *Scope) Starts() iter.Seq[string] { return maps.Keys(s.starts) }

// IsStart reports whether a run begins with an address.
func (s *Scope) IsStart(address string) bool { return s.starts[address] }

// HasHost reports whether a host belongs to the source.
func (s *Scope) HasHost(host string) bool { return s.hosts[host] }

// Has reports whether a normalised address belongs to the source.
func (s *Scope) Has(address string) bool {
	if s.starts[address] {
		return true
	}
	u, err := url.Parse(address)
	if err != nil || !s.hosts[u.Host] || matchesAny(s.exclude, address, u) {
		return false
	}
	return len(s.include) == 0 || matchesAny(s.include, address, u)
}

func matchesAny(patterns []addressPattern, address string, u *url.URL) bool {
	for _, p := range patterns {
		text := address
		if p.ofPath {
			text = u.RequestURI()
		}
		if p.MatchString(text) {
			return true
		}
	}
	return false
}

// Bounds beyond which an address is taken for a trap.
const (
	maxAddress  = 2048 // characters
	maxSegments = 30
	maxRepeated = 3   // of one segment
	maxVariants = 100 // queries of one path
)

// MaxLinks is how many links of one page count.
const MaxLinks = 2000

// trapOf returns why an address is taken for a trap, "" when it is not.
func trapOf(address string) string {
	if len(address) > maxAddress {
		return "address_too_long"
	}
	_, rest, _ := strings.Cut(address, "://")
	path, _, _ := strings.Cut(rest, "?")
	_, path, _ = strings.Cut(path, "/")
	count := map[string]int{}
	segments := strings.Split(path, "/")
	if len(segments) > maxSegments {
		return "too_many_segments"
	}
	for _, segment := range segments {
		if count[segment]++; segment != "" && count[segment] > maxRepeated {
			return "repeated_segments"
		}
	}
	return ""
}
