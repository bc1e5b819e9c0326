package content

import (
	"slices"
	"strings"

	"svc/commands/archive"
	"svc/domain/workspace"
)

// clashes drops entries that cannot be beside what stays: a name that differs in
// case only, or an endpoint that is taken. What is dropped lets its predecessor
// stay, which may be in the way of another entry: so it goes on until none is
// dropped.
func (p *plan) clashes() {
	f := p.finder()
	for _, e := range p.to.Entries {
		if other, taken := f.names[strings.ToLower(e.Path)]; taken && other != e.Path {
			f.drop(p, e, archive.ErrDuplicateObject, "slug", "differs from "+other+" in case only")
		} else {
			f.claim(p, e)
		}
	}
	for len(f.staying) > 0 {
		path := f.staying[0]
		f.staying = f.staying[1:]
		f.returned(p, path)
	}
	p.to.Entries = slices.DeleteFunc(p.to.Entries, func(e workspace.Entry) bool { return f.dropped[e.Path] })
	p.imported = slices.DeleteFunc(p.imported, func(path string) bool { return f.dropped[path] })
}

// finder knows what of a plan is in the way of what.
type finder struct {
	names     map[string]string          // paths that stay, by what some file systems take for them
	endpoints map[string]string          // the paths that have them
	entries   map[string]workspace.Entry // by their endpoint, those that are not dropped
	dropped   map[string]bool            // paths
	gone      map[string]bool            // paths
	staying   []string                   // paths of dropped entries whose predecessors are not looked at yet
}

func (p *plan) finder() *finder {
	f := &finder{names: map[string]string{}, endpoints: map[string]string{}, entries: map[string]workspace.Entry{}, dropped: map[string]bool{}, gone: map[string]bool{}}
	replaced := map[string]bool{}
	for _, path := range p.to.Deleted {
		f.gone[path] = true
	}
	for _, e := range p.to.Entries {
		replaced[e.Path] = true
	}
	for path, item := range p.of.Items {
		if f.gone[path] {
			continue
		}
		f.names[strings.ToLower(path)] = path
		if item.Endpoint != "" && !replaced[path] {
			f.endpoints[item.Endpoint] = path
		}
	}
	return f
}

// claim gives an entry its endpoint, or drops it because it is another's.
func (f *finder) claim(p *plan, e workspace.Entry) {
	if e.Endpoint == "" {
		return
	}
	if other, taken := f.endpoints[e.Endpoint]; taken {
		f.drop(p, e, "endpoint_in_use", "when.endpoint", "the endpoint "+e.Endpoint+" is that of "+other)
		return
	}
	f.endpoints[e.Endpoint], f.entries[e.Endpoint] = e.Path, e
}

func (f *finder) drop(p *plan, e workspace.Entry, code, field, message string) {
	p.fail(code, e.Path, field, message)
	f.dropped[e.Path] = true
	f.staying = append(f.staying, e.Path)
}

// returned gives the endpoint of a document that stays after all back to it.
func (f *finder) returned(p *plan, path string) {
	endpoint := p.of.Items[path].Endpoint
	if endpoint == "" || f.gone[path] {
		return
	}
	claimed, taken := f.entries[endpoint]
	f.endpoints[endpoint] = path
	if delete(f.entries, endpoint); taken {
		f.drop(p, claimed, "endpoint_in_use", "when.endpoint", "the endpoint "+endpoint+" is that of "+path)
	}
}
