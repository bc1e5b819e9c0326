package feed

import (
	"math/bits"
	"slices"
	"strings"

	"svc/domain"
)

// Signature is what an index keeps of everything that an event says: it tells that
// a word or a value surely is not there. An empty one tells nothing.
type Signature []byte

// signatureBits is the size of a signature before it is folded; an event that says
// too much for it has none.
const signatureBits = 4096

// probes is how many bits stand for a word or a value.
const probes = 3

// SignatureOf returns the signature of an event.
func SignatureOf(e *Event) Signature {
	var b bloom
	if !e.leaves(b.leaf) {
		return nil
	}
	return b.fold()
}

// bloom collects words and values.
type bloom [signatureBits / 64]uint64

func (b *bloom) add(h hash) {
	for i := range hash(probes) {
		at := (h + i*(h>>32|1)) % signatureBits
		b[at/64] |= 1 << (at % 64)
	}
}

func (b *bloom) leaf(path, text []byte) {
	b.add(pairHash(path, text))
	wordHashes(text, b.add)
}

// leaves visits everything that an event says, with the path of each; false when
// that was not possible.
func (e *Event) leaves(visit func(path, text []byte)) bool {
	for _, n := range e.named() {
		if n.text != "" {
			visit([]byte(n.path), []byte(n.text))
		}
	}
	return len(e.Payload) == 0 || leaves(e.Payload, "payload", visit)
}

// named is a text of the envelope.
type named struct{ path, text string }

// named lists the texts of the envelope that are looked for.
func (e *Event) named() []named {
	m, t := &e.Source, e.Target
	if t == nil {
		t = &domain.Target{}
	}
	return []named{
		{"id", e.ID}, {"type", e.Type}, {"source.workspaceId", m.WorkspaceID}, {"source.userId", m.UserID},
		{"source.sessionId", m.SessionID}, {"source.correlationId", m.CorrelationID}, {"source.traceId", m.TraceID},
		{"source.automationSlug", m.AutomationSlug}, {"source.executionId", m.ExecutionID}, {"source.appSlug", m.AppSlug},
		{"source.appInstanceFullSlug", m.AppInstance}, {"source.socketId", m.SocketID}, {"source.ip", m.IP},
		{"target.userId", t.UserID}, {"target.sessionId", t.SessionID}, {"target.userTopic", t.UserTopic},
	}
}

// signed reports whether a signature knows of a path.
func signed(path string) bool {
	return strings.HasPrefix(path, "payload.") || slices.ContainsFunc((&Event{}).named(), func(n named) bool { return n.path == path })
}

// fold makes the signature as small as its bits allow.
func (b *bloom) fold() Signature {
	ones := 0
	for _, word := range b {
		ones += bits.OnesCount64(word)
	}
	if ones > signatureBits/2 {
		return nil
	}
	size := 1
	for size*64 < 3*ones {
		size *= 2
	}
	sig := make(Signature, 8*size)
	for i, word := range b {
		for j := range 8 {
			sig[i%size*8+j] |= byte(word >> (8 * j))
		}
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

func pairHash(path, text []byte) hash { return hashStart.bytes(path).add('=').bytes(text) }
