package api

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestACallerWhoTakesNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	given := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d := &drops{w: w, out: http.NewResponseController(w), patience: 100 * time.Millisecond}
		var err error
		for chunk := []byte(strings.Repeat("x", 1<<20)); err == nil; {
			err = d.write(chunk)
		}
		given <- err
	}))
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer answer.Body.Close()
	_, err = bufio.NewReaderSize(answer.Body, 16).ReadByte() // and then nothing more
	require.NoError(t, err)
	select {
	case err := <-given:
		require.Error(t, err)
	case <-time.After(30 * time.Second):
		t.Fatal("it is waited for them for ever")
	}
}
