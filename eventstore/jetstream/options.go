package jetstream

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
)

// Sync says how an append on the embedded broker becomes durable.
type Sync string

const (
	// SyncGroup fsyncs once for everyone who waits. The default.
	SyncGroup Sync = "group"
	// SyncAlways lets the broker fsync after every message.
	SyncAlways Sync = "always"
	// SyncNever acknowledges what is only in the page cache. It is the control
	// of the benchmarks and of the power-loss test; no setting selects it.
	SyncNever Sync = "never"
)

// Options configure a Store. The zero value of every field but Events and one
// of Dir and URL is good.
type Options struct {
	Events domain.Registry // decodes what is loaded; required

	Dir     string // where the embedded broker keeps its files
	Sync    Sync   // default SyncGroup
	Cluster Cluster
	MaxSize int64 // cap of the embedded store in bytes; default 80 % of the disk

	URL       []string    // an external broker instead of the embedded one
	CredsFile string      // NATS credentials for it
	TLS       *tls.Config // client TLS for it

	Name     string        // names the node to the broker; default "svc"
	Replicas int           // default 1
	MaxWait  time.Duration // bound on one exchange with the broker; default 2s
	MinFree  func() int64  // bytes below which appends are refused; default none

	Now     func() time.Time      // default time.Now
	Log     *slog.Logger          // default slog.Default
	Metrics prometheus.Registerer // default none
}

// Cluster joins embedded brokers of several nodes. The zero value does not.
type Cluster struct {
	Name   string
	Listen string // host:port; set = clustered
	Routes []*url.URL
	Secret string      // what nodes show each other; the same on all of them
	TLS    *tls.Config // for routes that leave the host
}

func (o Options) withDefaults() (Options, error) {
	if o.Events == nil {
		return o, errors.New("jetstream: Options.Events is required")
	}
	if (o.Dir == "") == (len(o.URL) == 0) {
		return o, errors.New("jetstream: give either Options.Dir or Options.URL")
	}
	o.Sync = cmp.Or(o.Sync, SyncGroup)
	o.Name = cmp.Or(o.Name, "svc")
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.MaxWait = cmp.Or(o.MaxWait, 2*time.Second)
	if o.MinFree == nil {
		o.MinFree = func() int64 { return 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o, nil
}

// embedded reports whether the broker runs in this process.
func (o Options) embedded() bool { return o.Dir != "" }

// grouped reports whether this process itself makes appends durable. In a
// cluster the replicated streams do so in groups of their own.
func (o Options) grouped() bool {
	return o.embedded() && o.Sync == SyncGroup && o.Cluster.Listen == ""
}

// brokerSyncs reports whether the embedded broker fsyncs by itself.
func (o Options) brokerSyncs() bool {
	return o.Sync == SyncAlways || o.Sync == SyncGroup && o.Cluster.Listen != ""
}
