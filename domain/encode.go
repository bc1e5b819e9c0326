package domain

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// SelfEncoder is implemented by an event that is stored often, as for every run or save, and by what the API shows of it:
// it is encoded without reflection, to the bytes that encoding/json makes of it.
type SelfEncoder interface {
	AppendJSON(to []byte) ([]byte, error)
}

// ObjectEncoder appends a JSON object, member by member, as encoding/json writes it. Names of members have nothing to escape.
type ObjectEncoder struct {
	json []byte
	err  error
}

// NewObjectEncoder returns an encoder that appends an object to bytes.
func NewObjectEncoder(to []byte) ObjectEncoder { return ObjectEncoder{json: append(to, '{')} }

// End returns the bytes with the object.
func (o *ObjectEncoder) End() ([]byte, error) { return append(o.json, '}'), o.err }

func (o *ObjectEncoder) begin(name string) {
	if o.json[len(o.json)-1] != '{' {
		o.json = append(o.json, ',')
	}
	o.json = append(append(append(o.json, '"'), name...), '"', ':')
}

// Open begins a member that is an object: what follows is in it, until Close.
func (o *ObjectEncoder) Open(name string) {
	o.begin(name)
	o.json = append(o.json, '{')
}

// Close ends a member that is an object.
func (o *ObjectEncoder) Close() { o.json = append(o.json, '}') }

// Text adds a text.
func (o *ObjectEncoder) Text(name, text string) {
	o.begin(name)
	o.json = AppendText(o.json, text)
}

// TextIfAny adds a text that is not empty.
func (o *ObjectEncoder) TextIfAny(name, text string) {
	if text != "" {
		o.Text(name, text)
	}
}

// Int adds a number.
func (o *ObjectEncoder) Int(name string, n int64) {
	o.begin(name)
	o.json = strconv.AppendInt(o.json, n, 10)
}

// IntIfAny adds a number that is not 0.
func (o *ObjectEncoder) IntIfAny(name string, n int64) {
	if n != 0 {
		o.Int(name, n)
	}
}

// Bool adds true or false.
func (o *ObjectEncoder) Bool(name string, is bool) {
	o.begin(name)
	o.json = strconv.AppendBool(o.json, is)
}

// IfTrue adds true.
func (o *ObjectEncoder) IfTrue(name string, is bool) {
	if is {
		o.Bool(name, true)
	}
}

// Time adds a time.
func (o *ObjectEncoder) Time(name string, t time.Time) {
	o.begin(name)
	encoded, err := t.AppendText(append(o.json, '"'))
	if err != nil {
		o.Fail(err)
		return
	}
	o.json = append(encoded, '"')
}

// TimeIfAny adds a time that is not zero.
func (o *ObjectEncoder) TimeIfAny(name string, t time.Time) {
	if !t.IsZero() {
		o.Time(name, t)
	}
}

// Each adds a member that is a list of n objects, of which element adds the members.
func (o *ObjectEncoder) Each(name string, n int, element func(i int)) {
	o.begin(name)
	o.json = append(o.json, '[')
	for i := range n {
		if i > 0 {
			o.json = append(o.json, ',')
		}
		o.json = append(o.json, '{')
		element(i)
		o.json = append(o.json, '}')
	}
	o.json = append(o.json, ']')
}

// TextsIfAny adds a list of texts that is not empty.
func (o *ObjectEncoder) TextsIfAny(name string, texts []string) {
	if len(texts) > 0 {
		o.begin(name)
		o.json = AppendTexts(o.json, texts)
	}
}

// JSON adds JSON as encoding/json writes it again: without spaces.
func (o *ObjectEncoder) JSON(name string, body json.RawMessage) {
	if IsEncoded(body) {
		o.Encoded(name, body)
		return
	}
	o.Any(name, body)
}

// Self adds a value that encodes itself.
func (o *ObjectEncoder) Self(name string, v SelfEncoder) {
	o.begin(name)
	encoded, err := v.AppendJSON(o.json)
	if err != nil {
		o.Fail(err)
		return
	}
	o.json = encoded
}

// Fail makes End return an error.
func (o *ObjectEncoder) Fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// Any adds a value as encoding/json encodes it.
func (o *ObjectEncoder) Any(name string, v any) {
	encoded, err := json.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.Encoded(name, encoded)
}

// Encoded adds a value that encoding/json has encoded.
func (o *ObjectEncoder) Encoded(name string, encoded []byte) {
	o.begin(name)
	o.json = append(o.json, encoded...)
}

// AppendText appends a text as encoding/json encodes it.
func AppendText(to []byte, text string) []byte {
	to = append(to, '"')
	begin := 0 // of what is not appended yet
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if textBytes[c] != 0 {
				to = appendEscape(append(to, text[begin:i]...), c)
				begin = i + 1
			}
			i++
			continue
		}
		r, length := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && length == 1:
			to = append(append(to, text[begin:i]...), `\ufffd`...)
			begin = i + 1
		case r == '\u2028' || r == '\u2029':
			to = append(append(append(to, text[begin:i]...), `\u202`...), hexDigits[r&0xF])
			begin = i + length
		}
		i += length
	}
	return append(append(to, text[begin:]...), '"')
}

// AppendTexts appends a list of texts as encoding/json encodes it; nil is an empty list.
func AppendTexts(to []byte, texts []string) []byte {
	to = append(to, '[')
	for i, text := range texts {
		if i > 0 {
			to = append(to, ',')
		}
		to = AppendText(to, text)
	}
	return append(to, ']')
}

const hexDigits = "0123456789abcdef"

// appendEscape appends the escape of a character below 0x80.
func appendEscape(to []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(to, '\\', c)
	case '\b':
		return append(to, '\\', 'b')
	case '\f':
		return append(to, '\\', 'f')
	case '\n':
		return append(to, '\\', 'n')
	case '\r':
		return append(to, '\\', 'r')
	case '\t':
		return append(to, '\\', 't')
	}
	return append(to, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}

// Encode adds the members of the source.
func (m *Meta) Encode(o *ObjectEncoder) {
	o.TextIfAny("userId", m.UserID)
	o.TextIfAny("sessionId", m.SessionID)
	o.TextIfAny("correlationId", m.CorrelationID)
	o.TextIfAny("traceId", m.TraceID)
	o.TextIfAny("ip", m.IP)
	o.TextIfAny("socketId", m.SocketID)
	o.TextIfAny("automationSlug", m.AutomationSlug)
	o.IntIfAny("automationDepth", int64(m.AutomationDepth))
	o.TextIfAny("executionId", m.ExecutionID)
	o.TextIfAny("appSlug", m.AppSlug)
	o.TextIfAny("appInstanceFullSlug", m.AppInstance)
	o.IntIfAny("appInstanceDepth", int64(m.AppDepth))
	o.TextIfAny("serviceTopic", m.ServiceTopic)
	o.Open("host")
	o.TextIfAny("service", m.Host.Service)
	o.TextIfAny("replica", m.Host.Replica)
	o.Close()
	if m.HTTP != nil {
		o.Open("http")
		o.TextIfAny("method", m.HTTP.Method)
		o.TextIfAny("path", m.HTTP.Path)
		o.TextIfAny("hostname", m.HTTP.Hostname)
		o.Close()
	}
	if m.Actor != nil {
		o.Any("actor", m.Actor)
	}
	o.IfTrue("hides", m.Hides)
}
