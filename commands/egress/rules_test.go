package egress

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddressesAreKnownByWhatTheyLeadTo(t *testing.T) {
	for text, want := range map[string]kind{
		"93.184.216.34": public, "8.8.8.8": public, "2606:2800:220:1::1": public, "64:ff9b::808:808": public,
		"127.0.0.1": internal, "127.9.9.9": internal, "10.1.2.3": internal, "172.31.0.1": internal, "192.168.1.1": internal,
		"169.254.1.1": internal, "100.64.0.1": internal, "::1": internal, "fd12::1": internal, "fe80::1": internal,
		"0.0.0.0": special, "0.1.2.3": special, "224.0.0.1": special, "255.255.255.255": special, "198.18.0.1": special,
		"192.0.2.1": special, "::": special, "ff02::1": special, "2001:db8::1": special, "2002:7f00:1::": special,
		"2001::1": special, "64:ff9b:1::1": special, "100::1": special,
		"169.254.169.254": metadata, "fd00:ec2::254": metadata, "100.100.100.200": metadata, "168.63.129.16": metadata,
	} {
		require.Equal(t, want, kindOf(netip.MustParseAddr(text)), text)
	}
}

func TestWhatMayBeReached(t *testing.T) {
	inside := Rules{AllowPrivate: true}
	tests := map[string]struct {
		rules      Rules
		host, addr string
		ok         bool
	}{
		"a public address":                            {Rules{}, "example.com", "93.184.216.34", true},
		"loopback":                                    {Rules{}, "example.com", "127.0.0.1", false},
		"loopback as IPv6":                            {Rules{}, "example.com", "::ffff:127.0.0.1", false},
		"loopback behind a translator":                {Rules{}, "example.com", "64:ff9b::7f00:1", false},
		"a link with a zone":                          {Rules{}, "example.com", "fe80::1%eth0", false},
		"loopback when the inside is open":            {inside, "example.com", "127.0.0.1", true},
		"metadata when the inside is open":            {inside, "example.com", "169.254.169.254", false},
		"metadata as IPv6 when the inside is open":    {inside, "example.com", "fd00:ec2::254", false},
		"metadata in disguise":                        {inside, "example.com", "::ffff:169.254.169.254", false},
		"metadata behind a translator":                {inside, "example.com", "64:ff9b::a9fe:a9fe", false},
		"nowhere when the inside is open":             {inside, "example.com", "0.0.0.0", false},
		"a host that is allowed":                      {Rules{AllowHosts: []string{"git.corp"}}, "git.corp", "10.0.0.1", true},
		"a host that is allowed, spelled differently": {Rules{AllowHosts: []string{"Git.Corp."}}, "git.corp", "10.0.0.1", true},
		"a host below one that is allowed":            {Rules{AllowHosts: []string{"corp"}}, "git.corp", "10.0.0.1", false},
		"any host below":                              {Rules{AllowHosts: []string{"*.corp"}}, "git.corp", "10.0.0.1", true},
		"any host below, with a dot":                  {Rules{AllowHosts: []string{".corp"}}, "a.git.corp", "10.0.0.1", true},
		"a host that only looks like one below":       {Rules{AllowHosts: []string{"*.corp"}}, "evilcorp", "10.0.0.1", false},
		"another port":                                {Rules{AllowHosts: []string{"git.corp:8443"}}, "git.corp", "10.0.0.1", false},
		"the port":                                    {Rules{AllowHosts: []string{"git.corp:443"}}, "git.corp", "10.0.0.1", true},
		"metadata by a name that is allowed":          {Rules{AllowHosts: []string{"git.corp"}}, "git.corp", "169.254.169.254", false},
		"metadata by its address":                     {Rules{AllowHosts: []string{"169.254.169.254"}}, "example.com", "169.254.169.254", true},
		"a range that is allowed":                     {Rules{AllowHosts: []string{"10.0.0.0/8"}}, "example.com", "10.9.9.9", true},
		"a range written as IPv6":                     {Rules{AllowHosts: []string{"::ffff:10.0.0.0/104"}}, "example.com", "10.9.9.9", true},
		"deny wins over a range":                      {Rules{AllowHosts: []string{"10.0.0.0/8"}, DenyHosts: []string{"10.9.0.0/16"}}, "example.com", "10.9.9.9", false},
		"deny wins over a name":                       {Rules{AllowHosts: []string{"git.corp"}, DenyHosts: []string{"10.0.0.0/8"}}, "git.corp", "10.9.9.9", false},
		"a name is denied":                            {Rules{DenyHosts: []string{"*.example.com"}, AllowHosts: []string{"a.example.com"}}, "a.example.com", "93.184.216.34", false},
		"a public range is denied":                    {Rules{DenyHosts: []string{"93.184.216.0/24"}}, "example.com", "93.184.216.34", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rules, err := newRuleset(tt.rules)
			require.NoError(t, err)
			named, err := rules.name(tt.host, "443")
			if err == nil {
				err = rules.address(tt.host, netip.MustParseAddr(tt.addr), named)
			}
			if tt.ok {
				require.NoError(t, err)
				return
			}
			var refused *Refused
			require.ErrorAs(t, err, &refused)
			require.Equal(t, tt.host, refused.Host)
		})
	}
}

func TestRulesThatCannotBeReadAreAllNamed(t *testing.T) {
	_, err := newRuleset(Rules{AllowHosts: []string{"a b", "ok.example"}, DenyHosts: []string{"10.0.0.0/99", "*", "host:port"}})
	for _, wrong := range []string{`"a b"`, `"10.0.0.0/99"`, `"*"`, `"host:port"`} {
		require.ErrorContains(t, err, wrong)
	}
}
