package gitsync

import (
	"context"
	"crypto/x509"
	"net"
	"time"

	"svc/commands/archive"
)

// Options are those of a node. The zero value of every field but Dial is good.
type Options struct {
	// Dial connects to host:port for a scheme of https, http or ssh. It refuses
	// addresses that must not be reached, unless exempt; (*egress.Egress).Dial.
	Dial func(ctx context.Context, scheme, address string, exempt bool) (net.Conn, error)

	AllowHTTP      bool           // GIT_ALLOWED_SCHEMES has http
	Roots          *x509.CertPool // of the system and EXTRA_CA_CERTS_FILE; nil: of the system
	KnownHostsFile string         // GIT_KNOWN_HOSTS_FILE
	Cache          string         // directory of object stores, may be deleted at any time; "": in memory
	Limits         Limits
	Timeouts       Timeouts
}

// Limits bound what a remote may send and what is read of it. Zero is the
// contract's.
type Limits struct {
	Tree       *archive.Limits // managed files; nil: archive.Usual
	FetchBytes int64           // GIT_MAX_FETCH_MB: one pack; 512 MB
	// ObjectBytes is how large one object of a pack may be once it is unpacked, which
	// happens in memory: 100 MB, what the large hosts allow.
	ObjectBytes int64
	Refs        int // 100,000
	History     int // commits looked at to count; 10,000
}

// Timeouts bound waiting. Zero is the contract's.
type Timeouts struct {
	Connect  time.Duration // until the handshake is done; 10 s
	Silence  time.Duration // no byte in either direction; 30 s
	Exchange time.Duration // GIT_REMOTE_TIMEOUT_SECONDS: one call of a Session; 300 s
}

func (o Options) withDefaults() Options {
	if o.Limits.Tree == nil {
		o.Limits.Tree = &archive.Usual
	}
	setDefault(&o.Limits.FetchBytes, 512<<20)
	setDefault(&o.Limits.ObjectBytes, 100<<20)
	setDefault(&o.Limits.Refs, 100_000)
	setDefault(&o.Limits.History, 10_000)
	setDefault(&o.Timeouts.Connect, 10*time.Second)
	setDefault(&o.Timeouts.Silence, 30*time.Second)
	setDefault(&o.Timeouts.Exchange, 300*time.Second)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
