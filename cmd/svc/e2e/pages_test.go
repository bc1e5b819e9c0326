//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// site is a workspace with pages, and its owner.
type site struct {
	*person
	id, slug string
	base     string // address of its pages
}

// site makes a workspace whose visitors may execute automations and emit events. Its pages are below /pages/, or on a
// host of its own when the service has PAGES_HOST=.localhost.
func (p *person) site(t *testing.T, name string) *site {
	t.Helper()
	made := p.do(t, http.StatusCreated, "POST", "/v2/workspaces", map[string]any{"name": name})
	s := &site{person: p, id: made["id"].(string), slug: made["slug"].(string)}
	p.do(t, http.StatusOK, "PUT", s.path("/security"), map[string]any{"authorizations": map[string]any{"rules": []any{
		map[string]any{"action": "execute", "subject": "automations"}, map[string]any{"action": "create", "subject": "events"},
	}}})
	s.base = p.s.base + "/pages/" + s.slug
	for _, setting := range p.s.env {
		if setting == "PAGES_HOST=.localhost" {
			s.base = strings.Replace(p.s.base, "127.0.0.1", s.slug+".localhost", 1)
		}
	}
	return s
}

// path is the path of something of the workspace in the API.
func (s *site) path(rest string) string { return "/v2/workspaces/" + s.id + rest }

// page makes a page, given as YAML or as what becomes JSON, that everybody may read.
func (s *site) page(t *testing.T, doc any) (id string) {
	t.Helper()
	id = s.do(t, http.StatusCreated, "POST", s.path("/pages"), doc)["id"].(string)
	s.do(t, http.StatusOK, "POST", "/v2/pages/"+id+"/permissions", map[string]any{"target": map[string]any{"public": true}, "permissions": map[string]any{"policies": map[string]any{"read": true}}})
	return id
}

// automation makes an automation, given as YAML.
func (s *site) automation(t *testing.T, doc string) {
	t.Helper()
	s.do(t, http.StatusCreated, "POST", s.path("/automations"), doc)
}

// emit emits an event of the owner to the session of a visitor.
func (s *site) emit(t *testing.T, sessionID, kind string, payload any) {
	t.Helper()
	s.do(t, http.StatusCreated, "POST", s.path("/events"), map[string]any{"events": []any{
		map[string]any{"type": kind, "payload": payload, "target": map[string]any{"sessionId": sessionID}},
	}})
}

// pageEvent is an event that a page caused.
type pageEvent struct {
	Type    string
	Payload map[string]any
	Source  struct{ SessionID, UserID, SocketID string }
}

// events returns the events of a type, oldest first.
func (s *site) events(t *testing.T, kind string) []pageEvent {
	t.Helper()
	got := s.ask(t, "GET", s.path("/events?types="+kind+"&sort=asc&limit=100"), nil)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
	var found struct{ Result struct{ Events []pageEvent } }
	require.NoError(t, json.Unmarshal(got.body, &found), "%s", got.body)
	return found.Result.Events
}

// awaitEvents waits until there are n events of a type.
func (s *site) awaitEvents(t *testing.T, kind string, n int) (all []pageEvent) {
	t.Helper()
	require.Eventually(t, func() bool {
		all = s.events(t, kind)
		return len(all) >= n
	}, patience, 20*time.Millisecond, "%d events %s", n, kind)
	require.Len(t, all, n, kind)
	return all
}

// visitPage goes to a page of a site.
func (b *tab) visitPage(s *site, path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(s.base + path))
}

// visitLive goes to a page of a site and waits until its feed is open.
func (b *tab) visitLive(s *site, path string) {
	b.t.Helper()
	b.visitPage(s, path)
	b.awaitLive()
}

func (b *tab) awaitLive() {
	b.t.Helper()
	b.await(`document.querySelector('#svc-page[data-connected]')`, "its feed is open")
}

// awaitBlockText waits until the block at a path has exactly this text.
func (b *tab) awaitBlockText(block, text string) {
	b.t.Helper()
	quoted, _ := json.Marshal(text)
	b.await(`document.querySelector('[data-block="`+block+`"]')?.innerText.trim().replace(/\s+/g, ' ') === `+string(quoted), "block ", block)
}

// sessionOf is the id of the session of a visitor, which an event that they cause tells.
func (b *tab) sessionOf(s *site, button, kind string) string {
	b.t.Helper()
	before := len(s.events(b.t, kind))
	b.click("button", button)
	return s.awaitEvents(b.t, kind, before+1)[before].Source.SessionID
}

// cuttableProxy is what a browser reaches the service over. It can be cut.
type cuttableProxy struct {
	port string
	to   string

	mu    sync.Mutex
	open  map[net.Conn]bool
	isCut bool
}

// newCuttableProxy makes one. The pages of a site are reached over it by its port.
func (s *service) newCuttableProxy(t *testing.T) *cuttableProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &cuttableProxy{port: strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), to: strings.TrimPrefix(s.base, "http://"), open: map[net.Conn]bool{}}
	var copies sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut(true)
		copies.Wait()
	})
	copies.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", w.to)
			if err != nil || !w.add(from, to) {
				_ = from.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				copies.Go(func() {
					_, _ = io.Copy(pair[0], pair[1]) // an end of either ends both
					_, _ = from.Close(), to.Close()
				})
			}
		}
	})
	return w
}

// add notes a connection; it reports false while the wire is cut.
func (w *cuttableProxy) add(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range ends {
		if w.isCut {
			_ = end.Close()
		} else {
			w.open[end] = true
		}
	}
	return !w.isCut
}

// cut cuts the wire, or joins it again.
func (w *cuttableProxy) cut(isCut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = isCut
	for end := range w.open {
		if isCut {
			_ = end.Close()
			delete(w.open, end)
		}
	}
}

// changeRequests changes the addresses of requests that have a pattern, until stop. The page does not know of it.
func (b *tab) changeRequests(pattern string, change func(address string) string) (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	paused := chromedp.Events(ctx, fetch.RequestPaused)
	b.hold(pattern)
	var changing sync.WaitGroup
	changing.Go(func() {
		for e, err := range paused {
			if err != nil {
				return
			}
			_, _ = chromedp.Call(b.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID, URL: change(e.Request.URL)}) // its effect is waited for
		}
	})
	return func() {
		b.t.Helper()
		cancel()
		changing.Wait() // a second one would get the same requests
		b.release()
	}
}

// cookie is the value of a cookie for an address; "" when there is none.
func (b *tab) cookie(address, name string) string {
	b.t.Helper()
	for _, c := range call(b, network.GetCookies, network.GetCookiesParams{URLs: []string{address}}).Cookies {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}
