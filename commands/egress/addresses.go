package egress

import "net/netip"

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

// kindOf tells what a plain address leads to.
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

// meant lists the addresses that a connection to addr may end at: itself, and
// the IPv4 address inside when a translator stands between.
func meant(addr netip.Addr) []netip.Addr {
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
