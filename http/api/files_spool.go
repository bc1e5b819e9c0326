package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"svc/commands"
	"svc/domain"
)

// spooled is a content on disk, under no name: nothing is left of it when it is
// closed, nor when the process ends in between.
type spooled struct {
	*os.File
	size     int64
	checksum string // SHA-256 in hex
	head     []byte // its beginning
}

// spool writes a content to disk and looks at it meanwhile.
func spool(dir string, content io.Reader) (s *spooled, err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, commands.Refused(fmt.Errorf("make room for a file: %w", err))
	}
	f, err := os.CreateTemp(dir, "file-*")
	if err != nil {
		return nil, commands.Refused(fmt.Errorf("make room for a file: %w", err))
	}
	s = &spooled{File: f}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := os.Remove(f.Name()); err != nil {
		return nil, commands.Refused(fmt.Errorf("make room for a file: %w", err))
	}
	sum := sha256.New()
	if s.size, err = io.Copy(io.MultiWriter(f, sum), content); err != nil {
		return nil, spoolFault(err)
	}
	s.checksum = hex.EncodeToString(sum.Sum(nil))
	s.head = make([]byte, min(s.size, sniffed))
	if _, err = f.ReadAt(s.head, 0); err != nil && len(s.head) > 0 {
		return nil, spoolFault(err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return s, err
}

// spoolFault tells what the sender did wrong from what our disk did.
func spoolFault(err error) error {
	_, refused := errors.AsType[*domain.Error](err)
	if refused || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return commands.Refused(fmt.Errorf("keep a file: %w", err))
}

// parseDataURI reads data:[type][;base64],content.
func parseDataURI(text string) (declared string, content []byte, ok bool) {
	const scheme = "data:"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return "", nil, false
	}
	head, body, found := strings.Cut(text[len(scheme):], ",")
	if !found {
		return "", nil, false
	}
	declared, encoded := strings.CutSuffix(head, ";base64")
	if !encoded {
		plain, err := url.PathUnescape(body)
		return declared, []byte(plain), err == nil
	}
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(body, "="))
	return declared, content, err == nil
}
