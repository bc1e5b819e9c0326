package collections

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/commands/collections"
	"svc/domain"
	"svc/domain/collection"
	"svc/domain/value"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// importResponse is the answer to an import.
type importResponse struct {
	Inserted  int                      `json:"inserted"`
	Updated   int                      `json:"updated"`
	Unchanged int                      `json:"unchanged,omitempty"`
	Errors    []collection.ImportFault `json:"errors"`
	// ErrorsCount is how many lines are at fault when there are more than are shown.
	ErrorsCount   int      `json:"errorsCount,omitempty"`
	DroppedFields []string `json:"droppedFields,omitempty"`
}

// ImportRows handles POST …/collections/{name}/import.
func (h *Handlers) ImportRows(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	in := rowImport{dryRun: q.Flag("dryRun"), onConflict: q.List("onConflictFields")}
	c, err := h.collectionOf(r, q, "create")
	if err != nil {
		return nil, err
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && media == "multipart/form-data" {
		return h.importPart(r, c, in)
	}
	kind := fileKind(media, "")
	if kind == "" {
		return nil, gateway.RefuseStatus(http.StatusUnsupportedMediaType, "the file must be text/csv, application/x-ndjson or application/json, or the part file of multipart/form-data")
	}
	return h.importFile(r, c, in, kind, gateway.BodyReader(r))
}

// rowImport is how a file is imported.
type rowImport struct {
	dryRun     bool
	onConflict []string
}

// importPart imports the part of a form that is called file. What says how comes before
// it: the file is read as it comes.
func (h *Handlers) importPart(r *http.Request, c requestedCollection, in rowImport) (answer any, err error) {
	err = gateway.Parts(r, math.MaxInt64, func(p gateway.Part) error {
		switch {
		case p.Name == "file" && p.File != nil && answer == nil:
			kind := fileKind(p.Type, p.Filename)
			if kind == "" {
				return gateway.RefuseStatus(http.StatusUnsupportedMediaType, "the file must be .csv, .ndjson or .json, or of the type text/csv, application/x-ndjson or application/json")
			}
			answer, err = h.importFile(r, c, in, kind, p.File)
			return err
		case answer != nil:
			return handler.RefuseField(p.Name, "must come before the file")
		case p.Name == "dryRun" && (p.Text == "true" || p.Text == "false"):
			in.dryRun = p.Text == "true"
		case p.Name == "onConflictFields" && p.File == nil:
			for field := range strings.SplitSeq(p.Text, ",") {
				if field = strings.TrimSpace(field); field != "" {
					in.onConflict = append(in.onConflict, field)
				}
			}
		default:
			return handler.RefuseField(p.Name, "must be dryRun (true or false), onConflictFields or file")
		}
		return nil
	})
	if err == nil && answer == nil {
		err = handler.MissingField("file")
	}
	return answer, err
}

// fileKind is what a file is by its media type, else by its name; "" for neither.
func fileKind(media, name string) string {
	if parsed, _, err := mime.ParseMediaType(media); err == nil {
		media = parsed
	}
	switch media {
	case tableType, "application/csv":
		return "csv"
	case handler.JSONLines, "application/ndjson", "application/jsonl", "application/x-jsonlines":
		return "ndjson"
	case "application/json":
		return "json"
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		return "csv"
	case ".ndjson", ".jsonl":
		return "ndjson"
	case ".json":
		return "json"
	}
	return ""
}

func (h *Handlers) importFile(r *http.Request, c requestedCollection, in rowImport, kind string, file io.Reader) (any, error) {
	if len(in.onConflict) > 0 {
		if err := c.check(r, "update"); err != nil {
			return nil, err
		}
	}
	next, err := h.rowSource(r, c, kind, file)
	if err != nil {
		return nil, err
	}
	done, err := h.Collections.Import(r.Context(), c.of, collections.Import{Target: c.target, Next: next, OnConflict: in.onConflict, DryRun: in.dryRun})
	if err != nil {
		err = collectionFault(err, domain.CodeValidation, nil)
		if refusal, ok := errors.AsType[*domain.Error](err); ok && done.Inserted+done.Updated > 0 && !in.dryRun {
			refusal.With("inserted", done.Inserted).With("updated", done.Updated)
		}
		return nil, err
	}
	answer := importResponse{
		Inserted: done.Inserted, Updated: done.Updated, Unchanged: done.Unchanged, Errors: append([]collection.ImportFault{}, done.Faults...), DroppedFields: done.Dropped,
	}
	if done.Refused > len(answer.Errors) {
		answer.ErrorsCount = done.Refused
	}
	slices.SortStableFunc(answer.Errors, func(a, b collection.ImportFault) int { return a.Line - b.Line })
	return answer, nil
}

// rowSource reads the rows of a file.
func (h *Handlers) rowSource(r *http.Request, c requestedCollection, kind string, file io.Reader) (collections.Source, error) {
	in := bufio.NewReaderSize(file, 64<<10)
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}
	switch kind {
	case "csv":
		read, err := h.Collections.TextReader(r.Context(), c.of, c.target)
		if err != nil {
			return nil, collectionFault(err, domain.CodeInvalidParameter, nil)
		}
		return tableSource(in, read)
	case "json":
		return listSource(in)
	}
	return lineSource(in), nil
}

// faultyLine is a line that is no row.
func faultyLine(line int, field, message string) (collection.ImportItem, *collection.ImportFault, bool, error) {
	return collection.ImportItem{}, &collection.ImportFault{Line: line, Field: field, Message: message}, true, nil
}

// rowOf reads the JSON of a row.
func rowOf(line int, text []byte) (collection.ImportItem, *collection.ImportFault, bool, error) {
	if err := gateway.CheckJSON(text); err != nil {
		return faultyLine(line, "", messageOf(err))
	}
	row, ok := parsedJSON(text).(*value.Object)
	if !ok {
		return faultyLine(line, "", "must be an object: a row")
	}
	return collection.ImportItem{Line: line, Data: row}, nil, true, nil
}

// lineSource reads a row of each line. Empty lines are none.
func lineSource(in *bufio.Reader) collections.Source {
	line := 0
	return func() (collection.ImportItem, *collection.ImportFault, bool, error) {
		for {
			text, err := in.ReadBytes('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				return collection.ImportItem{}, nil, false, err
			}
			line++
			if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 {
				return rowOf(line, trimmed)
			}
			if err != nil {
				return collection.ImportItem{}, nil, false, nil
			}
		}
	}
}

// lineCounter counts the lines of what is read through it.
type lineCounter struct {
	in     io.Reader
	read   int64
	breaks []int64 // places of line breaks that are not counted yet
	line   int     // of the last place that was asked for
}

// Read implements io.Reader.
func (l *lineCounter) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.breaks = append(l.breaks, l.read+int64(i))
		}
	}
	l.read += int64(n)
	return n, err
}

// at returns the line of a place, which is not before one that was asked for already.
func (l *lineCounter) at(offset int64) int {
	n := 0
	for n < len(l.breaks) && l.breaks[n] < offset {
		n++
	}
	l.breaks, l.line = l.breaks[n:], l.line+n
	return l.line + 1
}

// listSource reads the rows of a JSON list.
func listSource(in io.Reader) (collections.Source, error) {
	lines := &lineCounter{in: in}
	decoder := json.NewDecoder(lines)
	if first, err := decoder.Token(); err != nil || first != json.Delim('[') {
		if refusal, ok := errors.AsType[*domain.Error](err); ok {
			return nil, refusal
		}
		return nil, domain.Refuse(domain.CodeInvalidRequest, "the file must be a JSON list of rows")
	}
	over := false
	return func() (collection.ImportItem, *collection.ImportFault, bool, error) {
		if over {
			return collection.ImportItem{}, nil, false, nil
		}
		if decoder.More() {
			var raw json.RawMessage
			err := decoder.Decode(&raw)
			if err == nil {
				return rowOf(lines.at(decoder.InputOffset()-int64(len(raw))), raw)
			}
			return endOfList(lines, decoder, err, &over)
		}
		if _, err := decoder.Token(); err != nil {
			return endOfList(lines, decoder, err, &over)
		}
		return collection.ImportItem{}, nil, false, nil
	}, nil
}

// endOfList is where a list ceases to be one: what follows cannot be read.
func endOfList(lines *lineCounter, decoder *json.Decoder, err error, over *bool) (collection.ImportItem, *collection.ImportFault, bool, error) {
	*over = true
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return collection.ImportItem{}, nil, false, refusal
	}
	return faultyLine(lines.at(decoder.InputOffset()), "", "the file is not JSON from here on: "+err.Error())
}

// tableSource reads a row of each record of a table, whose first line names the fields.
// Empty cells are fields that a row does not have.
func tableSource(in *bufio.Reader, read collection.TextReader) (collections.Source, error) {
	table := csv.NewReader(in)
	table.Comma, table.ReuseRecord = delimiterOf(in), true
	head, err := table.Read()
	if err != nil {
		if refusal, ok := errors.AsType[*domain.Error](err); ok {
			return nil, refusal
		}
		return nil, domain.Refuse(domain.CodeInvalidRequest, "the first line of the file must name the fields")
	}
	fields := make([]string, len(head))
	for i, cell := range head {
		fields[i] = readCell(strings.TrimSpace(cell))
		if fields[i] == "" || !utf8.ValidString(fields[i]) || slices.Contains(fields[:i], fields[i]) {
			return nil, domain.Invalid(domain.FieldError{Field: fields[i], Message: "the first line of the file must name each field once"})
		}
	}
	return func() (collection.ImportItem, *collection.ImportFault, bool, error) {
		cells, err := table.Read()
		if errors.Is(err, io.EOF) {
			return collection.ImportItem{}, nil, false, nil
		}
		if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
			return faultyLine(wrong.StartLine, "", wrong.Err.Error())
		}
		if err != nil {
			return collection.ImportItem{}, nil, false, err
		}
		line, _ := table.FieldPos(0)
		row := &value.Object{}
		for i, cell := range cells {
			if !utf8.ValidString(cell) {
				return faultyLine(line, fields[i], "is not UTF-8")
			}
			if cell != "" {
				row.Set(fields[i], read(fields[i], readCell(cell)))
			}
		}
		return collection.ImportItem{Line: line, Data: row}, nil, true, nil
	}, nil
}

// delimiterOf is what stands between the fields of the first line: a semicolon or a tab
// when it has no comma.
func delimiterOf(in *bufio.Reader) rune {
	head, _ := in.Peek(in.Size())
	head, _, _ = bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.ContainsRune(head, ','):
	case bytes.ContainsRune(head, ';'):
		return ';'
	case bytes.ContainsRune(head, '\t'):
		return '\t'
	}
	return ','
}
