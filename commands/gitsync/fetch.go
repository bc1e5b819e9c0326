package gitsync

import (
	"bufio"
	"bytes"
	"cmp"
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

// Fetch fetches commits and tags with all of their history. A want is an id or the full
// name of a ref that ListRefs returned. Objects of the store are not fetched again. After a
// protocol error of an incremental fetch it is repeated with an empty store, because some
// hosts implement these differently; so is a fetch whose cache was just deleted.
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
	known := s.objects.recentCommits(s.store.heads())
	err := s.fetch(inner, missing, known)
	_, garble := errors.AsType[*protocolError](err)
	if (garble && len(known) > 0 || errors.Is(err, fs.ErrNotExist)) && inner.Err() == nil {
		if err := s.store.replace(); err != nil {
			return err
		}
		s.objects.clearCache()
		err = s.fetch(inner, all, nil)
	}
	if err != nil {
		return s.failure(ctx, err)
	}
	s.fetched = append(s.fetched, s.objects.commitsOf(all)...)
	if err := s.store.storeHeads(s.fetched); err != nil {
		return fmt.Errorf("keep fetched heads: %w", err)
	}
	return nil
}

func (s *Session) fetch(ctx context.Context, wants, known []plumbing.Hash) error {
	c, err := s.continueReading(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	question, banded, err := fetchRequest(c.advertised(), wants, known)
	if err != nil {
		return err
	}
	answer, err := c.exchange(ctx, question, func() {})
	if err != nil {
		return err
	}
	defer answer.Close()
	pack, err := skipToPack(answer, banded)
	if err == nil {
		err = s.storePack(ctx, pack)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if text, ok := errorLine(err); ok {
		return newProtocolError(nil, "it refuses the fetch: "+s.clean(text))
	}
	if err != nil {
		return readFailure(err, c.lost(), "its pack cannot be read")
	}
	for _, want := range wants {
		if !s.store.has(want) {
			return newProtocolError(nil, "its pack lacks "+want.String())
		}
	}
	return nil
}

// unsupported are capabilities that are not requested. Unlike in go-git, acknowledgements of
// all kinds are read: Azure DevOps demands them.
var unsupported = []capability.Capability{capability.ThinPack}

// fetchRequest encodes wants and haves. banded reports whether the pack will come in a side
// band.
func fetchRequest(adv *packp.AdvRefs, wants, known []plumbing.Hash) (question []byte, banded bool, err error) {
	offered := capability.NewList()
	if err := offered.Decode([]byte(adv.Capabilities.String())); err != nil {
		return nil, false, newProtocolError(err, "its capabilities cannot be read")
	}
	for _, c := range unsupported {
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

// skipToPack skips acknowledgements of all kinds up to the pack. A line of the side band
// begins with a small number, an acknowledgement does not.
func skipToPack(answer io.Reader, banded bool) (io.Reader, error) {
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
			return nil, cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
		}
		line := lines.Bytes()
		if len(line) > 0 && !bytes.HasPrefix(line, []byte("ACK ")) && !bytes.HasPrefix(line, []byte("NAK")) {
			return nil, errors.New("neither an acknowledgement nor a pack")
		}
	}
}
