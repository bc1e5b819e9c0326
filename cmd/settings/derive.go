package settings

import (
	"fmt"
	"net/url"
)

// defaults is what a derived default may look at: the settings above it, and
// those that were given.
type defaults struct {
	cfg      *Config
	hostname string
	envFile  string // "" when there is none
}

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
func defaultAPIURL(d *defaults) string {
	scheme := "http"
	if d.cfg.HTTP.TLSCertFile != "" {
		scheme = "https"
	}
	return fmt.Sprintf("%s://localhost:%d/v2", scheme, d.cfg.HTTP.Port)
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
