package hash_test

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/hash"
	"svc/domain/value"
)

// counted returns the bytes 1, 2, 3 and so on.
func counted(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

func TestFunctions(t *testing.T) {
	bin := value.Bytes{0xff, 0xfe, 0x3e}
	tests := map[string]struct {
		function string
		params   *value.Object
		want     any
	}{
		"sha256":            {"sha256", value.NewObject("data", "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		"sha256 of bytes":   {"sha256", value.NewObject("data", value.Bytes("abc"), "encoding", "base64"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="},
		"sha256, base64url": {"sha256", value.NewObject("data", "abc", "encoding", "base64url"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"},
		"of nothing":        {"sha256", value.NewObject("data", ""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"sha512":            {"sha512", value.NewObject("data", "abc", "encoding", nil), "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
		"md5":               {"md5", value.NewObject("data", "abc"), "900150983cd24fb0d6963f7d28e17f72"},
		"hmac":              {"hmac", value.NewObject("data", "what do ya want for nothing?", "key", "Jefe"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		"hmac of sha1":      {"hmac", value.NewObject("data", "what do ya want for nothing?", "key", value.Bytes("Jefe"), "algorithm", "sha1"), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
		"hmac of sha512":    {"hmac", value.NewObject("data", "what do ya want for nothing?", "key", "Jefe", "algorithm", "sha512"), "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"},
		"encode":            {"base64Encode", value.NewObject("data", bin), "//4+"},
		"encode, urlSafe":   {"base64Encode", value.NewObject("data", bin, "urlSafe", true), "__4-"},
		"encode, padded":    {"base64Encode", value.NewObject("data", "é"), "w6k="},
		"decode":            {"base64Decode", value.NewObject("data", "w6k="), "é"},
		"decode, bare":      {"base64Decode", value.NewObject("data", "w6k"), "é"},
		"decode, lines":     {"base64Decode", value.NewObject("data", "YWJj\r\nZGVm\n"), "abcdef"},
		"decode, bytes":     {"base64Decode", value.NewObject("data", "__4-", "urlSafe", true), bin},
		"decode, nothing":   {"base64Decode", value.NewObject("data", ""), ""},
		"randomBytes":       {"randomBytes", value.NewObject("length", 3.0), "010203"},
		"randomBytes, much": {"randomBytes", value.NewObject("length", 1024.0, "encoding", "base64"), base64.StdEncoding.EncodeToString(counted(1024))},
		"randomBytes, 32":   {"randomBytes", nil, "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"},
		"randomUUID":        {"randomUUID", nil, "01020304-0506-4708-890a-0b0c0d0e0f10"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := hash.Call(tt.function, tt.params, counted)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		function string
		params   *value.Object
		want     string
	}{
		"unknown":            {"sha3", nil, `crypto has no function "sha3"`},
		"no data":            {"sha256", nil, "data is text or bytes, not undefined"},
		"a number":           {"md5", value.NewObject("data", 1.0), "data is text or bytes, not number"},
		"an object":          {"base64Encode", value.NewObject("data", value.NewObject()), "data is text or bytes, not object"},
		"no key":             {"hmac", value.NewObject("data", "a"), "key is text or bytes, not undefined"},
		"no data of hmac":    {"hmac", value.NewObject("key", "a"), "data is text or bytes, not undefined"},
		"another algorithm":  {"hmac", value.NewObject("data", "a", "key", "a", "algorithm", "md5"), "algorithm is one of sha256, sha512, sha1"},
		"another encoding":   {"sha256", value.NewObject("data", "a", "encoding", "utf8"), "encoding is one of hex, base64, base64url"},
		"encoding no text":   {"randomBytes", value.NewObject("encoding", 1.0), "encoding is one of hex, base64, base64url"},
		"urlSafe no flag":    {"base64Encode", value.NewObject("data", "a", "urlSafe", "yes"), "urlSafe is true or false, not string"},
		"decode no flag":     {"base64Decode", value.NewObject("data", "a", "urlSafe", 1.0), "urlSafe is true or false, not number"},
		"not base64":         {"base64Decode", value.NewObject("data", "a b!"), "data is not base64"},
		"too short":          {"base64Decode", value.NewObject("data", "abcde"), "data is not base64"},
		"wrong padding":      {"base64Decode", value.NewObject("data", "abc=="), "data is not base64"},
		"padding inside":     {"base64Decode", value.NewObject("data", "YQ==YQ=="), "data is not base64"},
		"the other alphabet": {"base64Decode", value.NewObject("data", "__4-"), "data is not base64"},
		"length of 0":        {"randomBytes", value.NewObject("length", 0.0), "length is a whole number from 1 to 1024"},
		"length of a half":   {"randomBytes", value.NewObject("length", 1.5), "length is a whole number from 1 to 1024"},
		"length too large":   {"randomBytes", value.NewObject("length", 1025.0), "length is a whole number from 1 to 1024"},
		"length of text":     {"randomBytes", value.NewObject("length", "3"), "length is a whole number from 1 to 1024"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := hash.Call(tt.function, tt.params, counted)
			raised := automation.ErrorOf(err)
			require.Equal(t, automation.InvalidInstruction, raised.Name)
			require.Equal(t, tt.want, raised.Message)
		})
	}
}

// Whatever the bytes are, decoding brings back what was encoded; and whatever the
// text is, decoding it ends.
func FuzzBase64(f *testing.F) {
	f.Add([]byte("é"), true)
	f.Add([]byte{0xff, 0}, false)
	f.Fuzz(func(t *testing.T, data []byte, urlSafe bool) {
		text, err := hash.Call("base64Encode", value.NewObject("data", value.Bytes(data), "urlSafe", urlSafe), nil)
		require.NoError(t, err)
		got, err := hash.Call("base64Decode", value.NewObject("data", text, "urlSafe", urlSafe), nil)
		require.NoError(t, err)
		if b, ok := got.(value.Bytes); ok {
			require.True(t, bytes.Equal(data, b))
		} else {
			require.Equal(t, string(data), got)
		}
		_, _ = hash.Call("base64Decode", value.NewObject("data", string(data), "urlSafe", urlSafe), nil)
	})
}
