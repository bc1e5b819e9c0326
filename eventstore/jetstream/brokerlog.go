package jetstream

import (
	"fmt"
	"log/slog"
)

// brokerLog lets the embedded server speak through our logger. Its notices are
// our debug lines: a start of the service should not read like a broker's.
type brokerLog struct{ log *slog.Logger }

// Noticef implements server.Logger.
func (l *brokerLog) Noticef(format string, v ...any) {
	l.log.Debug("broker: " + fmt.Sprintf(format, v...))
}

// Warnf implements server.Logger.
func (l *brokerLog) Warnf(format string, v ...any) {
	l.log.Warn("broker: " + fmt.Sprintf(format, v...))
}

// Errorf implements server.Logger.
func (l *brokerLog) Errorf(format string, v ...any) {
	l.log.Error("broker: " + fmt.Sprintf(format, v...))
}

// Fatalf implements server.Logger. It does not exit: the caller learns of the
// failed start and says so in one line.
func (l *brokerLog) Fatalf(format string, v ...any) {
	l.log.Error("broker: " + fmt.Sprintf(format, v...))
}

// Debugf implements server.Logger.
func (l *brokerLog) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (l *brokerLog) Tracef(string, ...any) {}
