package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"svc/domain"
)

// The shape of multipart bodies.
const (
	maxParts      = 50
	maxFieldParts = 1000 // of a FilesBody: who reads it limits its files
	maxTextPart   = megabyte
	maxFullFiles  = 10 // of the largest size in a FilesBody
)

// limitBody is the step that limits the body: by its announced length, and again while it is read.
func (g *Gateway) limitBody(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.Body == NoBody {
		r.Body = http.NoBody
		return nil
	}
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	most := ex.bodyLimit(r)
	if r.ContentLength > most {
		return tooLarge(r.ContentLength, most)
	}
	r.Body = http.MaxBytesReader(nil, r.Body, most)
	return nil
}

// bodyLimit returns the limit of the route's body. A multipart body has several parts, whose
// reader limits each of them.
func (ex *exchange) bodyLimit(r *http.Request) int64 {
	multipart := strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "multipart/")
	switch {
	case ex.route.MaxBody > 0:
		return ex.route.MaxBody
	case ex.route.Body == UploadBody && multipart:
		return maxParts * max(ex.settings.UploadsMaxSize, maxTextPart)
	case ex.route.Body == UploadBody:
		return ex.settings.UploadsMaxSize
	case ex.route.Body == FormBody && multipart:
		return ex.settings.UploadsMaxSize + megabyte
	case ex.route.Body == FilesBody && multipart:
		return maxFullFiles*ex.settings.UploadsMaxSize + megabyte
	case ex.route.Body == ArchiveBody && multipart:
		return ex.settings.ImportMaxSize + megabyte
	case ex.route.Body == ArchiveBody:
		return ex.settings.ImportMaxSize
	}
	return ex.settings.RequestMaxSize
}

// readBody reads a body to its end. Every error is one of the client: too much, too little, too late,
// or a lost connection.
// presumedBody is how much memory a body gets before it has arrived.
const presumedBody = 64 << 10

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), presumedBody)) + bytes.MinRead)
	if _, err := body.ReadFrom(BodyReader(r)); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// BodyReader returns a reader of the body of r. Its errors are refusals, as those of ReadBody.
func BodyReader(r *http.Request) io.Reader {
	if r.Body == nil {
		return http.NoBody
	}
	return bodyReader{r}
}

type bodyReader struct{ r *http.Request }

// Read implements io.Reader.
func (b bodyReader) Read(p []byte) (int, error) {
	n, err := b.r.Body.Read(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return n, tooLarge(max(b.r.ContentLength, large.Limit+1), large.Limit)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return n, err
	}
	return n, badBody("the body could not be read to its end")
}

// ReadBody returns the body of r, bounded as its route says.
func ReadBody(r *http.Request) ([]byte, error) { return readBody(r) }

// maxNesting is how deep a JSON body may be.
const maxNesting = 64

// Decode reads the JSON body of r into v. Bodies are closed: a field that v
// does not have, a key given twice or a value of another type is refused and
// named by its dotted path. Maps, interfaces, json.RawMessage and types that
// decode themselves are open: only repeated keys and unpaired surrogates are refused
// there. No body is an empty object. A body without a Content-Type is decoded as JSON;
// one that is nested too deeply is refused with 400, like any other invalid body.
func Decode(r *http.Request, v any) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		body = []byte("{}")
	} else if err := CheckJSONType(r.Header); err != nil {
		return err
	}
	return decodeJSON(body, v)
}

// CheckJSONType refuses other content types than JSON.
func CheckJSONType(h http.Header) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return RefuseStatus(http.StatusUnsupportedMediaType, "bodies must not be encoded")
	}
	declared := h.Get("Content-Type")
	if declared == "" {
		return nil
	}
	media, params, err := mime.ParseMediaType(declared)
	charset := params["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return RefuseStatus(http.StatusUnsupportedMediaType, "the body must be application/json in UTF-8")
	}
	return nil
}

// SelfDecoder is implemented by a type of body that is decoded often: it is decoded without reflection. DecodeBody keeps
// parts of the body, in which no key is repeated or unknown. It fails, without a change, for what is of another shape: encoding/json
// decides about that.
type SelfDecoder interface{ DecodeBody(body []byte) error }

// decodeJSON is Decode for bytes.
func decodeJSON(body []byte, v any) error {
	if err := walkJSON(body, reflect.TypeOf(v)); err != nil {
		return err
	}
	if d, ok := v.(SelfDecoder); ok && d.DecodeBody(body) == nil {
		return nil
	}
	err := json.Unmarshal(body, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrongType(wrong, reflect.TypeOf(v))
	}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return refusal // a type that decodes itself knows better
	}
	if err != nil {
		return badBody("the body is not acceptable")
	}
	return nil
}

// walkJSON refuses a body that is not JSON, or in which a walker finds faults.
func walkJSON(body []byte, t reflect.Type) error {
	if !utf8.Valid(body) {
		return badBody("the body is not UTF-8")
	}
	if !domain.IsEncoded(body) && !json.Valid(body) { // the former is faster, and true of what programs send
		var whole json.RawMessage
		if err := json.Unmarshal(body, &whole); err != nil && !tooDeep(body, err) {
			return badBody("the body is not JSON: " + err.Error())
		}
	}
	w := walker{data: body}
	w.value(t, 0)
	if len(w.faults) > 0 {
		return badBody(w.faults[0].Field+": "+w.faults[0].Message, w.faults...)
	}
	return nil
}

// tooDeep reports whether a body that is not valid JSON is nested too deeply before the syntax
// error: a walker stops there, and names the place.
func tooDeep(body []byte, err error) bool {
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < min(int(wrong.Offset), len(body))-1 && depth <= maxNesting; i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			depth++
		case !quoted && (c == '}' || c == ']'):
			depth--
		}
	}
	return depth > maxNesting
}

// CheckJSON refuses a text that is not a JSON object, or has repeated keys, unpaired surrogates or
// too many levels, as Decode does.
func CheckJSON(body []byte) error {
	var open map[string]json.RawMessage
	err := walkJSON(body, reflect.TypeOf(&open))
	if err != nil || bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return err
	}
	return decodeJSON(body, &open)
}

// CheckAnyJSON is CheckJSON for any value, not only objects.
func CheckAnyJSON(body []byte) error { return walkJSON(body, nil) }

// badBody is the refusal of a body's shape.
func badBody(message string, faults ...domain.FieldError) error {
	e := domain.Refuse(domain.CodeInvalidRequest, "%s", message)
	if len(faults) > 0 {
		e.With("errors", faults)
	}
	return e
}

// wrongType names the field of a body of type t and what it should have been.
func wrongType(e *json.UnmarshalTypeError, t reflect.Type) error {
	expected := "must be " + jsonName(e.Type)
	if e.Field == "" {
		return badBody("the body " + expected)
	}
	field := domain.Shorten(withoutEmbedded(e.Field, t), maxQuoted)
	return badBody(field+": "+expected, domain.FieldError{Field: field, Message: expected})
}

// withoutEmbedded returns a path into a type without the names of embedded structs, which are not
// fields of the body.
func withoutEmbedded(path string, t reflect.Type) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	first, rest, nested := strings.Cut(path, ".")
	if !nested || t.Kind() != reflect.Struct {
		return path
	}
	if f, ok := t.FieldByName(first); ok && f.Anonymous && f.Tag.Get("json") == "" {
		return withoutEmbedded(rest, f.Type)
	}
	if inner, ok := fieldsOf(t)[first]; ok {
		return first + "." + withoutEmbedded(rest, inner)
	}
	return path
}

// jsonName names a Go type as a client knows it.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number in range"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number in range, not negative"
	case reflect.Float32, reflect.Float64:
		return "a number in range"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "of another type"
}

// walker walks over valid JSON together with the type that it will be decoded into, and finds
// unknown and repeated keys. encoding/json would accept the latter, and name the former without
// its path.
type walker struct {
	data    []byte
	pos     int
	path    []pathStep // of the value that is walked over
	faults  []domain.FieldError
	tooDeep bool
}

// pathStep leads into an object or a list.
type pathStep struct {
	key   []byte // of an object; nil: the step is into a list
	index int
}

// The limits of the faults in one answer.
const (
	maxFaults = 20  // listed
	maxQuoted = 100 // characters of a name that the client chose
)

// at returns the path of the value.
func (w *walker) at() (path string) {
	for _, step := range w.path {
		if step.key == nil {
			path += "[" + strconv.Itoa(step.index) + "]"
		} else {
			path = joinPath(path, string(step.key))
		}
	}
	return path
}

// fault adds a fault of the value; orRoot names the whole body.
func (w *walker) fault(orRoot, message string) {
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, domain.FieldError{Field: domain.Shorten(cmp.Or(w.at(), orRoot), maxQuoted), Message: message})
	}
}

// value walks over one value. A nil type is open.
func (w *walker) value(t reflect.Type, depth int) {
	t = closedType(t)
	w.space()
	opening := w.data[w.pos] == '{' || w.data[w.pos] == '['
	if w.tooDeep = opening && depth >= maxNesting; w.tooDeep {
		w.faults = nil
		w.fault("", "is nested too deeply")
		return
	}
	switch w.data[w.pos] {
	case '{':
		w.object(t, depth)
	case '[':
		w.list(t, depth)
	case '"':
		if quoted := w.text(); bytes.IndexByte(quoted, '\\') >= 0 && !isPaired(quoted) {
			w.fault("body", unpaired)
		}
	default:
		w.scalar(t, depth)
	}
}

// keySet is the keys of an object so far.
type keySet struct {
	few  [8][]byte
	n    int
	many map[string]bool // when there are more
}

// add adds a key, and reports whether it was there.
func (s *keySet) add(key []byte) (known bool) {
	if s.many != nil {
		known = s.many[string(key)]
		s.many[string(key)] = true
		return known
	}
	for _, other := range s.few[:s.n] {
		if bytes.Equal(other, key) {
			return true
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = key
		s.n++
		return false
	}
	s.many = map[string]bool{string(key): true}
	for _, other := range s.few {
		s.many[string(other)] = true
	}
	return false
}

func (w *walker) object(t reflect.Type, depth int) {
	var seen keySet
	for w.pos++; w.next() != '}'; {
		quoted := w.text()
		key, whole := quoted[1:len(quoted)-1], true
		if bytes.IndexByte(key, '\\') >= 0 {
			var text string
			_ = json.Unmarshal(quoted, &text) // valid: the body is valid JSON
			key, whole = []byte(text), isPaired(quoted)
		}
		w.path = append(w.path, pathStep{key: key})
		if !whole {
			w.fault("", unpaired)
		}
		if seen.add(key) {
			w.fault("", "given twice")
		}
		w.next() // the colon
		w.value(w.member(t, key), depth+1)
		if w.tooDeep {
			return
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.pos++
}

// member returns the type of a key of an object of type t. An unknown key is a fault.
func (w *walker) member(t reflect.Type, key []byte) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		field, ok := fieldsOf(t)[string(key)]
		if !ok {
			w.fault("", "unknown field")
		}
		return field
	}
	return nil
}

func (w *walker) list(t reflect.Type, depth int) {
	var element reflect.Type
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		element = t.Elem()
	}
	w.pos++
	for i := 0; w.next() != ']'; i++ {
		w.path = append(w.path, pathStep{index: i})
		w.value(element, depth+1)
		if w.tooDeep {
			return
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.pos++
}

// scalar skips a number, true, false or null. A body that is null is a fault: it must be an object.
func (w *walker) scalar(t reflect.Type, depth int) {
	if depth == 0 && t != nil && w.data[w.pos] == 'n' {
		w.fault("body", "must be "+jsonName(t))
	}
	for w.pos < len(w.data) && !strings.ContainsRune(" \t\r\n,]}", rune(w.data[w.pos])) {
		w.pos++
	}
}

// unpaired is the fault of a text that cannot be encoded in UTF-8.
const unpaired = "has an unpaired surrogate"

// text reads a string and returns it as it is written, with its quotes.
func (w *walker) text() []byte {
	start := w.pos
	for w.pos++; w.data[w.pos] != '"'; w.pos++ {
		if w.data[w.pos] == '\\' {
			w.pos++
		}
	}
	w.pos++
	return w.data[start:w.pos]
}

// isPaired reports whether a quoted string has no unpaired surrogate.
func isPaired(quoted []byte) bool {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		if i++; quoted[i] != 'u' {
			continue
		}
		first := escapedUnit(quoted[i-1:])
		if i += 4; !utf16.IsSurrogate(first) {
			continue
		}
		if utf16.DecodeRune(first, escapedUnit(quoted[i+1:])) == utf8.RuneError {
			return false
		}
		i += 6
	}
	return true
}

// escapedUnit is the number of a \u escape with its four digits at the beginning of b, or -1.
func escapedUnit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// next skips space, commas and colons and returns what follows.
func (w *walker) next() byte {
	for strings.IndexByte(" \t\r\n,:", w.data[w.pos]) >= 0 {
		w.pos++
	}
	return w.data[w.pos]
}

func (w *walker) space() {
	for strings.IndexByte(" \t\r\n", w.data[w.pos]) >= 0 {
		w.pos++
	}
}

func joinPath(path, key string) string {
	if path == "" {
		return domain.Shorten(key, maxQuoted)
	}
	return path + "." + domain.Shorten(key, maxQuoted)
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// closedType returns the type that a value is checked against: t without pointers, or nil for a
// type that decodes itself or accepts anything.
func closedType(t reflect.Type) reflect.Type {
	for t != nil {
		if ptr := reflect.PointerTo(t); ptr.Implements(jsonDecoder) || ptr.Implements(textDecoder) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	if t == nil || t.Kind() == reflect.Interface {
		return nil
	}
	return t
}

// knownFields caches fieldsOf: handlers have few types.
var knownFields sync.Map

// fieldsOf lists the JSON fields of a struct, those of embedded ones included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || f.Anonymous && name == "" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		fields[name] = f.Type
	}
	knownFields.Store(t, fields)
	return fields
}

// Part is one field of a multipart body. The function that receives the part reads its file;
// reading past the limit is refused with 413.
type Part struct {
	Name     string
	Filename string // empty: a text field
	Type     string
	Text     string    // of a text field
	File     io.Reader // of a file
}

// Parts calls handle for each part of a multipart body, in order. Files may have
// maxFile bytes each (zero: UPLOADS_MAX_SIZE), text fields 1 MB, and there may
// be 50 parts, or 1000 of a FilesBody.
func Parts(r *http.Request, maxFile int64, handle func(Part) error) error {
	end := newBoundaryReader(r)
	r.Body = end
	reader, err := r.MultipartReader()
	if err != nil {
		return RefuseStatus(http.StatusUnsupportedMediaType, "the body must be multipart/form-data")
	}
	if maxFile <= 0 {
		maxFile = exchangeOf(r).settings.UploadsMaxSize
	}
	most := maxParts
	if exchangeOf(r).route.Body == FilesBody {
		most = maxFieldParts
	}
	for n := 0; ; n++ {
		raw, err := reader.NextPart()
		if err == io.EOF && end.seen { //nolint:errorlint // a wrapped EOF is a body cut short
			return nil
		}
		if err != nil {
			return badPart(err)
		}
		if n == most {
			return badBody("the body has too many parts")
		}
		part, err := readPart(raw, maxFile)
		if err != nil {
			return err
		}
		if err := handle(part); err != nil {
			return err
		}
	}
}

// boundaryReader is a multipart body that records whether its last boundary was read: otherwise a
// body that is cut off within the headers of a part looks complete.
type boundaryReader struct {
	io.ReadCloser
	mark []byte // the boundary at its end, at the beginning of a line
	last []byte // of what was read, less than a mark
	seen bool
}

func newBoundaryReader(r *http.Request) *boundaryReader {
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return &boundaryReader{ReadCloser: r.Body, mark: []byte("\n--" + params["boundary"] + "--"), last: []byte("\n")}
}

// Read implements io.Reader.
func (c *boundaryReader) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	if !c.seen {
		c.last = append(c.last, b[:n]...)
		c.seen = bytes.Contains(c.last, c.mark)
		c.last = append(c.last[:0], c.last[max(0, len(c.last)-len(c.mark)+1):]...)
	}
	return n, err
}

func readPart(raw *multipart.Part, maxFile int64) (Part, error) {
	part := Part{Name: raw.FormName(), Filename: raw.FileName(), Type: raw.Header.Get("Content-Type")}
	if !printable(part.Name) || !printable(part.Filename) {
		return part, badBody("the name of a part is not acceptable text")
	}
	if part.Filename != "" {
		part.File = partReader{http.MaxBytesReader(nil, raw, maxFile)}
		return part, nil
	}
	text, err := io.ReadAll(partReader{http.MaxBytesReader(nil, raw, maxTextPart)})
	part.Text = string(text)
	return part, err
}

// partReader turns read errors of a part into refusals.
type partReader struct{ io.Reader }

// Read implements io.Reader.
func (p partReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = badPart(err)
	}
	return n, err
}

func badPart(err error) error {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(large.Limit+1, large.Limit)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return badBody("the multipart body is malformed")
}

// Timeouts and limits for a body that is not used.
const (
	drainMost  = 256 << 10              // how much of it is read to keep the connection
	drainWait  = 20 * time.Millisecond  // how long the answer waits for its bytes
	lingerWait = 500 * time.Millisecond // how long the connection stays open after the answer
)

// errSlowBody says that a body did not arrive within its deadline.
var errSlowBody = fmt.Errorf("the body did not come in time: %w", context.DeadlineExceeded)

// requestBody is the body of a request, with a deadline. Its bytes must arrive within the request
// timeout; on a streaming route each read has its own. Otherwise a slow client would block the
// connection and the answer, because net/http reads a body to its end before it answers.
//
// Deadlines belong to the socket, so they use the real clock.
type requestBody struct {
	io.ReadCloser
	conn    *http.ResponseController
	idle    time.Duration // the deadline of each read; zero: one deadline for the whole body
	unasked bool          // the client waits for 100 Continue before it sends
	length  int64         // -1: not announced

	whole    atomic.Bool // read to its end
	finished atomic.Bool // the answer has begun: the body is not read any more
}

// watchBody sets the deadline for the body of r, and passes it to rec.
func watchBody(rec *recorder, r *http.Request, ex *exchange) {
	if r.Body == nil || r.Body == http.NoBody || r.ProtoMajor != 1 {
		return
	}
	b := &requestBody{
		ReadCloser: r.Body, conn: http.NewResponseController(rec.ResponseWriter),
		unasked: strings.EqualFold(r.Header.Get("Expect"), "100-continue"), length: r.ContentLength,
	}
	if ex.route != nil && ex.route.Streaming {
		b.idle = ex.settings.RequestTimeout
	}
	b.extendDeadline(ex.settings.RequestTimeout)
	r.Body, rec.incoming = b, b
}

// extendDeadline sets the read deadline. A writer without a connection, in tests, has none.
func (b *requestBody) extendDeadline(d time.Duration) { _ = b.conn.SetReadDeadline(time.Now().Add(d)) }

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.finished.Load() {
		return 0, errSlowBody
	}
	if b.idle > 0 {
		b.extendDeadline(b.idle)
	}
	n, err := b.readBytes(p)
	if err != nil && b.finished.Load() {
		err = errSlowBody // finish may have reached the end: the body would look complete
	}
	return n, err
}

// readBytes reads, and records the end of the body. The deadline ends there: net/http removes it
// to watch the connection, and would wait for ever if we removed it at another time.
func (b *requestBody) readBytes(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.whole.Store(true)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errSlowBody
	}
	return n, err
}

// finish is called before an answer is sent. An unread body must not delay the answer: bytes that
// have arrived are read, so that the connection can be reused; else it is closed after the answer,
// with a moment for the client to read it.
func (b *requestBody) finish(h http.Header) {
	if b == nil || b.whole.Load() || b.finished.Swap(true) {
		return
	}
	if !b.unasked && b.length <= drainMost {
		b.extendDeadline(drainWait)
		_, _ = io.CopyN(io.Discard, readerFunc(b.readBytes), drainMost)
		if b.whole.Load() {
			return
		}
	}
	h.Set("Connection", "close")
	b.extendDeadline(lingerWait)
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
