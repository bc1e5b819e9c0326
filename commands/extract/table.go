package extract

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readCSV reads a table: the first row has the names of columns, each other row is a block of `name: value` lines.
func readCSV(f File, t *text) error {
	body := decodeText(f.Content, typeCSV)
	r := csv.NewReader(strings.NewReader(body))
	r.Comma = delimiterOf(body)
	r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = true, -1, true
	var rows rowWriter
	for !t.isFull() {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return refuse(Corrupt, "the table cannot be read: %s", err)
		}
		rows.write(row, t)
	}
	rows.finish(t)
	return nil
}

// delimiterOf returns which character divides the first lines most, into equally many parts.
func delimiterOf(body string) rune {
	best, bestScore := ',', 0
	for _, c := range ",;\t|" {
		lines, counts, most := 0, map[int]int{}, 0
		for line := range strings.Lines(body) {
			if lines++; lines > 20 {
				break
			}
			n := strings.Count(line, string(c))
			counts[n]++
			if n > 0 && counts[n]*n > most {
				most = counts[n] * n
			}
		}
		if most > bestScore {
			best, bestScore = c, most
		}
	}
	return best
}

// rowWriter writes rows of a table. The first one that is not empty is its head.
type rowWriter struct {
	head []string
	rows int // besides the head
}

func (w *rowWriter) write(row []string, t *text) {
	if strings.Join(row, "") == "" {
		return
	}
	if w.head == nil {
		w.head = make([]string, len(row))
		for i, name := range row {
			w.head[i] = strings.Join(strings.Fields(name), " ")
		}
		return
	}
	w.rows++
	var b strings.Builder
	for i, value := range row {
		if value = strings.Join(strings.Fields(value), " "); value == "" {
			continue
		}
		name := ""
		if i < len(w.head) {
			name = w.head[i]
		}
		fmt.Fprintf(&b, "%s: %s\n", cmp.Or(name, fmt.Sprintf("column %d", i+1)), value)
	}
	t.add(b.String())
}

// finish writes the head of a table that has nothing else.
func (w *rowWriter) finish(t *text) {
	if w.rows == 0 {
		t.add(strings.Join(w.head, "\n"))
	}
}
