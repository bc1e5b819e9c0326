package sandbox

import "svc/domain/automation/redact"

// Log keeps lines of the console and the like, the first 10 kB of them. The zero Log is
// empty.
type Log struct {
	lines []string
	size  int
}

// Add keeps more lines, as far as there is room.
func (l *Log) Add(lines ...string) {
	c := console{left: maxLogs - l.size, tell: func(line string) {
		l.lines = append(l.lines, line)
		l.size += len(line) + 1
	}}
	for _, line := range lines {
		c.line(line)
	}
}

// Lines returns what was kept, as it is.
func (l *Log) Lines() []string { return l.lines }

// Shown returns what was kept without secrets.
func (l *Log) Shown(secrets *redact.Set) []string { return Lines(l.lines, secrets) }
