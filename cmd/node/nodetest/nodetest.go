// Package nodetest runs services for tests and benchmarks, and has the helpers of scenarios.
package nodetest

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"svc/cmd/node"
	"svc/cmd/process"
	"svc/cmd/settings"
	"svc/domain"
	"svc/http/gateway"
)

// Serve is `svc serve` with one difference: callers say who they are. It reads
// the settings of the process and ends with SIGTERM.
func Serve() error { return serve(TrustingAuthenticator{}) }

// ServeIdentified is `svc serve` in a test binary, whose profile can be taken.
func ServeIdentified() error { return serve(nil) }

func serve(who gateway.Authenticator) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	loaded, err := settings.Load(settings.OS())
	if err != nil {
		return err
	}
	log := process.NewLog(os.Stderr, "json", slog.LevelWarn)
	n, err := node.Open(ctx, node.Options{Settings: settings.NewLive(loaded), Log: log, Authenticator: who})
	if err != nil {
		return err
	}
	return n.Serve(ctx)
}

// TrustingAuthenticator accepts any token as a super admin of that name.
type TrustingAuthenticator struct{}

// Authenticate implements gateway.Authenticator.
func (TrustingAuthenticator) Authenticate(_ context.Context, c gateway.Credentials) (gateway.Caller, error) {
	if c.Bearer == "" {
		return gateway.Caller{}, domain.Refuse(domain.CodeMissingToken, "no token")
	}
	return gateway.Caller{Kind: gateway.KindUser, UserID: c.Bearer, SessionID: "s-" + c.Bearer, Super: true}, nil
}
