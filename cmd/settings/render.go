package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteText writes entries as a table with aligned columns.
func WriteText(w io.Writer, entries []Entry) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "NAME\tVALUE\tSOURCE\tPART") // Flush returns the error of every write
	for _, e := range entries {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\n", e.Name, cmp.Or(onOneLine(e.Value), "-"), e.Source, e.Part)
	}
	return columns.Flush()
}

// onOneLine quotes a text that would break the table.
func onOneLine(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.Quote(text)
	}
	return text
}

// Report is the machine form of a set of settings, as `svc config --json` and
// GET /sys/config give it.
type Report struct {
	Settings []Entry  `json:"settings"`
	Warnings []string `json:"warnings"`
	Digest   string   `json:"digest"`
}

// Report returns the machine form of l with the given entries: Entries, or
// Changed.
func (l *Loaded) Report(entries []Entry) Report {
	return Report{Settings: append([]Entry{}, entries...), Warnings: append([]string{}, l.Warnings...), Digest: l.Digest()}
}

// WriteJSON writes the machine form of l, indented.
func (l *Loaded) WriteJSON(w io.Writer, entries []Entry) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(l.Report(entries))
}
