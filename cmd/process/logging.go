package process

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
	return slog.New(correlationHandler{Handler: h})
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), GetTermios)
	return err == nil
}

// correlationHandler adds the correlation id of the request in the context of a line, unless
// the line has it already.
type correlationHandler struct {
	slog.Handler
	hasID bool // by WithAttrs
}

const correlationKey = "correlationId"

// Handle implements slog.Handler.
func (c correlationHandler) Handle(ctx context.Context, r slog.Record) error {
	id := commands.RequestFrom(ctx).Meta.CorrelationID
	if id != "" && !c.hasID && !hasCorrelationID(r) {
		r = r.Clone()
		r.AddAttrs(slog.String(correlationKey, id))
	}
	return c.Handler.Handle(ctx, r)
}

func hasCorrelationID(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == correlationKey
		return !found
	})
	return found
}

// WithAttrs implements slog.Handler.
func (c correlationHandler) WithAttrs(as []slog.Attr) slog.Handler {
	hasID := slices.ContainsFunc(as, func(a slog.Attr) bool { return a.Key == correlationKey })
	return correlationHandler{c.Handler.WithAttrs(as), c.hasID || hasID}
}

// WithGroup implements slog.Handler.
func (c correlationHandler) WithGroup(name string) slog.Handler {
	return correlationHandler{c.Handler.WithGroup(name), c.hasID}
}
