package sandbox

import (
	"strings"

	"github.com/grafana/sobek"

	"svc/domain/automation/redact"
)

// maxLogs is how much of the console is kept, in bytes.
const maxLogs = 10_000

// console takes lines until there are enough of them.
type console struct {
	left int
	log  func(line string)
}

// line sends as much of a line as there is room for.
func (c *console) line(s string) {
	if c.left <= 0 {
		return
	}
	if len(s) > c.left {
		s = strings.ToValidUTF8(s[:c.left], "") // no half characters
		c.left = 0
	}
	c.left -= len(s) + 1 // a line break between lines
	c.log(s)
}

// install gives the code a console. Every level is a line like any other.
func (c *console) install(vm *sobek.Runtime, text func(sobek.Value) string) error {
	write := func(call sobek.FunctionCall) sobek.Value {
		line := ""
		for i, arg := range call.Arguments {
			if i > 0 {
				line += " "
			}
			if len(line) > c.left {
				break
			}
			line += text(arg)
		}
		c.line(line)
		return sobek.Undefined()
	}
	object := vm.NewObject()
	for _, level := range []string{"log", "info", "warn", "error", "debug", "trace"} {
		if err := object.Set(level, write); err != nil {
			return err
		}
	}
	return vm.Set("console", object)
}

// Log holds lines of the console and errors, the first 10 kB of them. The zero Log is
// empty.
type Log struct {
	lines []string
	size  int
}

// Add adds lines, as far as there is room.
func (l *Log) Add(lines ...string) {
	c := console{left: maxLogs - l.size, log: func(line string) {
		l.lines = append(l.lines, line)
		l.size += len(line) + 1
	}}
	for _, line := range lines {
		c.line(line)
	}
}

// Lines returns the lines, not redacted.
func (l *Log) Lines() []string { return l.lines }

// Redacted returns the lines without secrets.
func (l *Log) Redacted(secrets *redact.Set) []string { return Lines(l.lines, secrets) }
