package feed

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"svc/domain"
)

// Signature is what an index keeps of everything that an event says: it tells that
// a word or a value surely is not there. An empty one tells nothing.
type Signature []byte

// signatureBits is the size of a signature before it is folded; an event that says
// too much for it has none.
const signatureBits = 8192

// probes is how many bits stand for a word or a value. Much of what events say is the same in
// all of them, such as their workspace: where the bits of a word are all among those, the word
// is looked for in every event. With six bits that hardly happens.
const probes = 6

// SignatureOfRecorded returns the signature of a recorded event, with the payload as it is stored.
func SignatureOfRecorded(ev *domain.Recorded) Signature {
	var e Event
	e.set(ev, domain.Position{}, ev.Body)
	return SignatureOf(&e)
}

// SignatureOf returns the signature of an event.
func SignatureOf(e *Event) Signature {
	s := signers.Get().(*signer)
	defer signers.Put(s)
	s.bits = bloom{}
	for i, n := range e.named() {
		if n.text != "" {
			addLeaf(&s.bits, namedHashes[i], n.text)
		}
	}
	if len(e.Payload) > 0 && !s.leaves(e.Payload, "payload") {
		return nil
	}
	return s.bits.fold()
}

// signer makes signatures. It is used again: a signature of its own for each would be the largest part of what an event costs.
type signer struct {
	scanner
	bits bloom
}

var signers = sync.Pool{New: func() any {
	s := &signer{}
	s.leaf = func(path, text []byte) { addLeaf(&s.bits, hashStart.bytes(path).add('='), text) }
	return s
}}

// namedHashes are the hashes that those of the texts of the envelope begin with, in the order of Event.named.
var namedHashes = func() (hashes [16]hash) {
	for i, n := range (&Event{}).named() {
		hashes[i] = hashStart.text(n.path).add('=')
	}
	return hashes
}()

// bloom collects words and values.
type bloom [signatureBits / 64]uint64

func (b *bloom) add(h hash) {
	for i := range hash(probes) {
		at := (h + i*(h>>32|1)) % signatureBits
		b[at/64] |= 1 << (at % 64)
	}
}

// smallLetters has the small letter of each ASCII letter, and digits; 0 for others.
var smallLetters = func() (small [256]byte) {
	for c := range byte(utf8.RuneSelf) {
		if inWord(rune(c)) {
			small[c] = byte(unicode.ToLower(rune(c)))
		}
	}
	return small
}()

// addLeaf adds a text with its path, which pair is the hash of, and the words of the text: those of Words.
func addLeaf[T string | []byte](b *bloom, pair hash, text T) {
	word, open := hashStart, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		pair = pair.add(c) // beside the hash of the word, of which it is independent
		if small := smallLetters[c]; small != 0 {
			word, open = word.add(small), true
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			for ; size > 1; size-- {
				i++
				pair = pair.add(text[i])
			}
			if inWord(r) {
				word, open = word.text(strings.ToLower(string(r))), true
				continue
			}
		}
		if open {
			b.add(word)
			word, open = hashStart, false
		}
	}
	if open {
		b.add(word)
	}
	b.add(pair)
}

// leaves visits everything that an event says, with the path of each; false when
// that was not possible. Both are valid during the visit only.
func (e *Event) leaves(visit func(path, text []byte)) bool {
	var both []byte
	for _, n := range e.named() {
		if n.text != "" {
			both = append(append(both[:0], n.path...), n.text...)
			visit(both[:len(n.path)], both[len(n.path):])
		}
	}
	s := scanner{leaf: visit}
	return len(e.Payload) == 0 || s.leaves(e.Payload, "payload")
}

// named is a text of the envelope.
type named struct{ path, text string }

// named lists the texts of the envelope that are looked for.
func (e *Event) named() [16]named {
	m, t := &e.Source, e.Target
	if t == nil {
		t = &domain.Target{}
	}
	return [...]named{
		{"id", e.ID}, {"type", e.Type}, {"source.workspaceId", m.WorkspaceID}, {"source.userId", m.UserID},
		{"source.sessionId", m.SessionID}, {"source.correlationId", m.CorrelationID}, {"source.traceId", m.TraceID},
		{"source.automationSlug", m.AutomationSlug}, {"source.executionId", m.ExecutionID}, {"source.appSlug", m.AppSlug},
		{"source.appInstanceFullSlug", m.AppInstance}, {"source.socketId", m.SocketID}, {"source.ip", m.IP},
		{"target.userId", t.UserID}, {"target.sessionId", t.SessionID}, {"target.userTopic", t.UserTopic},
	}
}

// isSigned reports whether a signature knows of a path.
func isSigned(path string) bool {
	all := (&Event{}).named()
	return strings.HasPrefix(path, "payload.") || slices.ContainsFunc(all[:], func(n named) bool { return n.path == path })
}

// fold makes the signature as small as its bits allow; there is none when even the largest
// would be too full.
func (b *bloom) fold() Signature {
	ones := 0
	for _, word := range b {
		ones += bits.OnesCount64(word)
	}
	size := 1
	for ; 2*64*size < 5*ones; size *= 2 {
		if size == len(b) {
			return nil
		}
	}
	for half := len(b) / 2; half >= size; half /= 2 {
		for i := range half {
			b[i] |= b[half+i]
		}
	}
	sig := make(Signature, 0, 8*size)
	for _, word := range b[:size] {
		sig = binary.LittleEndian.AppendUint64(sig, word)
	}
	return sig
}

// may reports whether what has this hash may be in the event.
func (s Signature) may(h hash) bool {
	size := hash(len(s)) * 8
	if size == 0 {
		return true
	}
	for i := range hash(probes) {
		at := (h + i*(h>>32|1)) % signatureBits % size
		if s[at/8]&(1<<(at%8)) == 0 {
			return false
		}
	}
	return true
}

// maxDepth is how deep a payload is looked into.
const maxDepth = 100

// scanner visits the leaves of a JSON value without decoding it: an index looks at
// every event that is ever recorded.
type scanner struct {
	data []byte
	at   int
	path []byte // of the leaf, dotted
	// leaf is called with the path and the text of each text, number, true and
	// false. Both are valid during the call only.
	leaf func(path, text []byte)
	ok   bool // what was seen was JSON, and not too deep
}

// leaves visits the leaves of data; false when it could not look at all of them.
func (s *scanner) leaves(data []byte, prefix string) bool {
	s.data, s.at, s.path, s.ok = data, 0, append(s.path[:0], prefix...), true
	s.value(0)
	s.data = nil
	return s.ok
}

func (s *scanner) space() byte {
	for ; s.at < len(s.data); s.at++ {
		if c := s.data[s.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	s.ok = false
	return 0
}

func (s *scanner) value(depth int) {
	c := s.space()
	switch {
	case depth > maxDepth:
		s.ok = false
	case c == '{':
		s.object(depth)
	case c == '[':
		s.list(depth)
	case c == '"':
		s.leaf(s.path, s.text())
	case s.ok:
		s.word()
	}
}

func (s *scanner) object(depth int) {
	s.at++
	length := len(s.path)
	for s.ok {
		switch c := s.space(); c {
		case '}':
			s.at++
			return
		case ',':
			s.at++
		case '"':
			if key := s.text(); len(s.path) > 0 {
				s.path = append(append(s.path, '.'), key...)
			} else {
				s.path = append(s.path, key...)
			}
			if s.space() == ':' {
				s.at++
			}
			s.value(depth + 1)
			s.path = s.path[:length]
		default:
			s.ok = false
		}
	}
}

func (s *scanner) list(depth int) {
	s.at++
	for s.ok {
		switch s.space() {
		case ']':
			s.at++
			return
		case ',':
			s.at++
		default:
			s.value(depth + 1)
		}
	}
}

// word is a number, true, false or null.
func (s *scanner) word() {
	start := s.at
	for ; s.at < len(s.data); s.at++ {
		if c := s.data[s.at]; c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			break
		}
	}
	word := s.data[start:s.at]
	switch {
	case len(word) == 0:
		s.ok = false
	case word[0] == 't' || word[0] == 'f':
		s.leaf(s.path, word)
	case word[0] != 'n':
		s.leaf(s.path, plainNumber(word))
	}
}

// plainNumber returns a number in the one form that it is compared in.
func plainNumber(word []byte) []byte {
	for _, c := range word {
		if c < '0' || c > '9' {
			return []byte(NumberText(string(word)))
		}
	}
	if len(word) > 15 {
		return []byte(NumberText(string(word)))
	}
	return word
}

// NumberText returns the text of a number in the one form that it is compared in:
// 1, 1.0 and 1e0 are the same.
func NumberText(number string) string {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// text returns the string that begins here, and goes behind it.
func (s *scanner) text() []byte {
	start := s.at
	escaped := false
	for s.at++; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			escaped = true
			s.at++
		case '"':
			s.at++
			raw := s.data[start:s.at]
			if !escaped {
				return raw[1 : len(raw)-1]
			}
			var t string
			if json.Unmarshal(raw, &t) != nil || !utf8.ValidString(t) {
				s.ok = false
			}
			return []byte(t)
		}
	}
	s.ok = false
	return nil
}

// Words calls visit with each word of a text, in small letters, until it returns
// false: a word is a run of letters and digits.
func Words(text string, visit func(word string) (more bool)) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !inWord(r) }) {
		if !visit(strings.ToLower(word)) {
			return
		}
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// hash is FNV-1a, which can be fed byte by byte.
type hash uint64

const (
	hashStart hash = 14695981039346656037
	hashPrime hash = 1099511628211
)

func (h hash) add(c byte) hash { return (h ^ hash(c)) * hashPrime }

func (h hash) bytes(b []byte) hash {
	for _, c := range b {
		h = h.add(c)
	}
	return h
}

func (h hash) text(s string) hash {
	for i := range len(s) {
		h = h.add(s[i])
	}
	return h
}
