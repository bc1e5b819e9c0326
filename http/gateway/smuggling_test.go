package gateway_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// What follows a request with both Content-Length and Transfer-Encoding is not taken for a
// request: the connection is closed after the answer, whatever it is.
func TestNothingIsSmuggledBehindARequest(t *testing.T) {
	var calls atomic.Int64
	w := serve(t, post("/x", counting(&calls)), get("/hidden", 1))
	for name, head := range map[string]string{
		"both":              "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"both, reversed":    "Transfer-Encoding: chunked\r\nContent-Length: 60\r\n",
		"chunked":           "Transfer-Encoding: chunked\r\n",
		"another encoding":  "Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n",
		"two encodings":     "Content-Length: 5\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"two lengths":       "Content-Length: 5\r\nContent-Length: 6\r\n",
		"a length and more": "Content-Length: 5, 5\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/x", "/nowhere"} {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", w.server.Listener.Addr().String())
				require.NoError(t, err)
				defer conn.Close()
				_, err = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\n"+head+"\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n")
				require.NoError(t, err)
				in := bufio.NewReader(conn)
				first, err := http.ReadResponse(in, nil)
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, first.Body)
				require.NoError(t, err)
				require.NoError(t, first.Body.Close())
				require.True(t, first.Close, "the answer says that the connection ends: %v", first.Header)
				rest, _ := io.ReadAll(in) // ends with the connection, perhaps by a reset
				require.NotContains(t, string(rest), "HTTP/1.1", "%d", first.StatusCode)
			}
		})
	}
	whole := w.do("POST", "/x", `{}`)
	require.Less(t, whole.status, 300, whole.body)
	require.NotEqual(t, "close", whole.header.Get("Connection"), "others are kept")
}
