package pages

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/page"
	"svc/domain/value"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/feed"
)

// Rhythm and bounds of feeds.
const (
	rightsPeriod = 4 * time.Second // between checks of the rights of the visitor: it may take 5 s
	storePeriod  = ViewLifetime / 3
	maxBehind    = 1000
	maxBytes     = 5 << 20
)

// follow handles GET …/_svc/feed: what changes in a view, as frames of server-sent events.
func (p *Pages) follow(r *http.Request) (any, error) {
	at, err := p.place(r)
	if err != nil {
		return nil, err
	}
	v, err := p.visitorOf(r, at)
	if err != nil {
		return nil, err
	}
	if err := v.ensureSession(); err != nil {
		return nil, err
	}
	query := gateway.NewQuery(r)
	id, socket, from := query.Required("view"), query.Text("socket"), query.Text("fromSeq")
	if err := query.Err(); err != nil {
		return nil, err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		from = last
	}
	live, err := v.openView(r.Context(), id, socket)
	if err != nil {
		return nil, err
	}
	if live != nil && from != "" && live.record.Seq == "" {
		live = nil // the browser shows a state whose record is gone
	}
	leave, err := p.feeds.enter(v.caller.SessionID)
	if err != nil {
		return nil, err
	}
	f := &pageFeed{liveView: live, visit: v}
	if live != nil {
		if err := live.begin(r.Context()); err != nil {
			leave()
			return nil, err
		}
		f.sent = live.at
		if from != "" {
			if f.sent, err = domain.ParsePosition(from); err != nil {
				leave()
				return nil, domain.Refuse(domain.CodeInvalidParameter, "fromSeq is no position of the feed")
			}
		}
	}
	stream := gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		defer leave()
		return nil, f.serve(w, r)
	}}
	if v.cookie != nil {
		stream.Session = v.caller.SessionID
	}
	return stream, nil
}

// begin stores the record of a view that follows from its address, when its feed opens for the first time.
func (l *liveView) begin(ctx context.Context) error {
	if l.record.Seq == "" {
		l.record.SessionID = l.caller.SessionID
		l.at = l.Feed.Now()
		l.record.Seq = l.at.Token()
	}
	return l.putView(ctx, l.key, l.record)
}

// filter returns which events the view listens to.
func (l *liveView) filter(listeners []listener) *feed.Filter {
	types := []string{} // none: there is nothing to listen to, and no event is called so
	for _, one := range listeners {
		if !slices.Contains(types, one.event) {
			types = append(types, one.event)
		}
	}
	if len(types) == 0 {
		types = append(types, "-")
	}
	return &feed.Filter{Types: types}
}

// isFor reports whether an event is for the visitor of the view: it comes from their session, or is sent to them.
func (l *liveView) isFor(e *feed.Event) bool {
	t := e.Target
	if t != nil && t.CurrentSocket && e.Source.SocketID != l.socket {
		return false
	}
	session := l.caller.SessionID
	switch {
	case e.Source.SessionID == session:
		return true
	case t == nil:
		return false
	case t.SessionID == session || t.UserID != "" && t.UserID == l.caller.UserID:
		return true
	case t.UserTopic != "":
		return l.hasJoined(t.UserTopic)
	}
	return false
}

func (l *liveView) hasJoined(topic string) (joined bool) {
	err := l.ReadModel.View(func(rd projections.Reader) (err error) {
		joined, err = projections.Topics{}.IsMember(rd, l.record.WorkspaceID, topic, l.caller.UserID)
		return err
	})
	return err == nil && joined
}

// catchUp folds the stored events in that came since the view began.
func (l *liveView) catchUp(ctx context.Context) error {
	if l.record.Seq == "" {
		return nil
	}
	out := l.render()
	out.main(l.record.PageID, "")
	err := l.Feed.Walk(ctx, feed.Range{WorkspaceID: l.record.WorkspaceID, After: l.at, Filter: l.filter(out.listeners)}, func(e *feed.Event) (bool, error) {
		if l.isFor(e) {
			if _, changed := l.applyEvent(e, out.listeners); len(changed) > 0 {
				out = l.render()
				out.main(l.record.PageID, "")
			}
		}
		return true, nil
	})
	return err
}

// frame is what the browser is told.
type frame struct {
	kind string // patch, toast, notify, open, close, redirect, reload
	data any
}

// applyEvent folds an event into the state of the view. It returns the frames that are no patches, and the paths of
// what has changed.
func (l *liveView) applyEvent(e *feed.Event, listeners []listener) (frames []frame, changed []string) {
	parsed, err := value.ParseJSON(string(e.Payload))
	payload, ok := parsed.(*value.Object)
	if err != nil || !ok {
		payload = value.NewObject()
	}
	for _, one := range listeners {
		if one.event != e.Type {
			continue
		}
		switch one.does {
		case "update":
			if target, ok := payload.At("redirect").(*value.Object); ok {
				if f, ok := redirectFrame(target); ok {
					frames = append(frames, f)
				} else {
					l.recordError("InvalidRedirect", "a page can redirect to http(s) addresses and paths only", map[string]any{"page": l.record.Slug})
				}
			}
			if l.foldData(one.path, payload) {
				changed = append(changed, one.path)
			}
		case "row":
			if data := mergeRow(l.tree, one.path, payload); data != nil && l.foldData(one.path, data) {
				changed = append(changed, one.path)
			}
		case "toast":
			frames = append(frames, frame{"toast", json.RawMessage(value.JSON(toastOf(l.view.Language, payload), ""))})
		case "notify":
			text := func(key string) string { s, _ := l.view.Language.Resolve(payload.At(key)); return s }
			frames = append(frames, frame{"notify", map[string]string{"title": text("title"), "body": text("body"), "icon": imageURL(text("icon"))}})
		case "open", "close":
			frames = append(frames, frame{one.does, map[string]string{"block": one.path}})
		}
	}
	return frames, changed
}

// foldData folds data into a block or the page, and reports whether it has changed.
func (l *liveView) foldData(path string, data *value.Object) bool {
	err := l.view.Fold(l.tree, path, data)
	if errors.Is(err, page.ErrTooLarge) {
		l.recordError("ViewTooLarge", err.Error(), map[string]any{"page": l.record.Slug, "block": path})
	}
	if err != nil {
		return false
	}
	l.view.Now = l.Now()
	l.tree = l.view.Expand()
	return true
}

// toastOf returns what a toast shows: texts only.
func toastOf(language page.Language, payload *value.Object) *value.Object {
	content, _ := language.Resolve(payload.At("content"))
	o := value.NewObject("content", content, "type", "info", "duration", 5000.0)
	if kind, ok := payload.At("type").(string); ok {
		o.Set("type", oneOf(kind, "info", "success", "warning", "error"))
	}
	if ms, ok := payload.At("duration").(float64); ok && ms > 0 {
		o.Set("duration", min(ms, 600_000))
	}
	for _, key := range []string{"key", "closed"} {
		switch v := payload.At(key).(type) {
		case string, bool:
			o.Set(key, v)
		}
	}
	return o
}

// redirectFrame sends the browser elsewhere; ok is false when it may not go there.
func redirectFrame(target *value.Object) (frame, bool) {
	address, _ := target.At("url").(string)
	link := externalLink(address)
	if link == "" {
		return frame{}, false
	}
	data := map[string]any{"url": link}
	if locale, ok := target.At("locale").(string); ok && page.IsLanguageTag(locale) {
		data["locale"] = locale
	}
	if target.At("method") == "POST" || target.At("method") == "post" {
		if link[0] != '/' {
			return frame{}, false // a form is sent to the same origin only
		}
		data["method"] = "POST"
		if body := objectOf(target.At("body")); body != nil {
			data["body"] = json.RawMessage(value.JSON(body, ""))
		}
	}
	if target.At("push") == true {
		data["push"] = true
	}
	return frame{"redirect", data}, true
}

// pageFeed is one connection that frames are written to.
type pageFeed struct {
	*liveView // nil: the view is gone
	*visit

	out       *handler.StreamWriter
	sent      domain.Position // the browser has what is up to it
	listeners []listener
	checked   time.Time // rights were checked
	wrote     time.Time
	kept      time.Time // the record was stored
}

var errOver = errors.New("the feed is over")

// serve writes frames until the browser leaves, or the visitor may not read the page any more.
func (f *pageFeed) serve(w http.ResponseWriter, r *http.Request) error {
	f.out = handler.NewStreamWriter(w, r)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	if f.visit.cookie != nil {
		h.Add("Set-Cookie", f.visit.cookie.String())
	}
	if f.liveView == nil {
		_ = f.write("retry: 2000\n\nevent: reload\ndata: {}\n\n") // the browser has left if it fails
		return nil
	}
	now := f.visit.Now()
	f.checked, f.kept = now, now
	if err := f.write("retry: 2000\n\n"); err != nil {
		return nil
	}
	l := f.liveView
	f.renderListeners()
	ctx := r.Context()
	defer func() { // it is kept for a while after the feed has closed
		_ = l.putView(context.WithoutCancel(ctx), l.key, l.record)
	}()
	err := l.Feed.Follow(ctx, feed.Following{
		WorkspaceID: l.record.WorkspaceID, After: l.at, CurrentFilter: func() *feed.Filter { return l.filter(f.listeners) }, Filter: l.filter(f.listeners),
		MaxBehind: maxBehind, MaxBytes: maxBytes,
		Tick: func() error { return f.tick(r) }, ReplayTick: func() error { return f.tick(r) }, TickEvery: rightsPeriod / 8,
	}, func(d feed.Delivery) error { return f.deliver(d) })
	if err != nil && !errors.Is(err, errOver) && !errors.Is(err, feed.ErrSlow) && ctx.Err() == nil {
		f.visit.Log.WarnContext(ctx, "the feed of a page broke off", "err", err)
	}
	return nil
}

// write writes to the browser, which is given up when it takes nothing for a while.
func (f *pageFeed) write(text string) error {
	f.wrote = f.visit.Now()
	if f.out.Send([]byte(text)) != nil {
		return errOver
	}
	return nil
}

// renderListeners finds out what the view listens to now.
func (f *pageFeed) renderListeners() *rendering {
	out := f.liveView.render()
	out.main(f.liveView.record.PageID, "")
	f.listeners = out.listeners
	return out
}

// tick sends a sign of life, checks the rights of the visitor and keeps the record of the view.
func (f *pageFeed) tick(r *http.Request) error {
	now := f.visit.Now()
	if now.Sub(f.checked) >= rightsPeriod {
		f.checked = now
		if err := f.recheck(r); err != nil {
			return err
		}
	}
	if now.Sub(f.kept) >= storePeriod {
		f.kept = now
		if err := f.liveView.putView(r.Context(), f.liveView.key, f.liveView.record); err != nil {
			return err
		}
	}
	if now.Sub(f.wrote) >= f.visit.Heartbeat {
		return f.write(": \n\n")
	}
	return nil
}

// recheck ends the feed when the visitor may not read the page any more.
func (f *pageFeed) recheck(r *http.Request) error {
	l := f.liveView
	if f.visit.cookie == nil { // a session that this very request has begun has no credential to check
		caller, _, err := gateway.Recheck(r)
		if err != nil || caller.SessionID != l.caller.SessionID {
			return errOver
		}
	}
	rights, found, err := l.Access.RightsOf(l.caller.Identity(), l.record.WorkspaceID)
	if err != nil || !found {
		return errOver
	}
	l.rights = rights
	item := projections.Item{ID: l.record.PageID, Path: "pages/" + l.record.Slug}
	if !l.mayReadNow(&item) {
		return errOver
	}
	return nil
}

// deliver folds events in and sends what they change.
func (f *pageFeed) deliver(d feed.Delivery) error {
	l := f.liveView
	for _, e := range d.Events {
		if !l.isFor(e) {
			continue
		}
		frames, changed := l.applyEvent(e, f.listeners)
		var out *rendering
		if len(changed) > 0 {
			out = f.renderListeners()
		}
		if e.Options.Persisted() && !isAfter(e.Seq, f.sent) {
			continue // the browser has it already
		}
		if len(changed) > 0 {
			frames = append(frames, l.patches(out, changed)...)
		}
		if err := f.send(frames, e); err != nil {
			return err
		}
	}
	if d.At.Max(f.sent) != f.sent {
		f.sent = d.At
	}
	return nil
}

// isAfter reports whether a position is after another one.
func isAfter(at, other domain.Position) bool { return at.Max(other) != other }

// patchData is the HTML of what has changed, with the style sheets of blocks that the page was not shown with.
type patchData struct {
	Block  string   `json:"block"`
	HTML   string   `json:"html"`
	Styles []string `json:"styles,omitempty"`
}

// patches returns the HTML of what has changed: of the page when that has, else of each block.
func (l *liveView) patches(out *rendering, changed []string) (frames []frame) {
	styles := l.newStyles()
	if slices.Contains(changed, "") {
		return []frame{{"patch", patchData{"", string(l.render().main(l.record.PageID, "")), styles}}}
	}
	slices.Sort(changed)
	for _, path := range slices.Compact(changed) {
		if b := l.tree.ByPath[path]; b != nil {
			frames = append(frames, frame{"patch", patchData{path, string(out.block(b)), styles}})
		}
	}
	return frames
}

// newStyles returns the style sheet of the blocks that have appeared since the page was shown: they were hidden, or are
// of an event. There is none when those that the page was shown with have the same CSS.
func (l *liveView) newStyles() []string {
	added := styledBlocks(l.tree)
	maps.DeleteFunc(added, func(class string, _ *page.Block) bool { return l.styled[class] != nil })
	return l.blockStyles(added)
}

// send writes the frames of an event. The last one has its position: a browser that has missed one gets all again.
func (f *pageFeed) send(frames []frame, e *feed.Event) error {
	text := ""
	for i, one := range frames {
		data, err := json.Marshal(one.data)
		if err != nil {
			return err
		}
		if i == len(frames)-1 && e.Options.Persisted() {
			text += "id: " + e.Seq.Token() + "\n"
		}
		text += "event: " + one.kind + "\ndata: " + string(data) + "\n\n"
	}
	if text == "" {
		return nil
	}
	return f.write(text)
}
