package sandbox

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/grafana/sobek"
)

// What the interpreter lacks of what authors expect: each file is a function of native that
// returns the globals of that file by their names.
//
//go:embed builtins/*.js
var builtinFiles embed.FS

// builtinGlobals are the globals of each file. A file is read when one of its globals is
// first used: most code uses none.
var builtinGlobals = map[string][]string{
	"url":   {"URL", "URLSearchParams"},
	"text":  {"TextEncoder", "TextDecoder", "Buffer"},
	"clone": {"structuredClone"},
	"intl":  {"Intl"},
}

// builtins gives code what the interpreter lacks.
type builtins struct {
	vm     *sobek.Runtime
	native *sobek.Object
	loaded map[string]*sobek.Object // by file

	rangeError, error sobek.Value
}

// installBuiltins makes the globals known. Nothing is read or compiled here.
func installBuiltins(vm *sobek.Runtime) error {
	b := &builtins{vm: vm, loaded: map[string]*sobek.Object{}, rangeError: vm.Get("RangeError"), error: vm.Get("Error")}
	var faults []error
	for file, names := range builtinGlobals {
		for _, name := range names {
			faults = append(faults, b.defineLazily(file, name))
		}
	}
	faults = append(faults, vm.Set("atob", b.atob), vm.Set("btoa", b.btoa), b.localizePrototypes())
	return errors.Join(faults...)
}

// defineLazily defines a global that takes its value from a file when it is first read.
func (b *builtins) defineLazily(file, name string) error {
	global := b.vm.GlobalObject()
	define := func(v sobek.Value) {
		if err := global.DefineDataProperty(name, v, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE); err != nil {
			panic(b.vm.NewGoError(err))
		}
	}
	get := b.vm.ToValue(func(sobek.FunctionCall) sobek.Value {
		v := b.load(file).Get(name)
		define(v)
		return v
	})
	set := b.vm.ToValue(func(call sobek.FunctionCall) sobek.Value {
		define(call.Argument(0))
		return sobek.Undefined()
	})
	return global.DefineAccessorProperty(name, get, set, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
}

// load returns what a file defines.
func (b *builtins) load(file string) *sobek.Object {
	if have := b.loaded[file]; have != nil {
		return have
	}
	source, err := builtinFiles.ReadFile("builtins/" + file + ".js")
	if err != nil {
		panic(b.vm.NewGoError(err))
	}
	program, err := sobek.Compile(file+".js", string(source), true)
	if err != nil {
		panic(b.vm.NewGoError(err))
	}
	made, err := b.vm.RunProgram(program)
	if err != nil {
		panic(b.vm.NewGoError(err))
	}
	call, _ := sobek.AssertFunction(made)
	defined, err := call(sobek.Undefined(), b.natives())
	if err != nil {
		panic(b.vm.NewGoError(err))
	}
	b.loaded[file] = defined.ToObject(b.vm)
	return b.loaded[file]
}

// natives are the functions that the files are written with.
func (b *builtins) natives() sobek.Value {
	if b.native != nil {
		return b.native
	}
	b.native = b.vm.NewObject()
	for name, f := range map[string]func(sobek.FunctionCall) sobek.Value{
		"parseURL": b.parseURL, "writeURL": b.writeURL, "parseQuery": b.parseQuery, "writeQuery": b.writeQuery,
		"encodeText": b.encodeText, "decodeText": b.decodeText, "encodingOf": b.encodingOf,
		"localeOf": b.localeOf, "isSupported": b.isSupported, "numberOptions": b.numberOptions, "formatNumber": b.formatNumber,
		"dateOptions": b.dateOptions, "formatDate": b.formatDate,
	} {
		if err := b.native.Set(name, f); err != nil {
			panic(b.vm.NewGoError(err))
		}
	}
	return b.native
}

// throw ends the code with an error of a class.
func (b *builtins) throw(class sobek.Value, format string, args ...any) {
	thrown, err := b.vm.New(class, b.vm.ToValue(fmt.Sprintf(format, args...)))
	if err != nil {
		panic(b.vm.NewGoError(err))
	}
	panic(thrown)
}

// localizePrototypes lets toLocaleString and its like write numbers and dates as Intl does.
func (b *builtins) localizePrototypes() error {
	number := b.vm.ToValue(func(call sobek.FunctionCall) sobek.Value {
		return b.localized("number", call.This, call.Argument(0), call.Argument(1))
	})
	date := func(wanted, defaults string) sobek.Value {
		return b.vm.ToValue(func(call sobek.FunctionCall) sobek.Value {
			at := call.This.ToObject(b.vm)
			if at.ClassName() != "Date" {
				panic(b.vm.NewTypeError("this is not a Date"))
			}
			return b.localized("date", b.vm.ToValue(at.ToFloat()), call.Argument(0), call.Argument(1), b.vm.ToValue(wanted), b.vm.ToValue(defaults))
		})
	}
	return errors.Join(
		b.override("Number", "toLocaleString", number), b.override("BigInt", "toLocaleString", number),
		b.override("Date", "toLocaleString", date("any", "all")), b.override("Date", "toLocaleDateString", date("date", "date")),
		b.override("Date", "toLocaleTimeString", date("time", "time")),
	)
}

func (b *builtins) override(class, method string, f sobek.Value) error {
	prototype := b.vm.Get(class).ToObject(b.vm).Get("prototype").ToObject(b.vm)
	return prototype.DefineDataProperty(method, f, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
}

// localized calls a function that intl.js has besides Intl.
func (b *builtins) localized(name string, args ...sobek.Value) sobek.Value {
	call, _ := sobek.AssertFunction(b.load("intl").Get(name))
	text, err := call(sobek.Undefined(), args...)
	if err != nil {
		panic(err)
	}
	return text
}

// btoa writes characters up to U+00FF as base64.
func (b *builtins) btoa(call sobek.FunctionCall) sobek.Value {
	if len(call.Arguments) == 0 {
		panic(b.vm.NewTypeError("expected a text"))
	}
	content, ok := toLatin1(call.Argument(0).String())
	if !ok {
		b.throwNamed("InvalidCharacterError", "btoa: the text has characters above U+00FF")
	}
	return b.vm.ToValue(base64.StdEncoding.EncodeToString(content))
}

// atob reads base64, with or without padding, as characters up to U+00FF.
func (b *builtins) atob(call sobek.FunctionCall) sobek.Value {
	if len(call.Arguments) == 0 {
		panic(b.vm.NewTypeError("expected a text"))
	}
	text := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n\f\r", r) {
			return -1
		}
		return r
	}, call.Argument(0).String())
	if len(text)%4 == 0 {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	}
	content, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		b.throwNamed("InvalidCharacterError", "atob: the text is not base64")
	}
	return b.vm.ToValue(fromLatin1(content))
}

// throwNamed ends the code with an Error that has another name.
func (b *builtins) throwNamed(name, message string) {
	thrown, err := b.vm.New(b.error, b.vm.ToValue(message))
	if err == nil {
		err = thrown.Set("name", name)
	}
	if err != nil {
		panic(b.vm.NewGoError(err))
	}
	panic(thrown)
}

func toLatin1(text string) ([]byte, bool) {
	content := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil, false
		}
		content = append(content, byte(r))
	}
	return content, true
}

func fromLatin1(content []byte) string {
	var text strings.Builder
	for _, c := range content {
		text.WriteRune(rune(c))
	}
	return text.String()
}

// encodingOf returns the name of an encoding that TextDecoder knows, null for another.
func (b *builtins) encodingOf(call sobek.FunctionCall) sobek.Value {
	switch strings.ToLower(strings.TrimSpace(call.Argument(0).String())) {
	case "utf-8", "utf8", "unicode-1-1-utf-8":
		return b.vm.ToValue("utf-8")
	case "utf-16le", "utf-16":
		return b.vm.ToValue("utf-16le")
	case "latin1", "iso-8859-1", "windows-1252", "ascii", "us-ascii", "l1", "cp1252":
		return b.vm.ToValue("latin1")
	}
	return sobek.Null()
}

// encodeText returns an ArrayBuffer of a text in an encoding.
func (b *builtins) encodeText(call sobek.FunctionCall) sobek.Value {
	text := call.Argument(0).String()
	var content []byte
	switch call.Argument(1).String() {
	case "hex":
		content, _ = hex.DecodeString(hexDigits(text)) // only digits are left, and pairs of them
	case "base64", "base64url":
		content = decodeBase64(text)
	case "latin1", "binary", "ascii":
		for _, r := range text {
			content = append(content, byte(r))
		}
	case "utf16le", "utf-16le", "ucs2", "ucs-2":
		for _, unit := range utf16.Encode([]rune(text)) {
			content = binary.LittleEndian.AppendUint16(content, unit)
		}
	default:
		content = []byte(text)
	}
	return b.vm.ToValue(b.vm.NewArrayBuffer(content))
}

// hexDigits are the pairs of digits that a text begins with.
func hexDigits(text string) string {
	n := 0
	for n < len(text) && strings.IndexByte("0123456789abcdefABCDEF", text[n]) >= 0 {
		n++
	}
	return text[:n-n%2]
}

// decodeBase64 reads both alphabets, and leaves out what belongs to neither.
func decodeBase64(text string) []byte {
	text, _, _ = strings.Cut(text, "=")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '-':
			return '+'
		case r == '_':
			return '/'
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '+', r == '/':
			return r
		}
		return -1
	}, text)
	if len(text)%4 == 1 {
		text = text[:len(text)-1]
	}
	content, _ := base64.RawStdEncoding.DecodeString(text) // only its characters are left
	return content
}

// decodeText returns the text of an ArrayBuffer, null for bytes that are none and must be.
func (b *builtins) decodeText(call sobek.FunctionCall) sobek.Value {
	buffer, ok := call.Argument(0).Export().(sobek.ArrayBuffer)
	if !ok {
		panic(b.vm.NewTypeError("expected an ArrayBuffer"))
	}
	content, fatal := buffer.Bytes(), call.Argument(2).ToBoolean()
	switch call.Argument(1).String() {
	case "hex":
		return b.vm.ToValue(hex.EncodeToString(content))
	case "base64":
		return b.vm.ToValue(base64.StdEncoding.EncodeToString(content))
	case "base64url":
		return b.vm.ToValue(base64.RawURLEncoding.EncodeToString(content))
	case "ascii":
		content = bytes.Clone(content)
		for i := range content {
			content[i] &= 0x7f
		}
		return b.vm.ToValue(fromLatin1(content))
	case "latin1", "binary":
		return b.vm.ToValue(fromLatin1(content))
	case "utf16le", "utf-16le", "ucs2", "ucs-2":
		if fatal && len(content)%2 != 0 {
			return sobek.Null()
		}
		units := make([]uint16, len(content)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(content[2*i:])
		}
		return b.vm.ToValue(string(utf16.Decode(units)))
	}
	if utf8.Valid(content) {
		return b.vm.ToValue(string(content))
	}
	if fatal {
		return sobek.Null()
	}
	return b.vm.ToValue(validText(content))
}

// validText puts U+FFFD where bytes are no text: one for each sequence that breaks off.
func validText(content []byte) string {
	var text strings.Builder
	for len(content) > 0 {
		r, n := utf8.DecodeRune(content)
		if r == utf8.RuneError && n == 1 {
			n = brokenSequence(content)
		}
		text.WriteRune(r)
		content = content[n:]
	}
	return text.String()
}

// brokenSequence is how many bytes at the beginning belong to one character that breaks off.
func brokenSequence(content []byte) int {
	for n := min(3, len(content)); n > 1; n-- {
		if !utf8.FullRune(content[:n]) {
			return n
		}
	}
	return 1
}
