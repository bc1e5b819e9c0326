package egress_test

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
)

func TestAnAddressIsCheckedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	known := map[string]string{"out.example": "93.184.216.34", "in.example": "10.0.0.1", "hidden.example": "10.0.0.2"}
	e := newEgress(t, egress.Options{
		Rules: egress.Rules{AllowHosts: []string{"hidden.example:443"}, DenyHosts: []string{"denied.example"}},
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if known[host] == "" {
				return nil, errors.New("no such host")
			}
			return []netip.Addr{netip.MustParseAddr(known[host])}, nil
		},
	})
	for address, ok := range map[string]bool{
		"https://out.example/hook": true, "http://in.example/": false, "https://hidden.example/": true, "http://hidden.example/": false,
		"https://denied.example/": false, "https://later.example/": true, "ftp://out.example/": false, "https:///nowhere": false,
	} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		if err = e.Check(t.Context(), u); ok {
			require.NoError(t, err, address)
			continue
		}
		requireRefused(t, err)
	}
}
