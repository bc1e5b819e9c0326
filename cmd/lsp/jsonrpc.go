package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// message is a request, a notification (without id) or a response (without method) of JSON-RPC 2.0.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// rpcError is why a request was not answered.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *rpcError) Error() string { return e.Message }

// The codes of errors.
const (
	codeParse            = -32700
	codeInvalidRequest   = -32600
	codeMethodNotFound   = -32601
	codeInvalidParams    = -32602
	codeInternal         = -32603
	codeNotInitialized   = -32002
	codeRequestFailed    = -32803
	codeRequestCancelled = -32800
)

// refuse is why something that was asked for cannot be done.
func refuse(format string, args ...any) error {
	return &rpcError{codeRequestFailed, fmt.Sprintf(format, args...)}
}

// maxMessage bounds one message of a client.
const maxMessage = 64 << 20

// errMalformed says that a message is no JSON. The next one can be read.
var errMalformed = errors.New("the message is no JSON-RPC")

// readMessage reads the next message.
func readMessage(r *bufio.Reader) (m message, err error) {
	length := -1
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) && line != "" {
				err = io.ErrUnexpectedEOF
			}
			return m, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return m, fmt.Errorf("header of a message: %w", err)
			}
		}
	}
	if length < 0 || length > maxMessage {
		return m, fmt.Errorf("header of a message: a Content-Length of 0 to %d is expected", maxMessage)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return m, err
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return m, nil
}

// messageWriter writes messages.
type messageWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *messageWriter) write(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.out.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
	return err
}

// respond answers a request. Without an error the result may be null.
func (w *messageWriter) respond(id json.RawMessage, result any, err error) error {
	if err == nil {
		return w.write(struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Result  any             `json:"result"`
		}{"2.0", id, result})
	}
	failed, ok := errors.AsType[*rpcError](err)
	if !ok {
		failed = &rpcError{codeInternal, err.Error()}
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	return w.write(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *rpcError       `json:"error"`
	}{"2.0", id, failed})
}

func (w *messageWriter) notify(method string, params any) error {
	return w.write(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
}

// request asks the client for something whose answer does not matter.
func (w *messageWriter) request(id, method string, params any) error {
	return w.write(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, method, params})
}
