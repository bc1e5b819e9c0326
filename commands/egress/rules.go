package egress

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
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

// Refused says why a request was not sent. It may be shown to the user who chose the address: it
// contains nothing else.
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
	for _, a := range embeddedAddresses(addr) {
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

// kind is what an address leads to.
type kind int

const (
	public   kind = iota
	internal      // this machine and its networks: EGRESS_ALLOW_PRIVATE opens them
	special       // nothing that answers a request: multicast, reserved, examples
	metadata      // the service of a cloud that hands out credentials
)

// metadataAddrs are those of the large clouds. The one of Azure looks public.
var metadataAddrs = addrs(
	"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
	"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
)

var internalRanges = ranges(
	"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
	"::1/128", "fc00::/7", "fe80::/10", "fec0::/10",
)

var specialRanges = ranges(
	"0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

// unicast is the part of IPv6 that is handed out. The rest is not public.
var unicast = netip.MustParsePrefix("2000::/3")

// nat64 holds IPv4 addresses for networks that speak IPv6 only.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// kindOf returns the kind of a plain address.
func kindOf(addr netip.Addr) kind {
	switch {
	case metadataAddrs[addr]:
		return metadata
	case within(internalRanges, addr):
		return internal
	case within(specialRanges, addr), addr.Is6() && !unicast.Contains(addr) && !nat64.Contains(addr):
		return special
	}
	return public
}

// embeddedAddresses lists the addresses that a connection to addr may end at: itself, and
// the IPv4 address inside when a translator stands between.
func embeddedAddresses(addr netip.Addr) []netip.Addr {
	addr = plain(addr)
	if !nat64.Contains(addr) {
		return []netip.Addr{addr}
	}
	bytes := addr.As16()
	return []netip.Addr{addr, netip.AddrFrom4([4]byte(bytes[12:]))}
}

func within(list []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range list {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

func addrs(texts ...string) map[netip.Addr]bool {
	set := map[netip.Addr]bool{}
	for _, text := range texts {
		set[netip.MustParseAddr(text)] = true
	}
	return set
}

func ranges(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// ownHosts are the addresses of the platform itself.
type ownHosts struct {
	origins map[string]bool // scheme://host:port
	hosts   map[string]bool // host:port that are reached whatever the rules say
	others  []family
}

// family is a name of the platform with anything but a dot for its first part.
type family struct{ scheme, suffix, port string }

func newOwnHosts(addresses, names []string) (o ownHosts, err error) {
	o = ownHosts{origins: map[string]bool{}, hosts: map[string]bool{}}
	for _, text := range addresses {
		err = errors.Join(err, o.add(text, true))
	}
	for _, text := range names {
		err = errors.Join(err, o.add(text, false))
	}
	return o, err
}

func (o *ownHosts) add(text string, always bool) error {
	u, err := url.Parse(text)
	if err != nil || usualPort[u.Scheme] == "" || u.Hostname() == "" {
		return fmt.Errorf("%q is no http or https address of the platform", text)
	}
	if suffix, many := strings.CutPrefix(u.Hostname(), "*"); many {
		o.others = append(o.others, family{u.Scheme, strings.ToLower(suffix), portOf(u)})
		return nil
	}
	o.origins[u.Scheme+"://"+hostPort(u)] = true
	if always {
		o.hosts[hostPort(u)] = true
	}
	return nil
}

// isHost reports whether connections to host and port end at the platform, whatever the
// rules say.
func (o ownHosts) isHost(host, port string) bool {
	return o.hosts[net.JoinHostPort(canonical(host), port)]
}

// contains reports whether u is an address of the platform.
func (o ownHosts) contains(u *url.URL) bool {
	if o.origins[u.Scheme+"://"+hostPort(u)] {
		return true
	}
	return slices.ContainsFunc(o.others, func(f family) bool {
		first, ok := strings.CutSuffix(canonical(u.Hostname()), f.suffix)
		return ok && first != "" && !strings.Contains(first, ".") && u.Scheme == f.scheme && portOf(u) == f.port
	})
}

// hostPort is where a URL leads, with the usual port when it names none.
func hostPort(u *url.URL) string { return net.JoinHostPort(canonical(u.Hostname()), portOf(u)) }

func portOf(u *url.URL) string { return cmp.Or(u.Port(), usualPort[u.Scheme]) }

// Own reports whether u is an address of the platform itself, its scheme
// included: what only the platform may see is not sent to another.
func (e *Egress) Own(u *url.URL) bool { return e.own.contains(u) }

// TrustingClient returns a client like Client's that does not verify
// certificates. Its connections are its own: no other request uses them.
func (e *Egress) TrustingClient(timeout time.Duration) *http.Client {
	return &http.Client{Transport: transport{e, true}, Timeout: timeout, CheckRedirect: checkRedirect}
}
