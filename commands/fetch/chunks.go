package fetch

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/sse"
	"svc/domain/value"
)

// splitter makes items of packets.
type splitter interface {
	Feed(packet []byte) ([]*value.Object, error)
	End() []*value.Object
}

// emitChunks emits an answer item by item and returns when it ended.
func (x *exchange) emitChunks(ctx context.Context, a *answer) (any, *Failed, error) {
	defer a.close()
	e := &emission{exchange: x, terms: x.terms.chunks, live: a.isEventStream(), pass: largeSlot{exchange: x}}
	defer e.pass.release()
	raw, err := e.run(ctx, a)
	if err == nil {
		err = e.finish(ctx)
	}
	if err != nil {
		return value.Undefined, x.failed(a, raw, err), err
	}
	var body any
	switch {
	case e.terms.path != nil:
		body = e.concatenated.value()
	case e.live:
		body = text(raw, a.Header.Get(contentType))
	default:
		if body, err = a.value(raw); err != nil {
			err = x.fault(a.watch, err)
			return value.Undefined, x.failed(a, nil, err), err
		}
	}
	if value.IsUndefined(body) {
		body = ""
	}
	return a.detailedOutput(body, false), x.failed(a, raw, nil), nil
}

// maxNotices is how many chunks of one answer are reported: an answer may have
// millions of them.
const maxNotices = 100

// emission is the emitting of one answer.
type emission struct {
	*exchange
	terms        *chunkTerms
	live         bool // items are server-sent events
	count        int
	notices      int
	pass         largeSlot
	concatenated concatenation
	held         *value.Object // waits until the throttle allows it
	last         time.Time     // of the last event; zero: there was none
}

// run emits the answer and returns it. The time that emitting takes does not count for the
// timeout.
func (e *emission) run(ctx context.Context, a *answer) ([]byte, error) {
	var split splitter = &textSplitter{}
	if e.live {
		split = sse.New(int(e.MaxResponse))
	}
	var raw bytes.Buffer
	buffer := make([]byte, packet)
	for {
		if err := e.pass.acquireFor(ctx, raw.Len()); err != nil {
			return raw.Bytes(), fmt.Errorf("fetch: %w", err)
		}
		a.watch.resume()
		n, err := a.content.Read(buffer)
		a.watch.pause()
		raw.Write(buffer[:n])
		items, splitErr := split.Feed(buffer[:n])
		if int64(raw.Len()) > e.MaxResponse {
			splitErr = errTooLarge
		}
		done := isCompleteBody(err)
		if done && splitErr == nil {
			items = append(items, split.End()...)
		}
		if err := e.emitItems(ctx, items); err != nil {
			return raw.Bytes(), err
		}
		switch {
		case splitErr != nil:
			return raw.Bytes(), e.breakOff(ctx, e.fault(a.watch, splitErr))
		case done:
			return raw.Bytes(), nil
		case err != nil:
			return raw.Bytes(), e.breakOff(ctx, e.fault(a.watch, err))
		}
	}
}

func (e *emission) emitItems(ctx context.Context, items []*value.Object) error {
	for _, item := range items {
		if ctx.Err() != nil {
			return fmt.Errorf("fetch: %w", context.Cause(ctx))
		}
		if err := e.emitItem(ctx, item); err != nil {
			return err
		}
	}
	return nil
}

// emitItem emits one item, or holds it when the last event is too recent. The next item then
// replaces it.
func (e *emission) emitItem(ctx context.Context, item *value.Object) error {
	e.count++
	e.reportBrokenJSON(item.At("chunk"))
	e.concatenated.add(e.terms.path, item)
	payload := e.payload(item.At("index"), item.At("chunk"))
	if !e.last.IsZero() && e.Now().Sub(e.last) < e.terms.throttle {
		e.held = payload
		return nil
	}
	return e.send(ctx, payload)
}

func (e *emission) payload(index, chunk any) *value.Object {
	together := value.Undefined
	if all := e.concatenated.value(); !value.IsUndefined(all) {
		together = value.NewObject("value", all)
	}
	return value.NewObject("index", index, "chunk", chunk, "concatenated", together, "additionalPayload", e.terms.payload)
}

func (e *emission) send(ctx context.Context, payload *value.Object) error {
	e.held, e.last = nil, e.Now()
	if e.call.Chunk == nil {
		return nil
	}
	return e.call.Chunk(ctx, payload)
}

// finish emits a held item, then the last chunk.
func (e *emission) finish(ctx context.Context) error {
	if e.held != nil {
		if err := e.send(ctx, e.held); err != nil {
			return err
		}
	}
	if value.IsUndefined(e.terms.endChunk) {
		return nil
	}
	return e.send(ctx, e.payload(float64(e.count), e.terms.endChunk))
}

// breakOff emits a held item and returns the error that ends the answer.
func (e *emission) breakOff(ctx context.Context, err error) error {
	if e.held != nil && ctx.Err() == nil {
		if sendErr := e.send(ctx, e.held); sendErr != nil {
			return sendErr
		}
	}
	return err
}

// reportBrokenJSON reports texts that look like JSON but are not.
func (e *emission) reportBrokenJSON(chunk any) {
	all := []any{chunk}
	if e.live {
		all, _ = value.At(chunk, "data").([]any)
	}
	for _, v := range all {
		if s, ok := v.(string); ok && sse.LooksLikeJSON(s) && e.call.Notice != nil && e.notices < maxNotices {
			e.notices++
			e.call.Notice(automation.Raise(automation.FailedChunkParsing, "the chunk starts like JSON, but it is not valid JSON", "chunk", e.call.shownText([]byte(s))))
		}
	}
}

// concatenation concatenates texts or lists. The first item decides which; items of another
// type are ignored.
type concatenation struct {
	text strings.Builder
	list []any
	is   string // the kind of it
}

func (g *concatenation) add(path []string, item *value.Object) {
	if path == nil {
		return
	}
	v := value.Walk(item, path...)
	kind := value.TypeName(v)
	if g.is == "" && (kind == "string" || kind == "array") {
		g.is = kind
	}
	switch v := v.(type) {
	case string:
		if g.is == kind {
			g.text.WriteString(v)
		}
	case []any:
		if g.is == kind {
			g.list = append(g.list, v...)
		}
	}
}

// value returns the result so far, Undefined when there is none. Later items do not change it.
func (g *concatenation) value() any {
	switch g.is {
	case "string":
		return g.text.String()
	case "array":
		return slices.Clip(g.list)
	}
	return value.Undefined
}

// textSplitter makes an item of the text of every packet. A partial character waits for the
// next packet.
type textSplitter struct {
	count int
	rest  []byte
}

// Feed implements splitter.
func (t *textSplitter) Feed(packet []byte) ([]*value.Object, error) {
	t.rest = append(t.rest, packet...)
	whole := trimPartial(t.rest)
	item := t.item(whole)
	t.rest = bytes.Clone(t.rest[len(whole):])
	return item, nil
}

// End implements splitter.
func (t *textSplitter) End() []*value.Object { return t.item(t.rest) }

func (t *textSplitter) item(raw []byte) []*value.Object {
	if len(raw) == 0 {
		return nil
	}
	item := value.NewObject("index", float64(t.count), "chunk", sse.Datum(strings.ToValidUTF8(string(raw), "\uFFFD")))
	t.count++
	return []*value.Object{item}
}
