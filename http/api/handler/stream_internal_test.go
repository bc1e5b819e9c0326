package handler

import (
	"bufio"
	"io"
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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := NewStreamWriter(w, r)
		d.patience = 100 * time.Millisecond
		var err error
		for chunk := []byte(strings.Repeat("x", 1<<20)); err == nil; {
			err = d.SendData(chunk)
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
	case <-time.After(time.Minute):
		t.Fatal("it is waited for them for ever")
	}
}

// Over HTTP/2 a deadline ends a stream whether anything is written or not.
func TestACallerIsNotGivenUpForTheSilenceOfTheService(t *testing.T) {
	t.Parallel()
	const patience = 500 * time.Millisecond
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := NewStreamWriter(w, r)
		d.patience = patience
		silence := time.NewTimer(3 * patience / 2)
		defer silence.Stop()
		if d.SendData([]byte("1")) != nil {
			return
		}
		select {
		case <-silence.C:
			_ = d.SendData([]byte("2"))
		case <-r.Context().Done():
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	require.NoError(t, err)
	answer, err := server.Client().Do(req)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, 2, answer.ProtoMajor)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, "data: 1\n\ndata: 2\n\n", string(body))
}
