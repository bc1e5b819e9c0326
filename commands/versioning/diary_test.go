package versioning_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// diary is what the service says. It can be read while it is written.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (d *diary) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(b)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

// told waits until the service says something.
func (h *house) told(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(h.log.String(), text) }, 20*time.Second, 50*time.Millisecond)
}
