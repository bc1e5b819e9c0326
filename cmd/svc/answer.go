package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
)

// answer prints a result: as it came, or as text says it.
func (r *remote) answer(result json.RawMessage, text func() string) error {
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

// decode reads a result into something that text can tell.
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
