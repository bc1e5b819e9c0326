package settings

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
)

// defaults is what a derived default may look at: the settings above it, and
// those that were given.
type defaults struct {
	cfg      *Config
	hostname string
	envFile  string // "" when there is none
}

// fixed is a default that the documentation explains beside it.
func fixed(text string) func(*defaults) string { return func(*defaults) string { return text } }

// noDefault leaves the field at zero; the documentation says what that means.
func noDefault(*defaults) string { return "" }

func defaultConfigFile(d *defaults) string { return d.envFile }

func defaultNodeName(d *defaults) string {
	if d.hostname == "" {
		return "localhost"
	}
	return d.hostname
}

// defaultAPIURL speaks HTTPS when the listener does.
func defaultAPIURL(d *defaults) string { return ownURL(d.cfg.HTTP, "localhost") }

// defaultInternalURL is where this node can reach itself: localhost, unless it
// listens on one address only.
func defaultInternalURL(d *defaults) string {
	host := "localhost"
	if addr, err := netip.ParseAddr(d.cfg.HTTP.Addr); err == nil && !addr.IsUnspecified() && addr != netip.MustParseAddr("127.0.0.1") {
		host = d.cfg.HTTP.Addr
	}
	return ownURL(d.cfg.HTTP, host)
}

func ownURL(h HTTP, host string) string {
	scheme := "http"
	if h.TLSCertFile != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(h.Port)) + "/v2"
}

func defaultConsoleURL(d *defaults) string { return d.cfg.HTTP.Origin() + "/console/" }

func defaultValidation(d *defaults) string {
	if d.cfg.Mail.Host != "" {
		return "email"
	}
	return "manual"
}

func defaultEmbedded(d *defaults) string {
	if len(d.cfg.Broker.URLs) > 0 {
		return "no"
	}
	return "yes"
}

func defaultReplicas(d *defaults) string {
	if d.cfg.Broker.Single() {
		return "1"
	}
	return "3"
}

func defaultCommitterEmail(d *defaults) string {
	u, err := url.Parse(d.cfg.HTTP.APIURL)
	if err != nil || u.Hostname() == "" {
		return "noreply@localhost"
	}
	return "noreply@" + u.Hostname()
}

func defaultUserAgent(d *defaults) string {
	return "svc-crawler/1 (+" + d.cfg.HTTP.Origin() + ")"
}
