//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	elsewhere, err := closeBrowser()
	stopShared()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: what the browser sent is not known:", err)
		code = 1
	}
	if len(elsewhere) > 0 {
		fmt.Fprintln(os.Stderr, "e2e: the console asked other hosts than the service:", strings.Join(elsewhere, "\n"))
		code = 1
	}
	os.Exit(code)
}

// requestsElsewhere returns the addresses in a log of Chromium that pages and workers of ours
// asked for, and that are not on this machine. What the browser sends of its own accord has
// no initiator.
func requestsElsewhere(file string) (addresses []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var log struct {
		Events []struct {
			Params struct{ Initiator, URL string } `json:"params"`
		} `json:"events"`
	}
	if err := json.NewDecoder(f).Decode(&log); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	for _, e := range log.Events {
		if strings.HasPrefix(e.Params.Initiator, "http") && !isLocal(e.Params.URL) {
			addresses = append(addresses, e.Params.URL)
		}
	}
	return addresses, nil
}

func isLocal(address string) bool {
	if u, err := url.Parse(address); err == nil && strings.HasSuffix(u.Hostname(), ".localhost") {
		return true
	}
	for _, prefix := range []string{"http://127.0.0.1:", "http://localhost:", "data:", "blob:", "about:", pdfViewer} {
		if strings.HasPrefix(address, prefix) {
			return true
		}
	}
	return false
}
