package node

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/sys/unix"

	"svc/commands"
)

// NewLog returns the logger of the service: JSON lines, or text on a terminal.
// Every line of a request carries its correlation id.
func NewLog(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	var h slog.Handler
	if format == "text" || format == "auto" && isTerminal(w) {
		h = tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !isTerminal(w)})
	} else {
		h = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
	}
	return slog.New(correlated{Handler: h})
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// correlated adds the correlation id of the request in a line's context, unless
// the line has it already.
type correlated struct {
	slog.Handler
	told bool // by WithAttrs
}

const correlationKey = "correlationId"

// Handle implements slog.Handler.
func (c correlated) Handle(ctx context.Context, r slog.Record) error {
	id := commands.RequestFrom(ctx).Meta.CorrelationID
	if id != "" && !c.told && !has(r) {
		r = r.Clone()
		r.AddAttrs(slog.String(correlationKey, id))
	}
	return c.Handler.Handle(ctx, r)
}

func has(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == correlationKey
		return !found
	})
	return found
}

// WithAttrs implements slog.Handler.
func (c correlated) WithAttrs(as []slog.Attr) slog.Handler {
	told := slices.ContainsFunc(as, func(a slog.Attr) bool { return a.Key == correlationKey })
	return correlated{c.Handler.WithAttrs(as), c.told || told}
}

// WithGroup implements slog.Handler.
func (c correlated) WithGroup(name string) slog.Handler {
	return correlated{c.Handler.WithGroup(name), c.told}
}
