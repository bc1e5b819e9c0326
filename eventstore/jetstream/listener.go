package jetstream

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"svc/domain/feed"
)

// Listener is a NATS server where external programs subscribe to events as they happen. It is separate
// from the broker of the log and from the listeners of other nodes, and stores nothing. Its clients
// receive what Publish sends, as far as their Grant allows, and can publish nothing.
type Listener struct {
	opts   ListenerOptions
	token  string // authenticates this process
	server *server.Server
	nc     *nats.Conn

	fresh func() error // Options.WaitFresh, until the listener closes
	end   context.CancelFunc

	admission sync.RWMutex // held while a client is authorized; DisconnectRevoked waits for it
	refused   throttledLog
}

// ListenerOptions configure a Listener. Addr and Authorize are required.
type ListenerOptions struct {
	Addr      string      // host:port
	TLS       *tls.Config // nil: plain text
	Authorize func(Client) (Grant, error)

	// WaitFresh, when set, waits until Authorize sees all earlier changes. Clients wait meanwhile:
	// many do not reconnect once they were refused.
	WaitFresh func(context.Context) error

	Name string       // server name that clients see; default "svc"
	Log  *slog.Logger // default slog.Default
}

// Limits of what clients can make the listener hold.
const (
	maxClients       = 1000
	maxClientSubs    = 1000
	maxEventSize     = 2 << 20  // an event of the log is smaller
	maxClientPending = 16 << 20 // a slower client is disconnected
	clientTimeout    = 5 * time.Second
)

// Listen opens the address.
func Listen(o ListenerOptions) (*Listener, error) {
	host, port, err := splitHostPort(o.Addr)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	l := &Listener{opts: o, token: rand.Text(), fresh: func() error { return nil }}
	var life context.Context
	life, l.end = context.WithCancel(context.Background())
	if o.WaitFresh != nil {
		l.fresh = func() error { return o.WaitFresh(life) }
	}
	if l.server, err = l.newServer(host, port); err != nil {
		l.end()
		return nil, fmt.Errorf("listen for subscribers: %w", err)
	}
	if err := l.open(host, port); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

func (l *Listener) newServer(host string, port int) (*server.Server, error) {
	trusted, err := newOperatorKey()
	if err != nil {
		return nil, err
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: l.opts.Name, Host: host, Port: port, TLSConfig: l.opts.TLS, TLSTimeout: clientTimeout.Seconds(), AuthTimeout: clientTimeout.Seconds(),
		TrustedKeys: trusted, CustomClientAuthentication: l, NoSystemAccount: true, NoSigs: true,
		MaxConn: maxClients + 1, MaxSubs: maxClientSubs, MaxPayload: maxEventSize, MaxPending: maxClientPending, WriteDeadline: clientTimeout, MaxControlLine: 8 << 10,
	})
	if err == nil {
		srv.SetLoggerV2(clientLog{&brokerLog{log: l.opts.Log}}, false, false, false)
	}
	return srv, err
}

// newOperatorKey returns a key that signed nothing: a server without trusted keys ignores the
// credentials of clients.
func newOperatorKey() ([]string, error) {
	pair, err := nkeys.CreateOperator()
	if err != nil {
		return nil, err
	}
	key, err := pair.PublicKey()
	return []string{key}, err
}

// open checks that the address is free, because the server would only log that, starts and connects.
func (l *Listener) open(host string, port int) error {
	free, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return fmt.Errorf("listen for subscribers: %w", err)
	}
	if err := free.Close(); err != nil {
		return err
	}
	l.server.Start()
	if !l.server.ReadyForConnections(brokerStartTimeout) {
		return errors.New("listen for subscribers: the listener did not start, see the log above")
	}
	l.nc, err = nats.Connect("", nats.InProcessServer(l.server), nats.Token(l.token), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	return err
}

// Addr is the address of the listener.
func (l *Listener) Addr() net.Addr { return l.server.Addr() }

// Close disconnects all clients.
func (l *Listener) Close(context.Context) error {
	l.nc.Close()
	l.stop()
	return nil
}

func (l *Listener) stop() {
	l.end()
	l.server.Shutdown()
	l.server.WaitForShutdown()
}

// HasClients reports whether a client is connected.
func (l *Listener) HasClients() bool { return l.server.NumClients() > 1 } // one is this process

// The headers of a message.
const (
	eventIDHeader  = nats.MsgIdHdr
	positionHeader = "Svc-Seq"
)

// Publish sends events to all clients that may see them, in order. It does not wait for slow clients:
// they are disconnected.
func (l *Listener) Publish(ctx context.Context, events []*feed.Event) error {
	for _, ev := range events {
		body := ev.JSON()
		if len(body) > maxEventSize-maxHeaders {
			body = withoutPayload(ev)
		}
		err := l.nc.PublishMsg(&nats.Msg{
			Subject: activityRoot + token(ev.Source.WorkspaceID) + "." + typeTokens(ev.Type), Data: body,
			Header: nats.Header{eventIDHeader: {ev.ID}, positionHeader: {ev.Seq.Token()}},
		})
		if err != nil {
			return fmt.Errorf("tell %s to subscribers: %w", ev.ID, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	return l.nc.FlushWithContext(ctx)
}

const maxHeaders = 1 << 10

// withoutPayload returns an event that is too large to be sent without its payload, which is in the API.
func withoutPayload(ev *feed.Event) []byte {
	return (&feed.Event{
		ID: ev.ID, Type: ev.Type, At: ev.At, Seq: ev.Seq, Log: ev.Log, Source: ev.Source, Target: ev.Target, Options: ev.Options, Stripped: true,
	}).JSON()
}

// DisconnectRevoked disconnects the clients that are not authorized any more.
func (l *Listener) DisconnectRevoked() error {
	l.admission.Lock()   // a client that was authorized before is in the list below
	l.admission.Unlock() //nolint:staticcheck // a barrier, not a section
	guests, err := l.server.Connz(&server.ConnzOptions{Username: true, Limit: maxClients + 1})
	if err != nil {
		return fmt.Errorf("list the subscribers: %w", err)
	}
	for _, c := range guests.Conns {
		guest, ok := parseClient(c.AuthorizedUser)
		if !ok {
			continue // this process, or not authorized yet
		}
		if _, err := l.opts.Authorize(guest); err != nil {
			_ = l.server.DisconnectClientByID(c.Cid) // it has disconnected meanwhile
		}
	}
	return nil
}

// Client is the verified identity of a client: it has the seed of a key, which an account signed.
type Client struct {
	Key    string // their public key
	Issuer string // the public key of the account
}

// Grant says which events a client may receive.
type Grant struct {
	User       string    // in log lines, and the prefix of queue groups
	Workspaces []string  // none: all of them
	Types      []string  // of events, whole words may be *; none: all of them
	Until      time.Time // when the client is disconnected; zero: never
}

// Check implements server.Authentication.
func (l *Listener) Check(c server.ClientAuthentication) bool {
	from := c.RemoteAddress()
	if from == nil {
		return false // it has disconnected already
	}
	if from.Network() == "pipe" { // in this process
		return subtle.ConstantTimeCompare([]byte(c.GetOpts().Token), []byte(l.token)) == 1
	}
	guest, err := identify(c)
	if err == nil {
		err = l.fresh()
	}
	l.admission.RLock()
	defer l.admission.RUnlock()
	var pass Grant
	if err == nil {
		pass, err = l.opts.Authorize(guest)
	}
	if err != nil {
		l.refused.warn(l.opts.Log, from.String(), err)
		return false
	}
	c.RegisterUser(&server.User{Username: guest.String(), ConnectionDeadline: pass.Until, Permissions: pass.permissions(guest)})
	l.opts.Log.Info("a subscriber was let in", "user", pass.User, "from", from.String())
	return true
}

// identify verifies the credentials of a client. It ignores the permissions in them: Authorize decides.
func identify(c server.ClientAuthentication) (guest Client, err error) {
	o := c.GetOpts()
	if c.Kind() != server.CLIENT || o.JWT == "" {
		return guest, errors.New("no credentials were shown")
	}
	claims, err := jwt.DecodeUserClaims(o.JWT) // verifies the signature of the issuer
	if err != nil {
		return guest, fmt.Errorf("the credentials cannot be read: %w", err)
	}
	found := jwt.CreateValidationResults()
	claims.Validate(found)
	if found.IsBlocking(true) {
		return guest, fmt.Errorf("the credentials are not valid: %w", errors.Join(found.Errors()...))
	}
	if err := verifyNonce(claims.Subject, o.Sig, c.GetNonce()); err != nil {
		return guest, fmt.Errorf("the holder of %s did not prove to be it: %w", claims.Subject, err)
	}
	return Client{Key: claims.Subject, Issuer: claims.Issuer}, nil
}

// verifyNonce verifies that the nonce was signed with the seed of a key.
func verifyNonce(key, signature string, nonce []byte) error {
	signed, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		signed, err = base64.StdEncoding.DecodeString(signature) // of older clients
	}
	if err != nil || len(nonce) == 0 {
		return errors.New("the nonce is not signed")
	}
	pair, err := nkeys.FromPublicKey(key)
	if err != nil {
		return err
	}
	return pair.Verify(nonce, signed)
}

// String is the user name of a client at the server.
func (g Client) String() string { return g.Key + "/" + g.Issuer }

// parseClient reads what String wrote.
func parseClient(text string) (g Client, ok bool) {
	g.Key, g.Issuer, ok = strings.Cut(text, "/")
	return g, ok
}

// permissions allow a client to subscribe to the subjects of its grant, and to publish nothing. A queue
// group, whose members share its messages, must begin with the name of the user.
func (p Grant) permissions(g Client) *server.Permissions {
	allow := []string{"_INBOX." + g.Key + ".>"}
	for _, subject := range p.subjects() {
		allow = append(allow, subject, subject+" "+p.User, subject+" "+p.User+".>")
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{">"}},
		Subscribe: &server.SubjectPermission{Allow: allow},
	}
}

// subjects are those of the events of a grant.
func (p Grant) subjects() (all []string) {
	if len(p.Workspaces) == 0 && len(p.Types) == 0 {
		return []string{activityRoot + ">"}
	}
	workspaces, types := []string{"*"}, []string{">"}
	if len(p.Workspaces) > 0 {
		workspaces = nil
	}
	for _, id := range p.Workspaces {
		workspaces = append(workspaces, token(id))
	}
	if len(p.Types) > 0 {
		types = nil
	}
	for _, pattern := range p.Types {
		types = append(types, patternTokens(pattern))
	}
	for _, workspace := range workspaces {
		for _, of := range types {
			all = append(all, activityRoot+workspace+"."+of)
		}
	}
	return all
}

// patternTokens encodes a pattern of event types. A * at the end matches everything that follows,
// another one matches one word.
func patternTokens(pattern string) string {
	words := strings.Split(pattern, ".")
	for i, word := range words {
		switch {
		case word != "*":
			words[i] = token(word)
		case i == len(words)-1:
			words[i] = ">"
		}
	}
	return strings.Join(words, ".")
}

// throttledLog logs at most one warning a second, so that an attacker cannot fill the log.
type throttledLog struct{ last atomic.Int64 }

func (c *throttledLog) warn(log *slog.Logger, from string, why error) {
	now, last := time.Now().UnixNano(), c.last.Load()
	if now-last >= int64(time.Second) && c.last.CompareAndSwap(last, now) {
		log.Warn("a subscriber was not let in", "from", from, "err", why)
	}
}

// clientLog is a brokerLog that logs errors as notices: they are faults of external clients.
type clientLog struct{ *brokerLog }

// Errorf implements server.Logger.
func (l clientLog) Errorf(format string, v ...any) { l.Noticef(format, v...) }
