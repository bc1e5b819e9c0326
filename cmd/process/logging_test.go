package process_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/process"
	"svc/commands"
	"svc/domain"
)

func TestLinesOfARequestHaveItsCorrelationIDOnce(t *testing.T) {
	ctx := commands.WithRequest(context.Background(), &commands.Request{Meta: domain.Meta{CorrelationID: "c-1"}})
	for name, log := range map[string]func(*slog.Logger){
		"not told":           func(l *slog.Logger) { l.InfoContext(ctx, "m", "a", 1) },
		"told in the line":   func(l *slog.Logger) { l.InfoContext(ctx, "m", "correlationId", "c-1") },
		"told by the logger": func(l *slog.Logger) { l.With("correlationId", "c-1", "b", 2).InfoContext(ctx, "m") },
		"told further up":    func(l *slog.Logger) { l.With("correlationId", "c-1").With("b", 2).InfoContext(ctx, "m") },
		"another attribute":  func(l *slog.Logger) { l.With("b", 2).InfoContext(ctx, "m") },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log(process.NewLog(&out, "json", slog.LevelInfo))
			require.Equal(t, 1, strings.Count(out.String(), `"correlationId":"c-1"`), out.String())
		})
	}
}

func TestTheFormOfTheLog(t *testing.T) {
	for format, want := range map[string]string{"json": `"msg":"started"`, "auto": `"msg":"started"`, "text": "INF started a=1"} {
		var out bytes.Buffer
		log := process.NewLog(&out, format, slog.LevelInfo)
		log.Info("started", "a", 1)
		log.Debug("not shown")
		require.Contains(t, out.String(), want)
		require.Equal(t, 1, strings.Count(out.String(), "\n"))
		require.NotContains(t, out.String(), "\x1b", "no colours outside a terminal")
	}
}
