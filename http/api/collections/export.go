package collections

import (
	"bytes"
	"encoding/csv"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/collection"
	"svc/domain/value"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// rowWriter writes rows in a form.
type rowWriter interface {
	begin(fields []string) error
	row(*value.Object) error
	end() error
}

// newRowWriter returns a writer of a form, with its media type and the ending of its file.
func newRowWriter(w io.Writer, form rowForm) (to rowWriter, media, ending string) {
	if form == rowsLines {
		return &lineWriter{w}, handler.JSONLines + "; charset=utf-8", ".ndjson"
	}
	return &tableWriter{csv: csv.NewWriter(w)}, tableType + "; charset=utf-8; header=present", ".csv"
}

// lineWriter writes a row in a line.
type lineWriter struct{ w io.Writer }

func (l *lineWriter) begin([]string) error { return nil }

func (l *lineWriter) row(row *value.Object) error {
	_, err := io.WriteString(l.w, value.JSON(row, "")+"\n")
	return err
}

func (l *lineWriter) end() error { return nil }

// tableWriter writes a row in a line of a table.
type tableWriter struct {
	csv    *csv.Writer
	fields []string
}

func (t *tableWriter) begin(fields []string) error {
	t.fields = fields
	cells := make([]string, len(fields))
	for i, field := range fields {
		cells[i] = guardCell(field)
	}
	return t.csv.Write(cells)
}

func (t *tableWriter) row(row *value.Object) error {
	cells := make([]string, len(t.fields))
	for i, field := range t.fields {
		cells[i] = cellOf(row.At(field))
	}
	return t.csv.Write(cells)
}

func (t *tableWriter) end() error {
	t.csv.Flush()
	return t.csv.Error()
}

// cellOf is a value in a table: texts as they are, lists and objects as JSON, nothing for
// null.
func cellOf(v any) string {
	switch v := v.(type) {
	case string:
		return guardCell(v)
	case float64, bool:
		return value.Text(v)
	}
	if value.IsNothing(v) {
		return ""
	}
	return value.JSON(v, "")
}

// formula is what a spreadsheet takes for a formula, behind the apostrophes that say that
// it is none.
var formula = regexp.MustCompile(`^'*[=+\-@\t\r\n]`)

// guardCell puts an apostrophe in front of a text that a spreadsheet would compute: rows
// are written by visitors, and opened by those who trust them. Numbers compute to
// themselves. What readCell does to the outcome leaves the text.
func guardCell(text string) string {
	if _, number := value.ParseNumber(text); formula.MatchString(text) && !number {
		return "'" + text
	}
	return text
}

// readCell takes an apostrophe away that guardCell puts there.
func readCell(text string) string {
	if len(text) > 1 && text[0] == '\'' && formula.MatchString(text) {
		return text[1:]
	}
	return text
}

// exportRows sends all rows that meet a query, as they are at one moment.
func (h *Handlers) exportRows(c requestedCollection, wanted rowQuery, form rowForm) gateway.Stream {
	return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		body := &begunWriter{w: w}
		to, media, ending := newRowWriter(body, form)
		w.Header().Set("Content-Type", media)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Disposition", attachmentName(c.target.Name+ending))
		if r.Method == http.MethodHead {
			_, err := h.Collections.Schema(r.Context(), c.of, c.target)
			if err == nil {
				w.WriteHeader(http.StatusOK)
			}
			return nil, collectionFault(err, domain.CodeInvalidParameter, nil)
		}
		checked := h.Now()
		x := collection.Export{Query: wanted.query, Fields: wanted.pick, Visit: func(row *value.Object) error {
			if now := h.Now(); now.Sub(checked) > handler.RightsPeriod {
				if err := recheckRead(r, c); err != nil {
					return err
				}
				checked = now
			}
			return to.row(row)
		}}
		if wanted.given {
			x.Sort = wanted.sort
		}
		if form == rowsCSV {
			x.Begin = to.begin
		}
		err := h.Collections.Export(r.Context(), c.of, c.target, x)
		if err == nil {
			err = to.end()
		}
		if err != nil {
			if body.begun {
				panic(http.ErrAbortHandler) // a short answer must not look whole
			}
			clearExportHeader(w.Header())
			return nil, collectionFault(err, domain.CodeInvalidParameter, nil)
		}
		w.WriteHeader(http.StatusOK)
		return nil, nil
	}}
}

// clearExportHeader takes back what an answer that is an error must not say.
func clearExportHeader(h http.Header) {
	for _, name := range []string{"Content-Type", "Cache-Control", "Content-Disposition"} {
		h.Del(name)
	}
}

// begunWriter notes whether something was written.
type begunWriter struct {
	w     io.Writer
	begun bool
}

// Write implements io.Writer.
func (b *begunWriter) Write(p []byte) (int, error) {
	b.begun = true
	return b.w.Write(p)
}

// recheckRead refuses a caller who lost the right to read a collection meanwhile.
func recheckRead(r *http.Request, c requestedCollection) error {
	_, grant, err := gateway.Recheck(r)
	if err != nil {
		return err
	}
	object := collectionObject(c.of.WorkspaceID, c.appInstance, c.target.Schema, c.target.Name)
	return grant.Rights.Check("read", "collections", object)
}

func attachmentName(name string) string {
	if text := mime.FormatMediaType("attachment", map[string]string{"filename": name}); text != "" {
		return text
	}
	return "attachment"
}

// pageOfRows is a page in another form than JSON.
func pageOfRows(rows []*value.Object, header http.Header, form rowForm, name string) (any, error) {
	var body bytes.Buffer
	to, media, ending := newRowWriter(&body, form)
	if err := to.begin(collection.Columns(rows)); err != nil {
		return nil, err
	}
	for _, row := range rows {
		if err := to.row(row); err != nil {
			return nil, err
		}
	}
	if err := to.end(); err != nil {
		return nil, err
	}
	header.Set("Content-Disposition", attachmentName(name+ending))
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	return gateway.Content{Type: media, Body: body.Bytes(), Modified: time.Time{}, Header: header}, nil
}
