package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"svc/cmd/client"
	"svc/domain/operation"
)

// board shows how an operation goes on: on a terminal with a line at its foot that
// is rewritten, else line by line.
type board struct {
	out    io.Writer
	fd     int  // of the terminal
	live   bool // it is one
	colour bool
	foot   string // what stands in the last line
}

// board returns where progress is shown; nowhere when only the result is asked for.
func (r *remote) board() *board {
	if r.asJSON {
		return &board{out: io.Discard}
	}
	fd, state := terminal(r.log)
	live := state != nil && r.env("TERM") != "dumb"
	return &board{out: r.log, fd: fd, live: live, colour: live && r.env("NO_COLOR") == ""}
}

// tell shows one frame. What this version does not know is left out.
func (b *board) tell(f client.Frame) {
	switch f.Type {
	case operation.Progress{}.EventType():
		var p operation.Progress
		if json.Unmarshal(f.Data, &p) == nil {
			b.step(p)
		}
	case operation.BulkPushStarted{}.EventType(), operation.BulkImportStarted{}.EventType():
		var run bulkRun
		if json.Unmarshal(f.Data, &run) == nil {
			b.begin(run)
		}
	case operation.BulkPushProgress{}.EventType(), operation.BulkImportProgress{}.EventType():
		var one bulkProgress
		if json.Unmarshal(f.Data, &one) == nil {
			b.one(one)
		}
	}
}

// step shows a step of an operation. Why one failed is told at the end.
func (b *board) step(p operation.Progress) {
	text := ""
	switch {
	case p.Step == operation.ErrorStep:
		return
	case p.State == operation.StepStarted:
		text = p.Step + ": " + p.Message
	case p.State == operation.StepDone:
		text = p.Step + ": done in " + took(p.Duration)
	default:
		text = p.Step + ": " + string(p.State)
	}
	if b.live {
		b.rewrite(text)
		return
	}
	b.line(text)
}

// line adds a line, above the foot.
func (b *board) line(text string) {
	foot := b.foot
	b.close()
	fmt.Fprintln(b.out, text)
	if foot != "" {
		b.rewrite(foot)
	}
}

// rewrite replaces the foot. It never takes more than one line.
func (b *board) rewrite(text string) {
	b.foot = clean(text)
	shown := []rune(b.foot)
	fmt.Fprint(b.out, "\r\x1b[K"+string(shown[:min(len(shown), columns(b.fd)-1)]))
}

// close takes the foot away.
func (b *board) close() {
	if b.foot != "" {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
	b.foot = ""
}

// The colours of a terminal.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (b *board) paint(colour, text string) string {
	if !b.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// barWidth is how long the bar of a bulk run is.
const barWidth = 24

// bar shows how much is done.
func bar(current, total int) string {
	done := barWidth * current / max(total, 1)
	return fmt.Sprintf("[%s%s] %3d %%  %d of %d", strings.Repeat("#", done), strings.Repeat("-", barWidth-done), 100*current/max(total, 1), current, total)
}

// took is a duration as people read it.
func took(milliseconds int64) string {
	if milliseconds < 1000 {
		return fmt.Sprintf("%d ms", milliseconds)
	}
	return (time.Duration(milliseconds) * time.Millisecond).Round(100 * time.Millisecond).String()
}
