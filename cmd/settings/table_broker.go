package settings

import "time"

// Broker is the log: the embedded server or an external one.
type Broker struct {
	Embedded  bool
	URLs      []URL
	CredsFile Secret // path of the credentials file
	TLSCA     string // paths of client TLS files
	TLSCert   string
	TLSKey    string

	Listen         string // "" does not listen
	ClusterName    string
	ClusterListen  string // "" is a single node
	ClusterRoutes  []URL
	ClusterTLSCert string
	ClusterTLSKey  string
	ClusterTLSCA   string

	StreamReplicas     int
	MaxStore           int64  // bytes; 0 is 80 % of the disk
	Sync               string // group or always
	PublishTimeout     time.Duration
	EmitMaxLen         int // characters
	EmitExecutedMaxLen int // characters
}

// Single reports whether this node stands alone: its own broker, no cluster.
func (b Broker) Single() bool {
	return b.Embedded && b.ClusterListen == "" && len(b.ClusterRoutes) == 0
}

func brokerTable(c *Broker) []Setting {
	return []Setting{
		{Name: "NATS_URL", Aliases: []string{"NATS_URLS"}, Default: "-", Unit: "URL list", Meaning: "external broker", marks: perNode, value: urls(&c.URLs, false, "nats", "tls", "ws", "wss")},
		{Name: "NATS_EMBEDDED", Default: "yes without NATS_URL", Unit: "bool", Meaning: "run the broker in the process", derive: defaultEmbedded, value: boolean(&c.Embedded)},
		{Name: "NATS_CREDS", Default: "-", Unit: "path", Meaning: "credentials file", marks: secret | perNode, value: secretText(&c.CredsFile)},
		{Name: "NATS_TLS_CA_FILE", Default: "-", Unit: "path", Meaning: "client TLS: authority", marks: perNode, value: path(&c.TLSCA)},
		{Name: "NATS_TLS_CERT_FILE", Default: "-", Unit: "path", Meaning: "client TLS: certificate", marks: perNode, value: path(&c.TLSCert)},
		{Name: "NATS_TLS_KEY_FILE", Default: "-", Unit: "path", Meaning: "client TLS: private key", marks: perNode, value: path(&c.TLSKey)},
		{Name: "NATS_LISTEN", Default: "-", Unit: "host:port", Meaning: "embedded: also listen on TCP; needs credentials", marks: perNode, value: hostPort(&c.Listen)},
		{Name: "NATS_CLUSTER_NAME", Default: "svc", Unit: "text", Meaning: "embedded cluster", value: matching(&c.ClusterName, `[A-Za-z0-9._-]{1,63}`, "up to 63 letters, digits, dots, dashes and underscores")},
		{Name: "NATS_CLUSTER_LISTEN", Default: "-", Unit: "host:port", Meaning: "set = clustered", marks: perNode, value: hostPort(&c.ClusterListen)},
		{Name: "NATS_CLUSTER_ROUTES", Default: "-", Unit: "URL list", Meaning: "the other nodes", marks: perNode, value: urls(&c.ClusterRoutes, false, "nats", "nats-route", "tls")},
		{Name: "NATS_CLUSTER_TLS_CERT_FILE", Default: "-", Unit: "path", Meaning: "certificate; required for routes that leave the host", marks: perNode, value: path(&c.ClusterTLSCert)},
		{Name: "NATS_CLUSTER_TLS_KEY_FILE", Default: "-", Unit: "path", Meaning: "private key; required for routes that leave the host", marks: perNode, value: path(&c.ClusterTLSKey)},
		{Name: "NATS_CLUSTER_TLS_CA_FILE", Default: "-", Unit: "path", Meaning: "authority; required for routes that leave the host", marks: perNode, value: path(&c.ClusterTLSCA)},
		{Name: "STREAM_REPLICAS", Default: "1 single, 3 else", Unit: "1, 3, 5", Meaning: "copies of each stream; not more than nodes", derive: defaultReplicas, value: choice(&c.StreamReplicas, 1, 3, 5)},
		{Name: "JETSTREAM_MAX_STORE", Default: "80 % of the disk", Unit: "size", Meaning: "embedded store cap", marks: perNode, derive: noDefault, value: size(&c.MaxStore, 1, 64*mb, 1024*1024*gb)},
		{Name: "EVENTSTORE_SYNC", Default: "group", Unit: "group, always", Meaning: "how an append becomes durable on the embedded broker: one fsync for all who wait, or one per message", value: oneOf(&c.Sync, "group", "always")},
		{Name: "PUBLISH_TIMEOUT_MS", Default: "2000", Unit: "ms", Meaning: "then 503, safe to repeat", value: millis(&c.PublishTimeout, 10*time.Millisecond, 10*time.Minute)},
		{Name: "BROKER_EMIT_MAXLEN", Default: "100000", Unit: "characters", Meaning: "event size", value: number(&c.EmitMaxLen, 1000, 8_000_000)},
		{Name: "BROKER_EMIT_EXECUTED_AUTOMATION_MAXLEN", Default: "10000", Unit: "characters", Meaning: "`runtime.automations.executed`", value: number(&c.EmitExecutedMaxLen, 100, 8_000_000)},
	}
}
