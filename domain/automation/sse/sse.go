// Package sse reads server-sent events out of the bytes of an answer.
//
// A Parser is fed with packets of any size and returns the items that they
// complete: where one packet ends and the next begins never matters. What it
// holds in between is one unfinished event, and that is bounded.
package sse

import (
	"bytes"
	"errors"
	"io"
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
	data              []string
	any               bool // some line said something
}

// New returns a Parser of events that have at most limit bytes each.
func New(limit int) *Parser { return &Parser{limit: limit, event: newEvent()} }

func newEvent() event {
	return event{name: value.Undefined, id: value.Undefined, comment: value.Undefined, retry: value.Undefined}
}

// Feed takes the next packet and returns the items that it completes, oldest
// first: {index, chunk: {event?, data, id?, retry?, comment?}}. After an error
// the Parser returns nothing but that error.
func (p *Parser) Feed(packet []byte) (items []*value.Object, err error) {
	events, err := p.feed(packet)
	for _, e := range events {
		items = append(items, p.item(e))
	}
	return items, err
}

// Event is one event as texts.
type Event struct {
	Name string // "": it has none
	Data string // its lines joined by \n
}

// packet is how much Read takes at once.
const packet = 16 << 10

// Read calls each for every event with data, in order, until the stream ends or each fails. An event has at most limit
// bytes.
func Read(r io.Reader, limit int, each func(Event) error) error {
	p, buffer := New(limit), make([]byte, packet)
	for {
		n, err := r.Read(buffer)
		events, parseErr := p.feed(buffer[:n])
		if errors.Is(err, io.EOF) {
			events = append(events, p.last()...)
		}
		for _, e := range events {
			name, _ := e.name.(string)
			if len(e.data) == 0 {
				continue
			}
			if err := each(Event{name, strings.Join(e.data, "\n")}); err != nil {
				return err
			}
		}
		switch {
		case parseErr != nil:
			return parseErr
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (p *Parser) feed(packet []byte) (events []event, err error) {
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
		if e, ok := p.endLine(); ok {
			events = append(events, e)
		}
	}
	return events, p.err
}

// End returns the last item when the stream ends without its blank line.
func (p *Parser) End() (items []*value.Object) {
	for _, e := range p.last() {
		items = append(items, p.item(e))
	}
	return items
}

// last returns the event that the end of the stream completes.
func (p *Parser) last() []event {
	if p.err != nil {
		return nil
	}
	if len(p.line) > 0 {
		p.endLine()
	}
	if e, ok := p.dispatch(); ok {
		return []event{e}
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
func (p *Parser) endLine() (event, bool) {
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
	return event{}, false
}

// dispatch returns the event and begins the next one. An event in which nothing
// was said is none.
func (p *Parser) dispatch() (event, bool) {
	e := p.event
	p.event, p.size = newEvent(), 0
	if cap(p.line) > largeLine {
		p.line = nil // one large event does not hold its memory for ever
	}
	return e, e.any
}

// item is an event as automations see it.
func (p *Parser) item(e event) *value.Object {
	data := make([]any, len(e.data))
	for i, text := range e.data {
		data[i] = Datum(text)
	}
	chunk := value.NewObject("event", e.name, "data", data, "id", e.id, "retry", e.retry, "comment", e.comment)
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
		e.data = append(e.data, text)
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
