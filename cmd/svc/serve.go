package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"svc/cmd/node"
	"svc/cmd/process"
	"svc/cmd/settings"
	"svc/commands/accounts"
)

func serveCommand(w environment) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Run the service",
		Long: "Run the service until SIGTERM or SIGINT. SIGHUP reads live settings again.",
		RunE: func(c *cobra.Command, _ []string) error { return serve(c.Context(), w) },
	}
}

func serve(ctx context.Context, w environment) error {
	loaded, err := settings.Load(w.source)
	if err != nil {
		return err
	}
	live, level := settings.NewLive(loaded), new(slog.LevelVar)
	level.Set(loaded.Config.Obs.LogLevel)
	log := process.NewLog(w.log, loaded.Config.Obs.LogFormat, level)
	for _, text := range loaded.Warnings {
		log.Warn(text)
	}
	hangups := make(chan os.Signal, 1) // from here on none ends the process; the first waits for the start
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	n, err := node.Open(ctx, node.Options{Settings: live, Log: log, Level: level, Version: version, Announce: announce(w)})
	if err != nil {
		return err
	}
	stop := reloadOnHangup(ctx, hangups, func() { reload(w, live, level, log); n.Apply() })
	defer stop()
	return n.Serve(ctx)
}

// announce shows the accounts of the first start on the terminal, never in the
// log: a password that was generated is shown this once.
func announce(w environment) func([]accounts.NewAccount, string) {
	return func(made []accounts.NewAccount, console string) {
		var b strings.Builder
		for _, account := range made {
			password := account.Password
			if password == "" {
				password = "that of ADMIN_PASSWORD"
			}
			fmt.Fprintf(&b, "  %s   password: %s\n", account.Email, password)
		}
		fmt.Fprintf(w.out, "\nFirst start: these super admins were made. Passwords are shown once.\n\n%s\n  Sign in at %s\n\n", b.String(), console)
		debug.FreeOSMemory() // hashing passwords takes much, and an idle service would keep it for minutes
	}
}

// reloadOnHangup reads live settings again on SIGHUP, until stop is called.
func reloadOnHangup(ctx context.Context, hangups <-chan os.Signal, reload func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				reload()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func reload(w environment, live *settings.Live, level *slog.LevelVar, log *slog.Logger) {
	source := w.source
	source.Environ = os.Environ()
	changed, needRestart, err := live.Reload(source)
	if err != nil {
		log.Error("settings not reloaded: the old ones stay in force", "err", err)
		return
	}
	level.Set(live.Get().Config.Obs.LogLevel)
	log.Info("settings reloaded", "changed", changed, "needRestart", needRestart)
}
