package egress_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
)

// A host that is denied is not reached over a connection that was in use at that moment.
func TestRulesCountForConnectionsInUse(t *testing.T) {
	for name, second := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			hold, begun := make(chan struct{}), make(chan struct{}, 1)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					begun <- struct{}{}
					<-hold
				}
				_, _ = io.WriteString(w, r.Proto)
			}))
			t.Cleanup(s.Close)
			e, err := egress.New(egress.Options{Rules: egress.Rules{AllowPrivate: true}})
			require.NoError(t, err)
			client := e.Client(0)
			if s.EnableHTTP2 = second; second {
				s.StartTLS()
				client = e.TrustingClient(0)
			} else {
				s.Start()
			}
			get := func(path string) error {
				res, err := client.Get(strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + path)
				if err == nil {
					_, err = io.ReadAll(res.Body)
					_ = res.Body.Close()
				}
				return err
			}
			slow := make(chan error, 1)
			go func() { slow <- get("/slow") }()
			<-begun
			require.NoError(t, e.SetRules(egress.Rules{DenyHosts: []string{"127.0.0.1", "::1"}}))
			refused := &egress.Refused{}
			require.ErrorAs(t, get("/during"), &refused)
			close(hold)
			require.NoError(t, <-slow, "what is under way ends")
			require.ErrorAs(t, get("/after"), &refused)
		})
	}
}
