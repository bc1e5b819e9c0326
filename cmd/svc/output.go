package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"svc/cmd/client"
	"svc/domain/operation"
)

// progressDisplay shows how an operation goes on: on a terminal with a line at its foot that
// is rewritten, else line by line.
type progressDisplay struct {
	out    io.Writer
	fd     int  // of the terminal
	live   bool // it is one
	colour bool
	foot   string // what stands in the last line
}

// newDisplay returns where progress is shown; nowhere when only the result is asked for.
func (r *remote) newDisplay() *progressDisplay {
	if r.asJSON {
		return &progressDisplay{out: io.Discard}
	}
	fd, state := terminal(r.log)
	live := state != nil && r.env("TERM") != "dumb"
	return &progressDisplay{out: r.log, fd: fd, live: live, colour: live && r.env("NO_COLOR") == ""}
}

// showFrame shows one frame. What this version does not know is left out.
func (b *progressDisplay) showFrame(f client.Frame) {
	switch f.Type {
	case operation.Progress{}.EventType():
		var p operation.Progress
		if json.Unmarshal(f.Data, &p) == nil {
			b.showStep(p)
		}
	case operation.BulkPushStarted{}.EventType(), operation.BulkImportStarted{}.EventType():
		var run bulkRun
		if json.Unmarshal(f.Data, &run) == nil {
			b.showRunStart(run)
		}
	case operation.BulkPushProgress{}.EventType(), operation.BulkImportProgress{}.EventType():
		var one bulkProgress
		if json.Unmarshal(f.Data, &one) == nil {
			b.showWorkspace(one)
		}
	}
}

// showStep shows a step of an operation. The reason of a failure is printed at the end.
func (b *progressDisplay) showStep(p operation.Progress) {
	text := ""
	switch {
	case p.Step == operation.ErrorStep:
		return
	case p.State == operation.StepStarted:
		text = p.Step + ": " + p.Message
	case p.State == operation.StepDone:
		text = p.Step + ": done in " + formatMilliseconds(p.Duration)
	default:
		text = p.Step + ": " + string(p.State)
	}
	if b.live {
		b.rewriteFoot(text)
		return
	}
	b.addLine(text)
}

// addLine adds a line, above the foot.
func (b *progressDisplay) addLine(text string) {
	foot := b.foot
	b.clearFoot()
	fmt.Fprintln(b.out, text)
	if foot != "" {
		b.rewriteFoot(foot)
	}
}

// rewriteFoot replaces the foot. It never takes more than one line.
func (b *progressDisplay) rewriteFoot(text string) {
	b.foot = clean(text)
	foot := []rune(b.foot)
	fmt.Fprint(b.out, "\r\x1b[K"+string(foot[:min(len(foot), columns(b.fd)-1)]))
}

// clearFoot takes the foot away.
func (b *progressDisplay) clearFoot() {
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

func (b *progressDisplay) paint(colour, text string) string {
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

// formatMilliseconds is a duration as people read it.
func formatMilliseconds(milliseconds int64) string {
	if milliseconds < 1000 {
		return fmt.Sprintf("%d ms", milliseconds)
	}
	return (time.Duration(milliseconds) * time.Millisecond).Round(100 * time.Millisecond).String()
}

// printResult prints a result: as it came, or as text says it.
func (r *remote) printResult(result json.RawMessage, text func() string) error {
	if r.asJSON {
		var b bytes.Buffer
		if err := json.Indent(&b, result, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(r.out, b.String())
		return err
	}
	_, err := fmt.Fprint(r.out, text())
	return err
}

// decode reads a result into a type that can be printed as text.
func decode(result json.RawMessage, into any) error {
	if err := json.Unmarshal(result, into); err != nil {
		return fmt.Errorf("the answer is none that this svc understands: %w", err)
	}
	return nil
}

// table lays rows out in columns.
func table(rows ...[]string) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = clean(cell)
		}
		_, _ = fmt.Fprintln(t, strings.Join(row, "\t")) // a strings.Builder takes everything
	}
	_ = t.Flush()
	var tidy strings.Builder
	for line := range strings.Lines(b.String()) {
		tidy.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return tidy.String()
}
