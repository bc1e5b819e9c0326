package gitsync

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxHops is how often a remote may send us on.
const maxHops = 5

func isRedirect(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow moves base to where a discovery is sent on to. It refuses before
// anything is sent there.
func (w *httpWire) follow(answer *http.Response, service string, hop int) error {
	to, err := answer.Location()
	if err != nil {
		return garbled(nil, "it redirects to nowhere")
	}
	host := w.session.clean(to.Host)
	repository, ok := strings.CutSuffix(to.Path, "/info/refs")
	switch {
	case to.Host == "":
		return garbled(nil, "it redirects to nowhere")
	case w.settled:
		return w.session.redirected(host, "only the first question may be")
	case hop >= maxHops:
		return w.session.redirected(host, "that is one redirect too many")
	case to.Scheme != "https" && (to.Scheme != "http" || w.base.Scheme == "https"):
		return w.session.redirected(host, "it must stay with https")
	case w.hasCredentials() && !w.mayReceive(to):
		return w.session.redirected(host, "the credentials are not for that host; allow it in redirectHosts")
	case !ok || to.Query().Get("service") != service:
		return w.session.redirected(host, "there is no repository")
	}
	w.moveTo(&url.URL{Scheme: to.Scheme, Host: to.Host, Path: repository})
	return nil
}

func (w *httpWire) hasCredentials() bool {
	return w.session.remote.Password != "" || w.session.remote.User != ""
}

// mayReceive reports whether the credentials may go to a host: to the one of the
// repository, to those listed, and between the two names of Azure DevOps.
func (w *httpWire) mayReceive(to *url.URL) bool {
	own := w.session.target
	host, port := strings.ToLower(to.Hostname()), orElse(to.Port(), ports[to.Scheme])
	sameHost := host == strings.ToLower(own.host)
	upgraded := own.scheme == "http" && own.port == ports["http"] && to.Scheme == "https" && port == ports["https"]
	if sameHost && (port == own.port || upgraded) {
		return true
	}
	if isAzure(own.host) && isAzure(host) && port == ports["https"] {
		return true
	}
	return slices.ContainsFunc(w.session.remote.RedirectHosts, func(allowed string) bool {
		allowed = strings.ToLower(allowed)
		return allowed == host || allowed == host+":"+port
	})
}

func isAzure(host string) bool {
	host = strings.ToLower(host)
	return host == "dev.azure.com" || strings.HasSuffix(host, ".visualstudio.com")
}
