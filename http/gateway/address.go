package gateway

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddress returns the last hop that is not a trusted proxy, and whether
// the client came over HTTPS. Forwarding headers count only from a trusted peer.
func clientAddress(r *http.Request, trusted []netip.Prefix) (netip.Addr, bool) {
	peer := parseAddress(r.RemoteAddr)
	if !isTrusted(peer, trusted) {
		return peer, r.TLS != nil
	}
	secure := r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	client := peer
	for _, hop := range slices.Backward(hops) {
		addr := parseAddress(strings.TrimSpace(hop))
		if !addr.IsValid() {
			break // not an address: nothing before it can be believed
		}
		if client = addr; !isTrusted(addr, trusted) {
			break
		}
	}
	return client, secure
}

// parseAddress reads an address with or without a port.
func parseAddress(s string) netip.Addr {
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return withPort.Addr().Unmap().WithZone("")
	}
	addr, _ := netip.ParseAddr(strings.Trim(s, "[]"))
	return addr.Unmap().WithZone("")
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// isPublicAddress reports whether addr may be recorded: private addresses say
// something about the operator's network and nothing about the client.
func isPublicAddress(addr netip.Addr) bool {
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !sharedSpace.Contains(addr)
}

// shownAddress is addr for the log: empty when there is none.
func shownAddress(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}

// addressKey is the subject of limits by IP. The half of an IPv6 address that
// a client picks by itself does not make it another client.
func addressKey(addr netip.Addr) string {
	if addr.Is6() {
		if prefix, err := addr.Prefix(64); err == nil {
			return "ip:" + prefix.String()
		}
	}
	return "ip:" + addr.String()
}
