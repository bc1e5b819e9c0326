// Package sse reads server-sent events out of the bytes of an answer.
//
// A Parser is fed with packets of any size and returns the items that they
// complete: where one packet ends and the next begins never matters. What it
// holds in between is one unfinished event, and that is bounded.
package sse

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"svc/domain/value"
)

// ErrTooLarge is returned once an event is larger than it may be.
var ErrTooLarge = errors.New("sse: an event is too large")

// MediaType is the type of an answer that holds server-sent events.
const MediaType = "text/event-stream"

// byteOrderMark may precede the first line, and is no part of it.
const byteOrderMark = "\uFEFF"

// Parser reads one stream of events. It is not safe for concurrent use.
type Parser struct {
	limit int
	line  []byte // the beginning of a line that has not ended
	size  int    // bytes of the event so far
	after byte   // the last byte fed when it ended a line: what follows \r may be its \n
	begun bool   // the first line was read
	count int    // items so far
	err   error

	event event
}

// event is what was read of one event.
type event struct {
	name, id, comment any
	retry             any
	data              []any
	any               bool // some line said something
}

// New returns a Parser of events that have at most limit bytes each.
func New(limit int) *Parser { return &Parser{limit: limit, event: newEvent()} }

func newEvent() event {
	return event{name: value.Undefined, id: value.Undefined, comment: value.Undefined, retry: value.Undefined, data: []any{}}
}

// Feed takes the next packet and returns the items that it completes, oldest
// first: {index, chunk: {event?, data, id?, retry?, comment?}}. After an error
// the Parser returns nothing but that error.
func (p *Parser) Feed(packet []byte) (items []*value.Object, err error) {
	for len(packet) > 0 && p.err == nil {
		if p.after == '\r' && packet[0] == '\n' {
			packet, p.after = packet[1:], 0
			continue
		}
		p.after = 0
		end := bytes.IndexAny(packet, "\r\n")
		if end < 0 {
			p.appendLine(packet)
			break
		}
		p.appendLine(packet[:end])
		p.after, packet = packet[end], packet[end+1:]
		if item := p.endLine(); item != nil {
			items = append(items, item)
		}
	}
	return items, p.err
}

// End returns the last item when the stream ends without its blank line.
func (p *Parser) End() []*value.Object {
	if p.err != nil {
		return nil
	}
	if len(p.line) > 0 {
		p.endLine()
	}
	if item := p.dispatch(); item != nil {
		return []*value.Object{item}
	}
	return nil
}

// appendLine adds to the line that has not ended.
func (p *Parser) appendLine(part []byte) {
	p.size += len(part)
	if p.size > p.limit {
		p.err, p.line, p.event = ErrTooLarge, nil, newEvent()
		return
	}
	p.line = append(p.line, part...)
}

// endLine reads the line that ended. A blank one completes the event.
func (p *Parser) endLine() *value.Object {
	line := strings.ToValidUTF8(string(p.line), "\uFFFD")
	p.line = p.line[:0]
	p.size++ // so that endless empty fields have an end too
	if !p.begun {
		line, p.begun = strings.TrimPrefix(line, byteOrderMark), true
	}
	if line == "" {
		return p.dispatch()
	}
	p.event.read(line)
	return nil
}

// dispatch returns the event as an item and begins the next one. An event in
// which nothing was said is none.
func (p *Parser) dispatch() *value.Object {
	e := p.event
	p.event, p.size = newEvent(), 0
	if cap(p.line) > largeLine {
		p.line = nil // one large event does not hold its memory for ever
	}
	if !e.any {
		return nil
	}
	chunk := value.NewObject("event", e.name, "data", e.data, "id", e.id, "retry", e.retry, "comment", e.comment)
	item := value.NewObject("index", float64(p.count), "chunk", chunk)
	p.count++
	return item
}

// largeLine is the size of a line whose memory is given back.
const largeLine = 64 << 10

// read takes one line: a comment, or a field and its value.
func (e *event) read(line string) {
	name, text, _ := strings.Cut(line, ":")
	text = strings.TrimPrefix(text, " ")
	switch name {
	case "":
		e.comment = text
	case "event":
		e.name = text
	case "data":
		e.data = append(e.data, Datum(text))
	case "id":
		if strings.ContainsRune(text, 0) {
			return // the standard ignores such an id
		}
		e.id = text
	case "retry":
		n, err := strconv.ParseUint(text, 10, 53)
		if err != nil {
			return
		}
		e.retry = float64(n)
	default:
		return
	}
	e.any = true
}

// LooksLikeJSON reports whether text begins as a JSON object or array does.
func LooksLikeJSON(text string) bool {
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// Datum returns the value of a text: what it says when it is a JSON object or
// array, otherwise the text itself.
func Datum(text string) any {
	if !LooksLikeJSON(text) {
		return text
	}
	v, err := value.ParseJSON(text)
	if err != nil {
		return text
	}
	return value.ReplaceNonFinite(v)
}
