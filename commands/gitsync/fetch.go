package gitsync

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// Fetch brings commits and tags with all of their history into the store. A want
// is an id or the full name of a ref that ListRefs returned. What is there
// already is not fetched again. A protocol error of a fetch on top of earlier
// ones is given a second chance with an empty store, because some hosts speak
// such fetches in a way of their own; so is one whose cache was just deleted.
func (s *Session) Fetch(ctx context.Context, wants ...string) error {
	inner, cancel := context.WithTimeout(ctx, s.options.Timeouts.Exchange)
	defer cancel()
	var all, missing []plumbing.Hash
	for _, want := range wants {
		id, err := s.resolve(want)
		if err != nil {
			return err
		}
		all = append(all, id)
		if !s.store.has(id) {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	known := s.objects.recent(s.store.heads())
	err := s.fetch(inner, missing, known)
	_, garble := errors.AsType[*protocolError](err)
	if (garble && len(known) > 0 || errors.Is(err, fs.ErrNotExist)) && inner.Err() == nil {
		if err := s.store.renew(); err != nil {
			return err
		}
		s.objects.forget()
		err = s.fetch(inner, all, nil)
	}
	if err != nil {
		return s.failure(ctx, err)
	}
	s.fetched = append(s.fetched, s.objects.commitsOf(all)...)
	if err := s.store.keepHeads(s.fetched); err != nil {
		return fmt.Errorf("keep fetched heads: %w", err)
	}
	return nil
}

func (s *Session) fetch(ctx context.Context, wants, known []plumbing.Hash) error {
	c, err := s.takeReading(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	question, banded, err := fetchQuestion(c.advertised(), wants, known)
	if err != nil {
		return err
	}
	answer, err := c.exchange(ctx, question, func() {})
	if err != nil {
		return err
	}
	defer answer.Close()
	pack, err := packIn(answer, banded)
	if err == nil {
		err = s.keepPack(ctx, pack)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if text, ok := errorLine(err); ok {
		return garbled(nil, "it refuses the fetch: "+s.clean(text))
	}
	if err != nil {
		return broken(err, c.lost(), "its pack cannot be read")
	}
	for _, want := range wants {
		if !s.store.has(want) {
			return garbled(nil, "its pack lacks "+want.String())
		}
	}
	return nil
}

// unspoken are capabilities that we do not ask for. Others than go-git's own
// list, acknowledgements of all kinds are read here: Azure DevOps demands them.
var unspoken = []capability.Capability{capability.ThinPack}

// fetchQuestion says what we want and have, all at once. banded is whether the
// pack will come in a side band.
func fetchQuestion(adv *packp.AdvRefs, wants, known []plumbing.Hash) (question []byte, banded bool, err error) {
	offered := capability.NewList()
	if err := offered.Decode([]byte(adv.Capabilities.String())); err != nil {
		return nil, false, garbled(err, "its capabilities cannot be read")
	}
	for _, c := range unspoken {
		offered.Delete(c)
	}
	ask := packp.NewUploadPackRequestFromCapabilities(offered)
	if offered.Supports(capability.NoProgress) {
		_ = ask.Capabilities.Set(capability.NoProgress) // it takes no value
	}
	ask.Wants, ask.Haves = wants, known
	var b bytes.Buffer
	if err := ask.UploadRequest.Encode(&b); err != nil {
		return nil, false, fmt.Errorf("%s: %w", transport.UploadPackServiceName, err)
	}
	if err := ask.UploadHaves.Encode(&b, false); err != nil {
		return nil, false, fmt.Errorf("%s: %w", transport.UploadPackServiceName, err)
	}
	if err := pktline.NewEncoder(&b).EncodeString("done\n"); err != nil {
		return nil, false, err
	}
	banded = ask.Capabilities.Supports(capability.Sideband64k) || ask.Capabilities.Supports(capability.Sideband)
	return b.Bytes(), banded, nil
}

// packIn reads over the acknowledgements, of whatever kind, to the pack. A line
// of the side band begins with a small number, which no acknowledgement does.
func packIn(answer io.Reader, banded bool) (io.Reader, error) {
	r := bufio.NewReaderSize(answer, 64<<10)
	lines := pktline.NewScanner(r)
	for {
		head, err := r.Peek(5)
		if len(head) >= 4 && string(head[:4]) == "PACK" {
			return r, nil
		}
		if err != nil && len(head) < 4 {
			return nil, err
		}
		if banded && len(head) == 5 && head[4] >= 1 && head[4] <= 3 {
			return sideband.NewDemuxer(sideband.Sideband64k, r), nil
		}
		if !lines.Scan() {
			return nil, cmpError(lines.Err(), io.ErrUnexpectedEOF)
		}
		line := lines.Bytes()
		if len(line) > 0 && !bytes.HasPrefix(line, []byte("ACK ")) && !bytes.HasPrefix(line, []byte("NAK")) {
			return nil, errors.New("neither an acknowledgement nor a pack")
		}
	}
}

func cmpError(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
