package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Rules say what may be reached besides public addresses, and what may not. An
// entry is a host (example.com, *.example.com or .example.com for everything
// below it, each perhaps with :port), an address, or a range such as
// 10.0.0.0/8. What is denied stays denied, whatever allows it.
type Rules struct {
	AllowPrivate bool // EGRESS_ALLOW_PRIVATE: loopback, private, shared and link-local addresses
	AllowHosts   []string
	DenyHosts    []string
}

// Refused is why a request was not sent. It is meant for whoever chose the
// address: nothing in it tells more than they know.
type Refused struct {
	Host string
	Why  string
}

// Error implements error.
func (e *Refused) Error() string { return "egress: " + e.Host + " is refused: " + e.Why }

// ruleset is Rules, read.
type ruleset struct {
	private     bool
	allow, deny list
}

type list struct {
	hosts  []hostRule
	ranges []netip.Prefix
}

type hostRule struct {
	name  string // lower case
	below bool   // every host below name, and not name itself
	port  string // "": any
}

func newRuleset(r Rules) (*ruleset, error) {
	allow, errAllow := newList(r.AllowHosts)
	deny, errDeny := newList(r.DenyHosts)
	return &ruleset{r.AllowPrivate, allow, deny}, errors.Join(errAllow, errDeny)
}

func newList(entries []string) (l list, err error) {
	for _, entry := range entries {
		text := strings.TrimSpace(entry)
		if prefix, ok := parseRange(text); ok {
			l.ranges = append(l.ranges, prefix)
			continue
		}
		rule, ok := parseHost(text)
		if !ok {
			err = errors.Join(err, fmt.Errorf("%q is neither a host nor a range", entry))
			continue
		}
		l.hosts = append(l.hosts, rule)
	}
	return l, err
}

// parseRange takes a plain address for the range of that address alone.
func parseRange(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		addr = plain(addr)
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(text)
	if err == nil && prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), err == nil
}

func parseHost(text string) (hostRule, bool) {
	name, port, _ := strings.Cut(text, ":")
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "*"), ".")
	rule := hostRule{name: canonical(bare), below: bare != name, port: port}
	ok := rule.name != "" && !strings.ContainsAny(bare, "*/ ") && strings.Trim(port, "0123456789") == ""
	return rule, ok
}

// canonical is a host name as it is compared.
func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// plain is addr without a zone, and as IPv4 when it is IPv4 in disguise.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

func (r hostRule) matches(host, port string) bool {
	if r.port != "" && r.port != port {
		return false
	}
	if r.below {
		return strings.HasSuffix(host, "."+r.name)
	}
	return host == r.name
}

func (l list) names(host, port string) bool {
	return slices.ContainsFunc(l.hosts, func(r hostRule) bool { return r.matches(host, port) })
}

func (l list) contains(addr netip.Addr) bool {
	return slices.ContainsFunc(l.ranges, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// name refuses a host that is denied by its name, and reports whether one is
// allowed by it.
func (r *ruleset) name(host, port string) (allowed bool, err error) {
	host = canonical(host)
	if host == "" {
		return false, &Refused{Host: "the request", Why: "it names no host"}
	}
	if r.deny.names(host, port) {
		return false, &Refused{Host: host, Why: "the host is denied"}
	}
	return r.allow.names(host, port), nil
}

// address refuses an address that host must not lead to. named tells that the
// host is allowed by its name, which opens everything but the metadata of a
// cloud: those hold credentials, and a name is not its owner's for ever.
func (r *ruleset) address(host string, addr netip.Addr, named bool) error {
	for _, a := range meant(addr) {
		if r.deny.contains(a) {
			return &Refused{Host: host, Why: "its address is denied"}
		}
		if r.allow.contains(a) {
			continue
		}
		switch kind := kindOf(a); {
		case kind == public, kind == internal && r.private, kind != metadata && named:
		default:
			return &Refused{Host: host, Why: "its address is not public"}
		}
	}
	return nil
}
