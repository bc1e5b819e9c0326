package fetch

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"

	"svc/commands/fair"
)

// Answers are held in memory until they are values. Small ones are read as they come; of
// the others a workspace reads a few at once, and the rest of it waits: what a node holds
// for one workspace does not grow with how much that asks for.
const (
	small     = 1 << 20 // bytes
	largeEach = 4       // of one workspace at once
)

func newLarge() *fair.Places { return fair.New(math.MaxInt, largeEach) }

// pass lets an answer of a workspace grow beyond what is small, once it does.
type pass struct {
	*exchange
	held bool
}

// grow waits until an answer may have so many bytes.
func (p *pass) grow(ctx context.Context, size int) error {
	if p.held || size <= small {
		return nil
	}
	if err := p.large.Enter(ctx, p.call.WorkspaceID); err != nil {
		return err
	}
	p.held = true
	return nil
}

// leave lets the next one grow.
func (p *pass) leave() {
	if p.held {
		p.large.Leave(p.call.WorkspaceID)
		p.held = false
	}
}

// read returns the whole body of an answer, when that is no larger than answers may be. The
// time that it waits is that of the exchange.
func (p *pass) read(a *answer) ([]byte, error) {
	if a.ContentLength > p.MaxResponse && a.Request.Method != http.MethodHead {
		return nil, errTooLarge
	}
	limited := io.LimitReader(a.content, p.MaxResponse+1)
	var raw bytes.Buffer
	for next := int64(small + 1); ; next = math.MaxInt64 {
		_, err := io.CopyN(&raw, limited, next)
		switch {
		case int64(raw.Len()) > p.MaxResponse:
			return nil, errTooLarge
		case ended(err):
			return raw.Bytes(), nil
		case err != nil:
			return raw.Bytes(), err
		}
		if err := p.grow(a.watch.ctx, raw.Len()); err != nil {
			return nil, err
		}
	}
}
