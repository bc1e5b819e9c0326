package gitsync

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"svc/commands/archive"
)

// The two services of a Git server.
const (
	uploadPack  = "git-upload-pack"  // to read
	receivePack = "git-receive-pack" // to write
)

// wire is a way to speak with a server: HTTPS or SSH.
type wire interface {
	// begin connects to a service and reads what it has.
	begin(ctx context.Context, service string) (conversation, error)
	url() string
	close()
}

// conversation is one question and its answer.
type conversation interface {
	advertised() *packp.AdvRefs
	// exchange sends the question. sent is called when its first byte may have
	// left; the answer ends with the conversation.
	exchange(ctx context.Context, question []byte, sent func()) (io.ReadCloser, error)
	// lost returns why the connection ended, nil when it did not.
	lost() error
	close()
}

// advertisement reads the refs of a service, within the limits.
func (s *Session) advertisement(r io.Reader) (*packp.AdvRefs, error) {
	const lineBytes = 1024 // a ref with its id; most are shorter
	limit := int64(s.options.Limits.Refs+1000) * lineBytes
	bounded := &io.LimitedReader{R: r, N: limit}
	adv := packp.NewAdvRefs()
	err := adv.Decode(bounded)
	switch {
	case err == nil:
	case bounded.N == 0:
		return nil, archive.Exceeded("refs", s.options.Limits.Refs, "")
	case errors.Is(err, packp.ErrEmptyAdvRefs):
	default:
		return nil, err
	}
	for _, format := range adv.Capabilities.Get("object-format") {
		if format != "sha1" {
			return nil, garbled(nil, "its repository has ids of the format "+format+", only sha1 is spoken")
		}
	}
	return adv, nil
}

// errorLine returns what a server said instead of an answer.
func errorLine(err error) (string, bool) {
	line, ok := errors.AsType[*pktline.ErrorLine](err)
	if !ok {
		return "", false
	}
	return line.Text, true
}

// watched is a connection that breaks when both sides are silent for too long,
// and remembers why it ended.
type watched struct {
	net.Conn
	silence time.Duration

	mu    sync.Mutex
	ended error
}

// chunk is what may be written within one silence.
const chunk = 64 << 10

func (w *watched) Read(p []byte) (int, error) {
	w.alive()
	n, err := w.Conn.Read(p)
	w.note(err)
	return n, err
}

func (w *watched) Write(p []byte) (written int, err error) {
	for {
		w.alive()
		part := p[written:min(len(p), written+chunk)]
		n, err := w.Conn.Write(part)
		written += n
		w.note(err)
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// alive moves the deadline of both directions: who writes is not silent.
func (w *watched) alive() { _ = w.SetDeadline(time.Now().Add(w.silence)) } // a closed connection tells by itself

func (w *watched) note(err error) {
	if err == nil || errors.Is(err, net.ErrClosed) { // it was us who closed it
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil {
		w.ended = err
	}
}

func (w *watched) lost() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}
