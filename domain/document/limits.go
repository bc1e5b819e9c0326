package document

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Limits bound what is read. Zero: not bounded.
type Limits struct {
	Bytes int // of the text, and of its keys and strings once aliases are expanded
	Depth int // of mappings and lists in one another
	Nodes int // keys and values, those behind aliases as often as they are named
}

// Usual are the limits of one file of a workspace.
var Usual = Limits{Bytes: 1 << 20, Depth: 64, Nodes: 100_000}

// Fault is why a text could not be read, and where.
type Fault struct {
	Line, Column int    // from 1; 0: not known
	Message      string // in plain words, without the place
	Limit        string // which limit was passed: bytes, depth or nodes; "": the text is wrong
	Value        int    // of that limit
}

// Error implements error.
func (f *Fault) Error() string {
	switch {
	case f.Line == 0:
		return f.Message
	case f.Column == 0:
		return fmt.Sprintf("line %d: %s", f.Line, f.Message)
	default:
		return fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Message)
	}
}

// NotUTF8 returns the fault of a text that is not UTF-8, at its first wrong byte.
func NotUTF8(text []byte) error {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return FaultAt(text, at, "is not UTF-8")
}

// FaultAt returns a fault at a byte of text.
func FaultAt(text []byte, at int, message string) *Fault {
	before := text[:min(at, len(text))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return &Fault{Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[begin:]) + 1, Message: message}
}

// Shown returns s quoted for a message, cut when it is long.
func Shown(s string) string {
	if utf8.RuneCountInString(s) > 60 {
		s = string([]rune(s)[:60]) + "…"
	}
	return strconv.Quote(s)
}

// Counter holds a reader to its Limits.
type Counter struct {
	Limits
	nodes, bytes int
}

// Text returns a fault when text is too long.
func (c *Counter) Text(text []byte) error {
	if c.Bytes > 0 && len(text) > c.Bytes {
		return &Fault{Message: fmt.Sprintf("is longer than %d bytes", c.Bytes), Limit: "bytes", Value: c.Bytes}
	}
	return nil
}

// Node counts one more node inside depth mappings and lists. The fault, if any,
// is at that place.
func (c *Counter) Node(depth, line, column int) error {
	c.nodes++
	switch {
	case c.Depth > 0 && depth > c.Depth:
		return c.depthFault(line, column)
	case c.Nodes > 0 && c.nodes > c.Nodes:
		return c.nodesFault(line, column)
	default:
		return nil
	}
}

func (c *Counter) depthFault(line, column int) error {
	return &Fault{line, column, fmt.Sprintf("is nested deeper than %d", c.Depth), "depth", c.Depth}
}

func (c *Counter) nodesFault(line, column int) error {
	return &Fault{line, column, fmt.Sprintf("has more than %d keys and values", c.Nodes), "nodes", c.Nodes}
}

// String counts the bytes of one more key or string: a long one behind an alias
// is as long each time it is named.
func (c *Counter) String(s string, line, column int) error {
	c.bytes += len(s)
	if c.Bytes > 0 && c.bytes > c.Bytes {
		return &Fault{line, column, fmt.Sprintf("is longer than %d bytes once its aliases are expanded", c.Bytes), "bytes", c.Bytes}
	}
	return nil
}
