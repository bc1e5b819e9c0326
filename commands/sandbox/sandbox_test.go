package sandbox_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/sandbox"
	"svc/domain/value"
)

func TestCodeReturnsAValue(t *testing.T) {
	tests := map[string]struct{ code, arguments, want string }{
		"a number":                          {"return 1 + 1", "", "2"},
		"arguments are variables":           {"return a + b", `{"a": 1, "b": 2}`, "3"},
		"and in args":                       {"return args", `{"b": {"z": 1, "a": [null, true]}, "a": "x"}`, `{"b":{"z":1,"a":[null,true]},"a":"x"}`},
		"a name that is none is in args":    {"return args['a-b'] + args.class", `{"a-b": 1, "class": 2}`, "3"},
		"args of the author":                {"return [args, a]", `{"a": 1, "args": {"b": 2}}`, `[{"b":2},1]`},
		"keys keep their order":             {"return {z: 1, a: {y: 2, b: 3}}", "", `{"z":1,"a":{"y":2,"b":3}}`},
		"undefined members are left out":    {"return {a: undefined, b: [undefined, NaN, () => 1]}", "", `{"b":[null,null,null]}`},
		"text of every script":              {"return s.toUpperCase() + '\\u{1F600}'", `{"s": "é😀"}`, `"É😀😀"`},
		"a date is its text":                {"return new Date()", "", `"2025-03-01T12:00:00.005Z"`},
		"the clock stands still":            {"const a = Date.now(); for (let i = 0; i < 1e5; i++); return Date.now() - a", "", "0"},
		"local time is UTC":                 {"return new Date(0).getHours() + new Date().getTimezoneOffset()", "", "0"},
		"the value of a promise":            {"return Promise.resolve({a: 1}).then(o => o.a + 1)", "", "2"},
		"an async function":                 {"const f = async () => { await null; return 3 }; return f()", "", "3"},
		"await":                             {"const x = await Promise.resolve(4)\nreturn x + 1", "", "5"},
		"strict code":                       {"'use strict'; return this === undefined", "", "true"},
		"a comment at the end":              {"return 1 // one", "", "1"},
		"JSON that was taken away":          {"JSON.stringify = JSON.parse = null; return [1]", "", "[1]"},
		"a thief of prototypes":             {"Object.prototype.toJSON = undefined; return {a: 1}", "", `{"a":1}`},
		"a key of another kind":             {"return Object.keys(args)", `{"__proto__": 1, "a": 2}`, `["__proto__","a"]`},
		"no network, modules, files, timer": {"return [typeof require, typeof fetch, typeof process, typeof setTimeout, typeof XMLHttpRequest, typeof Deno]", "", `["undefined","undefined","undefined","undefined","undefined","undefined"]`},
		"an import":                         {"return import('fs').then(() => 'in', () => 'out')", "", `"out"`},
		"var keeps the argument":            {"var a; return a", `{"a": 1}`, "1"},
	}
	s := open(t, sandbox.Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := s.Run(t.Context(), job(t, tt.code, tt.arguments))
			require.NoError(t, err)
			require.Equal(t, tt.want, value.JSON(result.Value, ""))
		})
	}
}

func TestNothingReturnedIsUndefined(t *testing.T) {
	s := open(t, sandbox.Options{})
	for _, code := range []string{"", "return", "return () => 1", "return Promise.resolve()", "return Symbol('a')"} {
		result, err := s.Run(t.Context(), sandbox.Job{Code: code})
		require.NoError(t, err, code)
		require.Equal(t, value.Undefined, result.Value, code)
	}
}

func TestTheSameSeedDrawsTheSameNumbers(t *testing.T) {
	s := open(t, sandbox.Options{})
	drawn := map[string]int{}
	for _, seed := range []int64{7, 7, 8} {
		j := job(t, "return [Math.random(), Math.random()]", "")
		j.Seed = seed
		result, err := s.Run(t.Context(), j)
		require.NoError(t, err)
		drawn[value.JSON(result.Value, "")]++
	}
	require.Len(t, drawn, 2)
}

func TestCodeFails(t *testing.T) {
	tests := map[string]struct{ code, details, message string }{
		"an exception":             {"\n  throw new TypeError('no')", `{"reason":"exception","line":2,"column":9,"logs":[]}`, "TypeError: no"},
		"a missing name":           {"return 1 +\n nope", `{"reason":"exception","line":2,"column":2,"logs":[]}`, "ReferenceError: nope is not defined"},
		"what is no error":         {"throw {a: 1}", `{"reason":"exception","line":1,"column":1,"logs":[]}`, `{"a":1}`},
		"what has no text":         {"throw {toJSON() { throw 1 }, toString() { throw 2 }}", `{"reason":"exception","line":1,"column":1,"logs":[]}`, "what was thrown has no text"},
		"after a line":             {"console.log('a', {b: 1}, [2], null, undefined); throw 1", `{"reason":"exception","line":1,"column":49,"logs":["a {\"b\":1} [2] null undefined"]}`, "1"},
		"a rejection":              {"return Promise.reject(new Error('r'))", `{"reason":"exception","line":1,"column":23,"logs":[]}`, "Error: r"},
		"an awaited rejection":     {"await 1\nthrow new Error('s')", `{"reason":"exception","line":2,"column":7,"logs":[]}`, "Error: s"},
		"a promise without an end": {"return new Promise(() => {})", `{"reason":"exception","logs":[]}`, "the promise that was returned never settles: there are no timers"},
		"a circle":                 {"const a = {}; a.a = a; return a", `{"reason":"exception","logs":[]}`, "TypeError: Converting circular structure to JSON"},
		"a large integer":          {"return 10n", `{"reason":"exception","logs":[]}`, "TypeError: Do not know how to serialize a BigInt"},
		"no JavaScript":            {"let a = 1\nlet = =", `{"reason":"syntax","line":2,"column":7,"logs":[]}`, "SyntaxError: Unexpected token ="},
		"an open brace":            {"if (true) {\n return 1", `{"reason":"syntax","line":2,"column":10,"logs":[]}`, "SyntaxError: Unexpected token )"},
		"a brace too many":         {"}); (function() {", `{"reason":"syntax","logs":[]}`, "SyntaxError: the code is not a function body: its braces do not match"},
		"a sequence of functions":  {"}, function() {", `{"reason":"syntax","logs":[]}`, "SyntaxError: the code is not a function body: its braces do not match"},
		"a name declared twice":    {"let b; let b", `{"reason":"syntax","line":1,"column":12,"logs":[]}`, "SyntaxError: Identifier 'b' has already been declared"},
		"an import of a module":    {"import fs from 'fs'", `{"reason":"syntax","line":1,"column":1,"logs":[]}`, "SyntaxError: import not supported in script"},
		"deep recursion":           {"const f = () => f(); f()", `{"reason":"exception","logs":[]}`, "RangeError: functions call each other more than 10000 deep"},
	}
	s := open(t, sandbox.Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.Run(t.Context(), job(t, tt.code, ""))
			details, message := failure(t, err)
			require.Equal(t, tt.details, details)
			require.Equal(t, tt.message, message)
		})
	}
}

func TestASourceMapIsNotRead(t *testing.T) {
	file := t.TempDir() + "/map.json"
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	s := open(t, sandbox.Options{})
	comment := "\n//# sourceMappingURL=" + file
	result, err := s.Run(t.Context(), job(t, "return eval(\"1"+strings.ReplaceAll(comment, "\n", "\\n")+"\")"+comment, ""))
	require.NoError(t, err)
	require.InDelta(t, 1, result.Value, 0)
}

func TestTheConsoleIsKeptUpToALimit(t *testing.T) {
	s := open(t, sandbox.Options{})
	result, err := s.Run(t.Context(), job(t, "console.info('first'); for (let i = 0; i < 5000; i++) console.warn('é'.repeat(i)); console.error('last')", ""))
	require.NoError(t, err)
	text := strings.Join(result.Logs, "\n")
	require.LessOrEqual(t, len(text), 10_000)
	require.Greater(t, len(text), 9_990)
	require.Equal(t, "first", result.Logs[0])
	require.NotContains(t, text, "last")
	require.NotContains(t, text, "\uFFFD")
}

func TestACallGivenUpEndsAtOnce(t *testing.T) {
	s := open(t, sandbox.Options{Most: 1})
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller is gone")
	ended := make(chan error)
	for range 2 { // one of the two waits for its place
		go func() {
			_, err := s.Run(ctx, sandbox.Job{Code: "for (;;) {}"})
			ended <- err
		}()
	}
	time.AfterFunc(100*time.Millisecond, func() { cancel(gone) })
	require.ErrorIs(t, <-ended, gone)
	require.ErrorIs(t, <-ended, gone)
}
