//go:build e2e

package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// browser is the one Chromium of all tests. Each tab has a profile of its own in it.
var browser struct {
	sync.Mutex
	ctx    context.Context
	stop   func()
	netLog string // where Chromium writes every request that it sends
}

// openBrowser starts Chromium once, which must be there.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	browser.Lock()
	defer browser.Unlock()
	if browser.ctx != nil {
		return browser.ctx
	}
	program, err := exec.LookPath("chromium-headless-shell") // the same engine without windows of its own, which take more CPU than the pages
	if err != nil {
		program, err = exec.LookPath("chromium")
	}
	require.NoError(t, err, "make e2e needs Chromium: apt-get install chromium-headless-shell")
	dir, err := os.MkdirTemp("", "svc-e2e-browser")
	require.NoError(t, err)
	browser.netLog = filepath.Join(dir, "netlog.json")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.Flag("log-net-log", browser.netLog),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost , EXCLUDE *.localhost"),
		chromedp.Flag("allow-pre-commit-input", true), // else keys are dropped until the first frame is drawn, which a busy machine does late
		chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", false), chromedp.Flag("lang", "en-US"))
	allocated, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(allocated)
	require.NoError(t, chromedp.Do(ctx), "Chromium does not start")
	browser.ctx = ctx
	browser.stop = func() {
		_ = chromedp.Cancel(ctx) // closes the browser in good order, so that its log is whole
		closeTab()
		release()
	}
	return ctx
}

// closeBrowser ends Chromium and returns the addresses it asked for that are none of ours.
func closeBrowser() (elsewhere []string, err error) {
	if browser.ctx == nil {
		return nil, nil
	}
	browser.stop()
	defer os.RemoveAll(filepath.Dir(browser.netLog))
	return requestsElsewhere(browser.netLog)
}

// tab is a page in a profile of its own: cookies and stores are shared with nobody.
type tab struct {
	t   *testing.T
	s   *service
	ctx context.Context

	mu      sync.Mutex
	faults  []string       // what must not happen: requests to elsewhere, exceptions, violations of the policy
	allowed []string       // parts of faults that a test expects
	refused int            // faults that were expected
	sent    []*sentRequest // to the service
}

// sentRequest is a request that the page sent.
type sentRequest struct {
	id, method, path string
	status           int64 // 0: no answer yet
}

// open opens a page in a new profile: English, light, without motion, 1280 x 800.
func (s *service) open(t *testing.T) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(openBrowser(t), chromedp.WithNewBrowserContext())
	b := &tab{t: t, s: s, ctx: ctx}
	require.NoError(t, chromedp.Do(ctx))
	b.watch()
	b.resize(1280, 800)
	b.prefer("light")
	t.Cleanup(func() {
		if t.Failed() {
			b.keepFailure()
		}
		b.mu.Lock()
		faults := b.faults
		b.mu.Unlock()
		closeTab()
		if !t.Failed() {
			require.Empty(t, faults, "what the page must not do")
		}
	})
	return b
}

// another opens a second page in the same profile: same cookies, same shared worker.
func (b *tab) another() *tab {
	b.t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx)
	other := &tab{t: b.t, s: b.s, ctx: ctx}
	require.NoError(b.t, chromedp.Do(ctx))
	other.watch()
	other.resize(1280, 800)
	other.prefer("light")
	b.t.Cleanup(func() {
		closeTab()
		other.mu.Lock()
		defer other.mu.Unlock()
		require.Empty(b.t, other.faults, "what the page must not do")
	})
	return other
}

// watch notes what the page sends and what goes wrong in it.
func (b *tab) watch() {
	// Pages of other tests would take the focus, and the keys of this one with it.
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	requests := chromedp.Events(b.ctx, network.RequestWillBeSent)
	responses := chromedp.Events(b.ctx, network.ResponseReceived)
	console := chromedp.Console(b.ctx)
	go func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			b.noteRequest(e)
		}
	}()
	go func() {
		for e, err := range responses {
			if err != nil {
				return
			}
			b.mu.Lock()
			for _, r := range b.sent {
				if r.id == string(e.RequestID) {
					r.status = e.Response.Status
				}
			}
			b.mu.Unlock()
		}
	}()
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			// That an answer was a refusal, or that none came, the browser logs as an error of the network.
			if m.Source != "network" && (m.Type == chromedp.ConsoleError || m.IsException()) {
				b.fault(m.String())
			}
		}
	}()
}

// pdfViewer is the part of Chromium that shows documents.
const pdfViewer = "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/"

func (b *tab) noteRequest(e network.EventRequestWillBeSent) {
	address := e.Request.URL
	path, ours := strings.CutPrefix(address, b.s.base)
	if !ours {
		path, ours = b.s.onOwnHost(address)
	}
	switch {
	case ours:
		b.mu.Lock()
		b.sent = append(b.sent, &sentRequest{id: string(e.RequestID), method: e.Request.Method, path: path})
		b.mu.Unlock()
	case strings.HasPrefix(address, "data:"), strings.HasPrefix(address, "blob:"), strings.HasPrefix(address, "about:"):
	case strings.HasPrefix(address, pdfViewer):
	default:
		b.fault("request to another host: " + address)
	}
}

func (b *tab) fault(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, part := range b.allowed {
		if strings.Contains(text, part) {
			b.refused++
			return
		}
	}
	b.faults = append(b.faults, text)
}

// allow lets the page do something that it must not do elsewhere: part of the message.
func (b *tab) allow(part string) *tab {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = append(b.allowed, part)
	return b
}

// requests returns what the page has sent whose method and path begin so: "POST /v2/login".
func (b *tab) requests(beginning string) (found []sentRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.sent {
		if strings.HasPrefix(r.method+" "+r.path, beginning) {
			found = append(found, *r)
		}
	}
	return found
}

// do runs steps of chromedp.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, steps...))
}

// call sends a command of the protocol.
func call[P, R any](b *tab, cmd cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, cmd, params)
	require.NoError(b.t, err)
	return result
}

// eval returns what an expression is in the page, after a promise is kept.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, "%s", expression)
	return v
}

// await waits until an expression holds in the page.
func (b *tab) await(expression string, what ...any) {
	b.t.Helper()
	b.until(fmt.Sprint(append([]any{expression}, what...)...), func(ctx context.Context) bool {
		held, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!!(`+expression+`)`, chromedp.EvalAwaitPromise))
		return err == nil && held
	})
}

// until waits until a condition holds, and says what was waited for when it never does.
func (b *tab) until(what string, holds func(context.Context) bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for !holds(ctx) {
		b.mu.Lock()
		faults := b.faults
		b.mu.Unlock()
		require.Empty(b.t, faults, "what the page must not do, while waiting for %s", what)
		select {
		case <-ctx.Done():
			require.Fail(b.t, "never happened: "+what, "at %s\n%s", b.where(), b.outline())
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// visit goes to an address below /console/.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.s.base + "/console/" + path))
	b.await(`document.querySelector('h1, [role=dialog] h2')`, "the screen of ", path)
}

// where is the address of the page, without that of the service.
func (b *tab) where() string {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	at, _ := chromedp.Run(ctx, chromedp.Location())
	return strings.TrimPrefix(at, b.s.base)
}

// awaitAt waits until the page is at an address below /console/.
func (b *tab) awaitAt(path string) {
	b.t.Helper()
	b.until("the address /console/"+path, func(context.Context) bool { return b.where() == "/console/"+path })
}

// signIn puts the cookie of a new session of somebody into the profile.
func (b *tab) signIn(p *person) {
	b.t.Helper()
	in := (&person{s: p.s}).ask(b.t, "POST", "/v2/login", map[string]any{"email": p.email, "password": p.password})
	require.Equal(b.t, 200, in.StatusCode, "%s", in.body)
	for _, c := range in.Cookies() {
		call(b, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.s.base + "/", Path: "/", HTTPOnly: &c.HttpOnly, SameSite: network.CookieSameSiteStrict})
	}
}

// open opens a page in a new profile in which the person is signed in.
func (p *person) open(t *testing.T) *tab {
	t.Helper()
	b := p.s.open(t)
	b.signIn(p)
	return b
}

// resize changes the size of the page, in CSS pixels.
func (b *tab) resize(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// prefer sets the colour scheme of the system. Motion is always reduced.
func (b *tab) prefer(scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// element is a node of the page by its role and accessible name, as somebody finds it who
// does not see the page.
type element struct {
	Role, Name string
	node       cdp.BackendNodeID
}

func textOf(v *accessibility.Value) string {
	var text string
	if v != nil {
		_ = json.Unmarshal([]byte(v.Value), &text)
	}
	return text
}

// find returns the elements with a role and a name; "" is any.
func (b *tab) find(ctx context.Context, role, name string) (found []element, err error) {
	root, err := chromedp.Call(ctx, dom.GetDocument, dom.GetDocumentParams{})
	if err != nil {
		return nil, err
	}
	tree, err := chromedp.Call(ctx, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{NodeID: root.Root.NodeID, AccessibleName: name, Role: role})
	if err != nil {
		return nil, err
	}
	for _, n := range tree.Nodes {
		if !n.Ignored && n.BackendDOMNodeID != 0 {
			found = append(found, element{textOf(n.Role), textOf(n.Name), n.BackendDOMNodeID})
		}
	}
	return found, nil
}

// see waits for an element with a role and a name. The first one is taken when there are
// several.
func (b *tab) see(role, name string) (seen element) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s %q", role, name), func(ctx context.Context) bool {
		found, err := b.find(ctx, role, name)
		if err != nil || len(found) == 0 {
			return false
		}
		seen = found[0]
		return true
	})
	return seen
}

// has reports whether there is an element with a role and a name now.
func (b *tab) has(role, name string) bool {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	found, err := b.find(ctx, role, name)
	require.NoError(b.t, err)
	return len(found) > 0
}

// gone waits until there is no element with a role and a name.
func (b *tab) gone(role, name string) {
	b.t.Helper()
	b.until(fmt.Sprintf("no %s %q", role, name), func(ctx context.Context) bool {
		found, err := b.find(ctx, role, name)
		return err == nil && len(found) == 0
	})
}

// seeText waits until the page shows a text.
func (b *tab) seeText(text string) {
	b.t.Helper()
	quoted, _ := json.Marshal(text)
	b.await(`document.body.innerText.includes(`+string(quoted)+`)`, "")
}

// readyToClick waits until an element stays where it is, and notes when it is clicked. A click that meets something else, because
// the page moved after all, does nothing. An element without a place, because the page drew another one instead, is not waited for.
const readyToClick = `async function () {
	const e = this.nodeType === Node.ELEMENT_NODE ? this : this.parentElement;
	e.scrollIntoView({ block: 'nearest', inline: 'nearest' });
	const place = () => { const { x, y, width, height } = e.getBoundingClientRect(); return [x, y, width, height].join() };
	for (let last; last !== place(); await new Promise((done) => setTimeout(done, 20))) last = place();
	if (!e.getClientRects().length) return false;
	window.clicked = false;
	e.addEventListener('click', () => (window.clicked = true), { once: true, capture: true });
	const own = [e, ...(e.labels ?? [])], once = { once: true, capture: true };
	const stop = (event) => { event.stopImmediatePropagation(); event.preventDefault() };
	addEventListener('pointerdown', (event) => {
		if (own.some((one) => event.composedPath().includes(one))) return;
		stop(event);
		for (const kind of ['mousedown', 'click']) addEventListener(kind, stop, once);
	}, once);
	return true;
}`

// click clicks an element with a role and a name in its middle. A page that moves beneath the pointer
// is clicked again, and an element that the page draws anew before the click is looked for again.
func (b *tab) click(role, name string) {
	b.t.Helper()
	for misses := 0; misses < 3; misses++ {
		var arrived bool
		b.until(fmt.Sprintf("a place of %s %q", role, name), func(ctx context.Context) bool {
			found, err := b.find(ctx, role, name)
			if err != nil || len(found) == 0 {
				return false
			}
			err = chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
				arrived, err = clickNode(ctx, t, found[0].node)
				return err
			}))
			return err == nil
		})
		if arrived {
			return
		}
	}
}

// clickNode clicks in the middle of a node, and reports whether the click reached it; so it did when
// the node, or its page, is gone after it. There is no click when there is an error.
func clickNode(ctx context.Context, t *chromedp.Target, node cdp.BackendNodeID) (arrived bool, err error) {
	object, err := cdp.Call(ctx, t, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node})
	if err != nil {
		return false, err
	}
	ready, err := cdp.Call(ctx, t, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: readyToClick, ObjectID: object.Object.ObjectID, AwaitPromise: new(true), ReturnByValue: new(true),
	})
	if err != nil {
		return false, err
	}
	if string(ready.Result.Value) != "true" {
		return false, errors.New("it has no place on the page")
	}
	quads, err := cdp.Call(ctx, t, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: node})
	if err != nil {
		return false, err
	}
	if len(quads.Quads) == 0 {
		return false, errors.New("it has no place on the page")
	}
	q := quads.Quads[0]
	if _, err := chromedp.MouseClickXY((q[0]+q[4])/2, (q[1]+q[5])/2)(ctx, t); err != nil {
		return false, err
	}
	reached, err := cdp.Call(ctx, t, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: `function () { return window.clicked !== false || !this.isConnected }`, ObjectID: object.Object.ObjectID, ReturnByValue: new(true),
	})
	return err != nil || string(reached.Result.Value) != "false", nil //nolint:nilerr // the page is gone, and the object with it
}

// fill replaces the text of a field with this label.
func (b *tab) fill(label, text string) {
	b.t.Helper()
	b.fillAs("textbox", label, text)
}

// fillAs is fill for fields with another role: a spinbutton, a searchbox.
func (b *tab) fillAs(role, label, text string) {
	b.t.Helper()
	at := b.see(role, label)
	call(b, dom.Focus, dom.FocusParams{BackendNodeID: at.node})
	b.press("Control+a")
	call(b, input.InsertText, input.InsertTextParams{Text: text})
}

// write types a text, key by key, where the focus is.
func (b *tab) write(text string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(text, asPressed))
}

var namedKeys = map[string]string{
	"Enter": kb.Enter, "Escape": kb.Escape, "Tab": kb.Tab, "Backspace": kb.Backspace, "Delete": kb.Delete, "ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown,
	"ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight, "Home": kb.Home, "End": kb.End, "PageUp": kb.PageUp, "PageDown": kb.PageDown, "F8": kb.F8, "Space": " ",
}

var modifiers = map[string]chromedp.Modifier{
	"Control": chromedp.ModifierCtrl, "Shift": chromedp.ModifierShift, "Alt": chromedp.ModifierAlt, "Meta": chromedp.ModifierMeta,
}

// asPressed makes the browser drop the character of a key that the page has taken for itself,
// as it does for a keyboard: "n" opens a dialog and is not typed into it.
func asPressed(k *input.DispatchKeyEventParams) {
	if k.Type == kb.KeyDown {
		k.Type = kb.KeyRawDown
	}
}

// press presses keys one after the other: "g", "a", "Control+k", "Shift+Tab".
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		parts := strings.Split(key, "+")
		last := parts[len(parts)-1]
		if key == "+" {
			parts, last = nil, "+"
		}
		if named, ok := namedKeys[last]; ok {
			last = named
		}
		var held []chromedp.Modifier
		for _, name := range parts[:max(0, len(parts)-1)] {
			held = append(held, modifiers[name])
		}
		b.do(chromedp.KeyEvent(last, chromedp.KeyModifiers(held...), asPressed))
	}
}

// deepFocus is the element that has the focus, also inside of shadow roots.
const deepFocus = `(() => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e })()`

// focused returns the role and the name of what has the focus.
func (b *tab) focused() element {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	got, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: deepFocus})
	require.NoError(b.t, err)
	if got.Result.ObjectID == "" {
		return element{}
	}
	tree, err := chromedp.Call(ctx, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: got.Result.ObjectID, FetchRelatives: new(bool)})
	require.NoError(b.t, err)
	return element{Role: textOf(tree.Nodes[0].Role), Name: textOf(tree.Nodes[0].Name), node: tree.Nodes[0].BackendDOMNodeID}
}

// awaitFocus waits until an element with a role and a name has the focus.
func (b *tab) awaitFocus(role, name string) {
	b.t.Helper()
	b.until(fmt.Sprintf("focus on %s %q", role, name), func(context.Context) bool {
		at := b.focused()
		return at.Role == role && at.Name == name
	})
}

// valueOf is the text of a field with this label.
func (b *tab) valueOf(label string) string {
	b.t.Helper()
	at := b.see("textbox", label)
	node := call(b, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: at.node})
	got := call(b, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: `function() { return this.value }`, ObjectID: node.Object.ObjectID, ReturnByValue: new(true)})
	var text string
	_ = json.Unmarshal([]byte(got.Result.Value), &text)
	return text
}

// outline is what the page consists of for those who do not see it, for messages.
func (b *tab) outline() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), 5*time.Second)
	defer cancel()
	found, err := b.find(ctx, "", "")
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, e := range found {
		if e.Name != "" && e.Role != "InlineTextBox" {
			lines = append(lines, fmt.Sprintf("%s %q", e.Role, e.Name))
		}
	}
	return strings.Join(lines[:min(len(lines), 150)], "\n")
}

// screenshot is a picture of what is visible.
func (b *tab) screenshot() []byte {
	b.t.Helper()
	got := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	return got.Data
}

// keepFailure keeps a picture of a page on which a test failed.
func (b *tab) keepFailure() {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return
	}
	name := filepath.Join(outputDir(), "failed", strings.ReplaceAll(b.t.Name(), "/", "-")+".png")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
		_ = os.WriteFile(name, picture, 0o644)
		b.t.Logf("the page when it failed: %s", name)
	}
}

// reasonOf is why a button cannot be used, as it is told to those who do not see the page.
func (b *tab) reasonOf(button string) string {
	b.t.Helper()
	quoted, _ := json.Marshal(button)
	return eval[string](b, `(() => {
		const found = [...document.querySelectorAll('button[aria-disabled=true]')].find((one) => one.innerText.trim() === `+string(quoted)+`);
		return document.getElementById(found?.getAttribute('aria-describedby'))?.textContent ?? '';
	})()`)
}
